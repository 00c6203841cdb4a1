"""A source's file as the readers see it: what its bytes say is told apart from a storage that does not answer.

Readers take a parser's OSError and the like for garbled bytes, make failed rows of them and go on. An error of the storage
says nothing about the bytes: it comes as a StorageError, which no reader catches, so that the shard fails and is tried
again. Behind its end a file reads as empty on every storage. A mebibyte is asked for at a time, as readers look at every
record of a crawl and every member of an archive, and on S3 each look would be a request.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, TypeVar

import pyarrow as pa

from corpusmill.lake.store import Store

_AHEAD_BYTES = 1 << 20
_Answer = TypeVar("_Answer")


class StorageError(Exception):
    """The storage did not give a file's bytes. No OSError, RuntimeError or ValueError: parsers and readers catch those."""


class InputFile(Protocol):
    """What readers ask of an open file; files of Arrow have it too."""

    def read(self, num_bytes: int = -1, /) -> bytes: ...
    def seek(self, position: int, whence: int = 0, /) -> int: ...
    def tell(self) -> int: ...
    def size(self) -> int: ...


class SourceFile:
    """A file of a source, open for random access; a context manager. `size` is what it was when it was opened."""

    def __init__(self, file: pa.NativeFile, uri: str) -> None:
        self._file = file
        self._uri = uri
        self._position = 0
        self._ahead_start = 0
        self._ahead = b""
        self._size = self._ask(file.size)

    def read(self, num_bytes: int | None = -1, /) -> bytes:
        """Return the next bytes, all for -1 or None; raises StorageError."""
        rest = max(0, self._size - self._position)
        wanted = rest if num_bytes is None or num_bytes < 0 else min(num_bytes, rest)
        if not wanted:
            return b""
        data = self._read_ahead(wanted) if wanted < _AHEAD_BYTES else self._read_at(self._position, wanted)
        self._position += len(data)
        return data

    def seek(self, position: int, whence: int = 0, /) -> int:
        """Go to a place, behind the end too; raises OSError before the start, as a parser of garbled bytes expects."""
        target = position + (0, self._position, self._size)[whence]
        if target < 0:
            raise OSError(f"{self._uri} has no byte {target}")
        self._position = target
        return target

    def tell(self) -> int:
        return self._position

    def size(self) -> int:
        return self._size

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing is written."""

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "SourceFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read_ahead(self, num_bytes: int) -> bytes:
        start = self._position - self._ahead_start
        if not 0 <= start <= len(self._ahead) - num_bytes:
            self._ahead_start, start = self._position, 0
            self._ahead = self._read_at(self._position, min(_AHEAD_BYTES, self._size - self._position))
        return self._ahead[start : start + num_bytes]

    def _read_at(self, position: int, num_bytes: int) -> bytes:
        return bytes(self._ask(lambda: self._file.read_at(num_bytes, position)))

    def _ask(self, question: Callable[[], _Answer]) -> _Answer:
        try:
            return question()
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"{self._uri} cannot be read: {error}") from error


def open_source(store: Store, uri: str) -> SourceFile:
    """Open a file of a source; raises FileNotFoundError, and IsADirectoryError where a folder lies."""
    return SourceFile(store.open_input(uri), uri)
