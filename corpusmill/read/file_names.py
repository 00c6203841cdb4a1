"""Names of files: which of them a table can hold and a store can open, and how the others are spelled.

A local name is bytes; where these are no UTF-8, Python has lone surrogates for them. A key of S3 may have parts that no path
has: `a//b`, `a/../b`.
"""

from collections.abc import Iterable


def is_utf8(name: str) -> bool:
    """Return whether a name has no lone surrogate in it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain(path: str) -> bool:
    """Return whether a file of this path can be opened and named in a table."""
    return is_utf8(path) and not {"", ".", ".."} & set(path.split("/"))


def check_names(paths: Iterable[str]) -> None:
    """Raise ValueError for a file that cannot be opened or named in a table."""
    for path in paths:
        if not is_plain(path):
            raise ValueError(f"the name of {spelled(path)!r} is not UTF-8, or no path: rename the file")


def spelled(path: str) -> str:
    r"""Return a path with each byte that is no UTF-8 as `\xe9`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
