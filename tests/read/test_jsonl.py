"""JSONL files: bad bytes, bad lines, every compression, very long lines."""

import gzip
import json

import lz4.frame
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.jsonl import list_jsonl, read_lines
from corpusmill.read.options import ReadOptions
from corpusmill.read.rows import SnapshotFile
from corpusmill.read.snapshot import fetch_payloads, list_records

PACKS = {"jsonl": bytes, "jsonl.gz": gzip.compress, "jsonl.zst": zstandard.compress, "jsonl.lz4": lz4.frame.compress}


@pytest.fixture
def read(tmp_path):
    def read_file(data: bytes, name: str = "a.jsonl", max_payload_bytes: int = 1 << 20, **options):
        path = tmp_path / name
        path.write_bytes(data)
        store = Store(StoreSettings(root=str(tmp_path)))
        options = {"max_payload_bytes": max_payload_bytes, **options}
        listed = pa.concat_tables(
            list_records(dataset="d", snapshot="s", format="jsonl", uri=str(path), store=store, options=options)
        )
        fetched = pa.concat_tables(fetch_payloads(listed, store, max_payload_bytes=max_payload_bytes))
        return listed, list(zip(fetched["payload"].to_pylist(), fetched["failure"].to_pylist(), strict=True))

    return read_file


@pytest.mark.parametrize("suffix", PACKS)
def test_rows_are_read_from_every_compression(read, suffix):
    lines = [{"text": "one", "u": "http://a", "l": "fr"}, {"text": "zwei ü", "u": "http://b", "l": None}]
    data = PACKS[suffix]("\n".join(map(json.dumps, lines)).encode())
    listed, fetched = read(data, f"a.{suffix}", url_column="u", language_column="l")
    assert fetched == [(b"one", None), ("zwei ü".encode(), None)]
    assert listed["url"].to_pylist() == ["http://a", "http://b"]
    assert listed["declared_language"].to_pylist() == ["fr", None]
    assert listed["content_type"].to_pylist() == ["text/plain"] * 2
    assert listed["locator"].to_pylist() == [f"a.{suffix}#line=0", f"a.{suffix}#line=1"]


def test_case_10_one_bad_byte_costs_one_line(read):
    data = b'{"text": "a"}\n{"text": "b\xff"}\n{"text": "c"}\n'
    assert read(data)[1] == [(b"a", None), (None, "invalid_utf8"), (b"c", None)]


def test_case_10_null_and_missing_texts_are_counted(read):
    data = b'{"text": null}\n{"text": 7}\n{"other": "x"}\n\n{"text": " "}\nnot json\n[1]\n' + b"[" * 100_000 + b"\n"
    assert [failure for _, failure in read(data)[1]] == [
        "null_text",
        "text_not_a_string",
        "no_text_column",
        None,
        "invalid_json",
        "not_an_object",
        "invalid_json",
    ]


def test_lone_surrogates_byte_order_mark_and_nul_are_read(read):
    data = b'\xef\xbb\xbf{"text": "a\\ud800b"}\n{"text": "\\ud83d\\ude00"}\n{"text": "n\\u0000l"}'
    assert read(data)[1] == [("a\ufffdb".encode(), None), ("😀".encode(), None), (b"n\x00l", None)]


def test_mixed_line_ends_right_to_left_and_east_asian_text_are_read(read):
    lines = ['{"text": "a\\r\\nb"}', '{"text": "مرحبا بالعالم"}', '{"text": "你好，世界"}', '{"text": "\u2028"}']
    data = f"{lines[0]}\r\n{lines[1]}\n\r\n{lines[2]}\r\n{lines[3]}".encode()
    texts = ["a\r\nb", "مرحبا بالعالم", "你好，世界", "\u2028"]
    assert read(data)[1] == [(text.encode(), None) for text in texts]


def test_line_of_100_mb_is_a_failed_row_and_the_rest_is_read(read):
    data = b'{"text": "a"}\n{"text": "' + b"x" * 100_000_000 + b'"}\n{"text": "c"}'
    for name, packed in (("a.jsonl", data), ("a.jsonl.gz", gzip.compress(data, 1))):
        _, fetched = read(packed, name)
        assert fetched == [(b"a", None), (None, "payload_too_large"), (b"c", None)]


def test_cut_archive_keeps_the_lines_before_the_cut(read):
    lines = b"".join(b'{"text": "%d %d"}\n' % (number, number**5) for number in range(5_000))
    _, fetched = read(gzip.compress(lines)[:-3000], "a.jsonl.gz")
    assert fetched[:2] == [(b"0 0", None), (b"1 1", None)]
    assert 1_000 < len(fetched) < 5_000
    assert [failure for _, failure in fetched if failure] == ["truncated_file"]


def test_wrong_text_column_names_file_and_columns(read):
    with pytest.raises(ValueError, match=r"a\.jsonl has the column body; its columns are text, id"):
        read(b'{"text": "a", "id": 1}\n{"text": "b"}\n', text_column="body")


def test_equal_texts_have_different_ids(read):
    listed, _ = read(b'{"text": "a"}\n{"text": "a"}\n')
    assert len(set(listed["doc_id"].to_pylist())) == 2


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=20), max_size=30), st.integers(1, 60))
def test_lines_and_offsets_cover_the_file(lines, max_bytes):
    data = "\n".join(lines).encode()
    for line in read_lines(pa.BufferReader(data), max_bytes=max_bytes):
        spelled = data[line.offset : line.offset + line.length].removesuffix(b"\n")
        is_first = line.number == 0
        expected = spelled.removeprefix(b"\xef\xbb\xbf") if is_first else spelled
        assert line.data == (expected if len(spelled) <= max_bytes else None)


def test_empty_file_is_a_failed_row():
    source = SnapshotFile(uri="/a.jsonl", path="a.jsonl", size=0)
    (row,) = list_jsonl(pa.BufferReader(b""), source, ReadOptions())
    assert row.failure == "empty_file"
