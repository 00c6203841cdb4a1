"""A full disk, told in one line: where there was no room, and what to do. Knows what the system and SQLite say of it."""

import errno

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_SQLITE_FULL = "database or disk is full"


def told_full_disk(error: BaseException, *, file: str = "a file") -> str | None:
    """Return the line for an error that a full disk caused, at any depth of its causes; None for all others.

    `file` says what was to be written where the error does not.
    """
    cause: BaseException | None = error
    while cause is not None and not _is_full_disk(cause):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return None
    named = getattr(cause, "filename", None)
    where = "the database of the lake or of the UI" if named is None and not isinstance(cause, OSError) else named
    got = str(cause).partition("\n")[0]
    return (
        f"wanted to write {where or file}, but there is no room on its disk: {got}; make room there, or set other folders "
        "in corpusmill.toml, then run the same again: what was committed stays"
    )


def _is_full_disk(error: BaseException) -> bool:
    return (isinstance(error, OSError) and error.errno in _NO_ROOM) or _SQLITE_FULL in str(error)
