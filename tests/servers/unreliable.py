"""A storage that answers for a while and then no more."""

import io
from pathlib import Path

import pyarrow as pa

from corpusmill.lake.store import Store, StoreSettings


class Unreliable(io.RawIOBase):
    """A file's bytes, given until the storage has answered so many reads of all files together."""

    def __init__(self, data: bytes, store: "UnreliableStore") -> None:
        self._data = io.BytesIO(data)
        self._store = store

    def read(self, size: int = -1) -> bytes:
        self._store.num_reads += 1
        if self._store.num_reads > self._store.num_answers:
            raise self._store.outage
        return self._data.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        return self._data.seek(position, whence)

    def tell(self) -> int:
        return self._data.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class UnreliableStore(Store):
    """A folder of a storage that answers `num_answers` reads and then no more."""

    def __init__(self, folder: Path, outage: Exception, num_answers: int) -> None:
        super().__init__(StoreSettings(root=str(folder)))
        self.outage = outage
        self.num_answers = num_answers
        self.num_reads = 0

    def open_input(self, key: str) -> pa.NativeFile:
        return pa.PythonFile(Unreliable(self.read(key), self), mode="r")
