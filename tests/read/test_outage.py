"""A storage that stops answering is no garbled file: no reader makes rows of it, wherever in a file it happens."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.jsonl import JsonlCursor
from corpusmill.read.package import PackageCursor
from corpusmill.read.parquet import ParquetCursor
from corpusmill.read.snapshot import fetch_payloads, list_records
from corpusmill.read.source_file import SourceFile, StorageError, open_source
from tests.read.small_files import FILES
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
