"""A storage that stops answering is no garbled file: no reader makes rows of it, wherever in a file it happens."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.snapshot import fetch_payloads, list_records
from corpusmill.read.source_file import SourceFile, StorageError

RECORD = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
PAGE = b"http://a/ 1.2.3.4 19970101000000 text/html 6\nhello\n\n"
LICENSE = b"Permission is granted under the MIT license.\n"
LINE = b'{"text": "one", "id": 1}\n'
OUTAGES = [
    TimeoutError("no answer within 60 s"),
    OSError("AWS Error NETWORK_CONNECTION during GetObject operation"),
    PermissionError("AccessDenied"),
    pa.ArrowInvalid("a storage may say anything"),
]


def parquet(**options: object) -> bytes:
    rows = {"text": [f"text {number}" * 40 for number in range(3000)], "id": [str(number) for number in range(3000)]}
    data = io.BytesIO()
    pq.write_table(pa.table(rows), data, row_group_size=1000, use_dictionary=False, **options)
    return data.getvalue()


def sdist(mode: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for name, content in (("p/PKG-INFO", b"License: MIT\n"), ("p/LICENSE", LICENSE), ("p/a.py", b"x = 1\n" * 9000)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def wheel() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p/a.py", "x = 1\n")
        archive.writestr("p-1.dist-info/METADATA", "License: MIT\n")
    return data.getvalue()


FILES: list[tuple[str, dict[str, bytes]]] = [
    ("warc", {"a.warc": RECORD % (5, b"hello") * 3}),
    ("warc", {"a.warc.gz": gzip.compress(RECORD % (5, b"hello")) * 3}),
    ("wet", {"a.warc.wet.gz": gzip.compress(RECORD % (5, b"hello") * 3)}),
    ("arc", {"a.arc": PAGE * 2}),
    ("arc", {"a.arc.gz": gzip.compress(PAGE) * 2}),
    ("parquet", {"a.parquet": parquet(compression="none")}),
    ("parquet", {"a.parquet": parquet(compression="zstd", data_page_version="2.0")}),
    ("jsonl", {"a.jsonl": LINE * 9}),
    ("jsonl", {"a.jsonl.gz": gzip.compress(LINE * 9)}),
    ("html", {"a.html": b"<p>one</p>", "deep/b.html": b"<p>two</p>"}),
    ("text", {"a.txt": b"one"}),
    ("package", {"p-1.tar": sdist("w")}),
    ("package", {"p-1.tar.gz": sdist("w:gz")}),
    ("package", {"p-1.tar.bz2": sdist("w:bz2")}),
    ("package", {"p-1.tar.xz": sdist("w:xz")}),
    ("package", {"p-1-py3-none-any.whl": wheel()}),
    ("checkout", {"repo/LICENSE": LICENSE, "repo/a.py": b"x = 1\n"}),
]


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


def listed(store: Store, format: str) -> pa.Table:
    options = {"meta_columns": ["id"]} if format in ("parquet", "jsonl") else {}
    tables = list_records(dataset="d", snapshot="s", format=format, uri="s", store=store, options=options)
    return pa.concat_tables(tables)


def fetched(store: Store, records: pa.Table) -> pa.Table:
    return pa.concat_tables(fetch_payloads(records, store))


def outages_until_it_works(
    folder: Path, outage: Exception, read: Callable[[Store], pa.Table], expected: type[Exception] = StorageError
) -> pa.Table:
    """Let the storage fail at the first read, at the second and so on; return what is read when it fails no more."""
    for num_answers in range(500):
        store = UnreliableStore(folder, outage, num_answers)
        try:
            table = read(store)
        except expected:
            continue
        assert store.num_reads <= num_answers, "an error of the storage was swallowed"
        assert num_answers > 0
        return table
    raise AssertionError("never worked")


@pytest.mark.parametrize(("format", "files"), FILES, ids=lambda value: value if isinstance(value, str) else min(value))
def test_no_row_comes_of_a_storage_that_stops_answering(tmp_path: Path, format: str, files: dict[str, bytes]) -> None:
    store = Store(StoreSettings(root=str(tmp_path)))
    for name, data in files.items():
        store.write(f"s/{name}", data)
    records = listed(store, format)
    payloads = fetched(store, records)
    assert records["failure"].null_count == payloads["failure"].null_count == len(records) > 0
    if format not in ("html", "text"):  # of these, a listing reads nothing
        expected = OSError if format == "checkout" else StorageError
        found = outages_until_it_works(tmp_path, OUTAGES[0], lambda store: listed(store, format), expected)
        assert found.equals(records)
    assert outages_until_it_works(tmp_path, OUTAGES[1], lambda store: fetched(store, records)).equals(payloads)


@pytest.mark.parametrize("outage", OUTAGES, ids=repr)
def test_whatever_a_storage_says_is_told_with_the_file(tmp_path: Path, outage: Exception) -> None:
    (tmp_path / "a").write_bytes(b"bytes")
    file = SourceFile(UnreliableStore(tmp_path, outage, 1).open_input("a"), "s3://bucket/a")
    assert file.read(2) == b"by"
    with pytest.raises(StorageError, match="s3://bucket/a cannot be read: ") as raised:
        file.read(2)
    assert not isinstance(raised.value, (OSError, RuntimeError, ValueError, EOFError))


def test_a_file_reads_alike_on_every_storage(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with SourceFile(Store(StoreSettings(root=str(tmp_path))).open_input("a"), "a") as file:
        assert (file.size(), file.read(3), file.tell(), file.read()) == (10, b"012", 3, b"3456789")
        assert (file.seek(-2, 2), file.read(None), file.seek(-5, 1), file.read(1)) == (8, b"89", 5, b"5")
        assert (file.seek(99), file.read(4), file.read()) == (99, b"", b"")
        with pytest.raises(OSError, match="a has no byte -1"):
            file.seek(-1)
    assert file.closed
