"""Telling a file whose bytes make no sense from a storage that does not answer: Arrow raises the same for both."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa

from corpusmill.lake.errors import DataFileError

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


@contextmanager
def metadata_damage_named(what: str) -> Iterator[None]:
    """Raise a DataFileError that names `what` where reading Iceberg's metadata, in here, meets a file that is gone or garbled.

    Where the storage does not answer its OSError is raised. A garbled file of metadata raises nearly anything.
    """
    try:
        yield
    except OSError as error:
        if not isinstance(error, FileNotFoundError):
            raise
        raise _damaged_metadata(what, "it is gone") from error
    except Exception as error:
        raise _damaged_metadata(what, f"{type(error).__name__}: {error}") from error


def _damaged_metadata(what: str, fault: str) -> DataFileError:
    told = " ".join(fault.split())[:200]
    return DataFileError(f"{what} cannot be read ({told}); put that file back from a copy of the lake")


def _read_through(files: Files, path: str) -> None:
    """Raise the OSError of a storage that does not answer; a file that is gone stays gone."""
    try:
        with files.open_input(path) as opened:
            while opened.read(_PIECE_BYTES):
                pass
    except FileNotFoundError:
        return
