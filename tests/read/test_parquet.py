"""Parquet files: columns, nulls, garbled files, and the file that kills workers."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.parquet_pages import largest_page_bytes
from corpusmill.read.snapshot import fetch_payloads, list_records

ROOT = Path(__file__).parents[2]


def read(folder: Path, max_payload_bytes: int = 1 << 20, **options):
    store = Store(StoreSettings(root=str(folder)))
    listed = pa.concat_tables(
        list_records(dataset="d", snapshot="s", format="parquet", uri=str(folder), store=store, options=options)
    )
    fetched = pa.concat_tables(fetch_payloads(listed, store, max_payload_bytes=max_payload_bytes))
    return listed, list(zip(fetched["payload"].to_pylist(), fetched["failure"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_rows_come_in_order_with_their_columns(tmp_path, kind):
    table = pa.table({"id": [1, 2, 3], "text": pa.array(["a", None, "ü"], kind), "lang": ["en", None, "de"]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    listed, fetched = read(tmp_path, language_column="lang", meta_columns=["id"])
    assert fetched == [(b"a", None), (None, "null_text"), ("ü".encode(), None)]
    assert listed["declared_language"].to_pylist() == ["en", None, "de"]
    assert [dict(meta)["id"] for meta in listed["meta"].to_pylist()] == ["1", "2", "3"]


def test_any_stretch_of_records_can_be_fetched_alone(tmp_path):
    texts = [f"text {number}" for number in range(100)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "x.parquet", row_group_size=7)
    store = Store(StoreSettings(root=str(tmp_path)))
    (listed,) = list_records(dataset="d", snapshot="s", format="parquet", uri=str(tmp_path), store=store, options={})
    order = [93, 94, 3, 50, 49, 0, 99]
    (fetched,) = fetch_payloads(listed.take(order), store)
    assert fetched["payload"].to_pylist() == [texts[row].encode() for row in order]


def test_missing_column_names_file_and_columns(tmp_path):
    pq.write_table(pa.table({"body": ["a"], "id": [1]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet has no column text; its columns are body, id"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"column id of .* must hold text, it holds int64"):
        read(tmp_path, text_column="id")


def test_garbled_file_is_a_failed_row_and_the_others_are_read(tmp_path):
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "b.parquet")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but not really PAR1")
    (tmp_path / "c.parquet").write_bytes(b"")
    _, fetched = read(tmp_path)
    assert fetched == [(None, "garbled_parquet"), (b"a", None), (None, "empty_file")]


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_page_sizes_are_read_from_the_headers(tmp_path, compression, version):
    texts = [f"{number}" * 1000 for number in range(5000)]
    path = tmp_path / "x.parquet"
    pq.write_table(
        pa.table({"text": texts}), path, compression=compression, data_page_version=version, use_dictionary=False
    )
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    with pa.OSFile(str(path)) as file:
        largest = largest_page_bytes(file, chunk)
    total = sum(len(text) + 4 for text in texts)
    assert 1_000_000 < largest < total / 2


def test_case_12_row_group_with_a_poison_page_is_quarantined(tmp_path):
    schema = pa.schema([("text", pa.string())])
    with pq.ParquetWriter(tmp_path / "x.parquet", schema, use_dictionary=False) as writer:
        for texts in (["good", "also"], ["x" * 3_000_000] * 4, ["last"]):
            writer.write_table(pa.table({"text": texts}, schema=schema))
    _, fetched = read(tmp_path, max_page_bytes=2_000_000)
    assert fetched == [(b"good", None), (b"also", None), *[(None, "parquet_page_too_large")] * 4, (b"last", None)]


def test_text_above_the_limit_is_a_failed_row(tmp_path):
    pq.write_table(pa.table({"text": ["a", "x" * 2_000_000, "c"]}), tmp_path / "x.parquet")
    assert read(tmp_path)[1] == [(b"a", None), (None, "payload_too_large"), (b"c", None)]


_POISON = """
import sys
from pathlib import Path
import pyarrow as pa
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.snapshot import fetch_payloads, list_records
store = Store(StoreSettings(root=sys.argv[1]))
listed = pa.concat_tables(
    list_records(dataset="d", snapshot="s", format="parquet", uri=sys.argv[1], store=store, options={})
)
num_failed = sum(table["failure"].null_count < len(table) for table in fetch_payloads(listed, store))
(peak,) = [line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(listed.num_rows, num_failed, peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_case_12_four_rows_of_100_mb_cost_no_memory(tmp_path):
    text = pa.array(["0123456789abcdef" * 6_250_000], pa.large_string()).take([0, 0, 0, 0])
    pq.write_table(pa.table({"text": text}), tmp_path / "x.parquet", compression="zstd", use_dictionary=False)
    del text
    done = subprocess.run(
        [sys.executable, "-c", _POISON, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    num_rows, num_failed, peak_kilobytes = map(int, done.stdout.split())
    assert (num_rows, num_failed) == (4, 1)
    assert peak_kilobytes < 350_000


def test_footer_that_cannot_be_parsed_is_a_failed_row(tmp_path):
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "b.parquet")
    data = (tmp_path / "b.parquet").read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    (tmp_path / "a.parquet").write_bytes(data[:footer] + b"\xff" * 20 + data[footer + 20 :])
    _, fetched = read(tmp_path)
    assert fetched == [(None, "garbled_parquet"), (b"a", None)]


def garbled(folder: Path, old: bytes, new: bytes) -> None:
    """Put two row groups of two rows into a file, with bytes changed wherever they stand."""
    table = pa.table({"text": ["a", "b", "c", "d"], "id": ["1", "2", "3", "4"]})
    pq.write_table(table, folder / "a.parquet", row_group_size=2, compression="none", store_schema=False)
    data = (folder / "a.parquet").read_bytes()
    assert old in data
    (folder / "a.parquet").write_bytes(data.replace(old, new))


def test_garbled_names_of_columns_are_a_failed_row(tmp_path):
    garbled(tmp_path, b"\x02id", b"\x02\xffd")
    assert read(tmp_path)[1] == [(None, "garbled_parquet")]


def test_rows_that_a_footer_counts_in_two_ways_are_a_failed_row(tmp_path):
    # Field 3 of the footer, behind the schema: num_rows, 4 as a zigzag varint.
    garbled(tmp_path, b"\x16\x08\x19\x2c", b"\x16\x06\x19\x2c")
    assert read(tmp_path)[1] == [(None, "garbled_parquet")]


def test_row_whose_other_columns_cannot_be_read_costs_that_row(tmp_path):
    raw = pa.array([b"http://a", b"\xff\xfe"])
    urls = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    pq.write_table(pa.table({"text": ["a", "b"], "url": urls}), tmp_path / "a.parquet")
    times = pa.array([0, 2**62], pa.timestamp("us"))
    pq.write_table(pa.table({"text": ["c", "d"], "url": times}), tmp_path / "b.parquet")
    listed, fetched = read(tmp_path, url_column="url")
    assert fetched == [(b"a", None), (None, "invalid_utf8"), (b"c", None), (None, "garbled_parquet")]
    assert listed["url"].to_pylist() == ["http://a", None, "1970-01-01 00:00:00", None]


def test_two_columns_of_one_name_are_refused(tmp_path):
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["text", "text"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet has more than one column text"):
        read(tmp_path)
