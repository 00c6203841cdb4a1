"""A storage that stops answering is no garbled file: no reader makes rows of it, wherever in a file it happens."""

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read import source_file
from corpusmill.read.jsonl import JsonlCursor
from corpusmill.read.package import PackageCursor
from corpusmill.read.parquet import ParquetCursor
from corpusmill.read.snapshot import fetch_payloads, list_records
from corpusmill.read.source_file import SourceFile, StorageError, open_source
from tests.read.small_files import FILES, RECORD
from tests.servers.throttle import throttling_proxy
from tests.servers.unreliable import UnreliableStore

OUTAGES = [
    TimeoutError("no answer within 60 s"),
    OSError("AWS Error NETWORK_CONNECTION during GetObject operation"),
    PermissionError("AccessDenied"),
    pa.ArrowInvalid("a storage may say anything"),
]


READERS = {
    "parquet": lambda file, name: ParquetCursor(file),
    "package": PackageCursor,
    "jsonl": lambda file, name: JsonlCursor(file),
}


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


@pytest.mark.s3
@pytest.mark.parametrize(("format", "name"), [("parquet", "a.parquet"), ("package", "p-1.tar"), ("jsonl", "a.jsonl")])
def test_s3_that_refuses_in_the_middle_of_a_file_makes_no_rows(s3_server, s3_root, format: str, name: str) -> None:
    data = next(files[name] for one, files in FILES if one == format and name in files)
    Store(StoreSettings(root=s3_root, endpoint=s3_server.endpoint)).write(f"s/{name}", data)
    with throttling_proxy(s3_server.endpoint, refuse_of=10**9) as proxy:
        proxy.num_requests = 1
        store = Store(StoreSettings(root=s3_root, endpoint=proxy.endpoint))
        records = listed(store, format)
        assert records["failure"].null_count == len(records)
        with open_source(store, store.uri(f"s/{name}")) as file:
            proxy.refusal, proxy.refuse_of = (403, b"<Error><Code>AccessDenied</Code></Error>"), 1
            with pytest.raises(StorageError, match=f"{name} cannot be read: AWS Error"):
                READERS[format](file, name).payload(records.slice(0, 1).to_pylist()[0], max_bytes=1 << 20)


@pytest.mark.parametrize("outage", OUTAGES, ids=repr)
def test_whatever_a_storage_says_is_told_with_the_file(tmp_path: Path, outage: Exception) -> None:
    (tmp_path / "a").write_bytes(b"by" + bytes(2 << 20))
    file = SourceFile(UnreliableStore(tmp_path, outage, 1).open_input("a"), "s3://bucket/a")
    assert file.read(2) == b"by"
    file.seek(1 << 20)
    with pytest.raises(StorageError, match="s3://bucket/a cannot be read: ") as raised:
        file.read(2)
    assert not isinstance(raised.value, (OSError, RuntimeError, ValueError, EOFError))


@pytest.mark.parametrize(("format", "name"), [("warc", "a.warc"), ("warc", "a.warc.gz"), ("package", "p.tar")])
def test_records_are_not_asked_for_one_by_one(tmp_path: Path, format: str, name: str) -> None:
    pages = [RECORD % (5000, bytes([65 + number % 26]) * 5000) for number in range(400)]
    data = io.BytesIO(b"".join(map(gzip.compress, pages) if name.endswith(".gz") else pages))
    if format == "package":
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            for number, page in enumerate(pages):
                entry = tarfile.TarInfo(f"p/{number}.py")
                entry.size = len(page)
                archive.addfile(entry, io.BytesIO(page))
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / name).write_bytes(data.getvalue())
    store = UnreliableStore(tmp_path, OUTAGES[0], num_answers=10**9)
    assert fetched(store, listed(store, format))["failure"].null_count == 400
    assert store.num_reads <= 20


def test_a_file_reads_alike_on_every_storage(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    with SourceFile(Store(StoreSettings(root=str(tmp_path))).open_input("a"), "a") as file:
        assert (file.size(), file.read(3), file.tell(), file.read()) == (10, b"012", 3, b"3456789")
        assert (file.seek(-2, 2), file.read(None), file.seek(-5, 1), file.read(1)) == (8, b"89", 5, b"5")
        assert (file.seek(99), file.read(4), file.read()) == (99, b"", b"")
        with pytest.raises(OSError, match="a has no byte -1"):
            file.seek(-1)
    assert file.closed


@given(
    st.binary(max_size=60),
    st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.integers(-9, 70), st.integers(-1, 20)), max_size=20),
)
def test_reading_ahead_changes_no_byte(data: bytes, steps: list[tuple[int, int, int]]) -> None:
    file, plain = SourceFile(pa.BufferReader(data), "a"), io.BytesIO(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_file, "_AHEAD_BYTES", 8)
        for whence, position, num_bytes in steps:
            if position + (0, plain.tell(), len(data))[whence] >= 0:
                assert file.seek(position, whence) == plain.seek(position, whence)
            assert file.read(num_bytes) == plain.read(num_bytes)
            assert file.tell() == plain.tell()
