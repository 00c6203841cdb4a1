"""Telling a file whose bytes make no sense from a storage that does not answer: Arrow raises the same for both."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa

_PIECE_BYTES = 1 << 20


class Files(Protocol):
    """What opens files by absolute URI: the lake's store."""

    def open_input(self, key: str) -> Any: ...


@contextmanager
def damage_named(files: Files, path: str, *, remedy: str) -> Iterator[None]:
    """Raise a ValueError with the path and what to do where reading it, in here, meets a file that is gone or garbled.

    Where the storage does not answer its OSError is raised, so that another attempt is made. Cost, after an error only:
    the file is read through.
    """
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        _read_through(files, path)
        raise ValueError(f"cannot read {path}: {str(error).strip()}; {remedy}") from error


def _read_through(files: Files, path: str) -> None:
    """Raise the OSError of a storage that does not answer; a file that is gone stays gone."""
    try:
        with files.open_input(path) as opened:
            while opened.read(_PIECE_BYTES):
                pass
    except FileNotFoundError:
        return
