"""WARC files as they really come: cut, garbled, with wrong lengths, packed in every way."""

import gzip
import io
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.snapshot import fetch_payloads, list_records
from corpusmill.read.warc import list_warc
from corpusmill.read.warc_records import WARC

DATA = Path(__file__).parents[3] / "shared/data/warc_real"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def record(body: bytes, *, kind="response", length=None, newline=b"\r\n", version=b"WARC/1.0", head=HTTP) -> bytes:
    block = head + body
    lines = [version, b"WARC-Type: " + kind.encode(), b"WARC-Target-URI: http://a.b/%d" % len(body)]
    lines += [b"Content-Length: %d" % (len(block) if length is None else length)]
    return newline.join(lines) + newline * 2 + block + newline * 2


def listing(data: bytes) -> list[tuple[str, str | None]]:
    found = list_warc(pa.BufferReader(data), WARC)
    return [(row.position, row.failure) for row in found]


def failures(data: bytes) -> list[str | None]:
    return [failure for _, failure in listing(data)]


@pytest.fixture
def read(tmp_path):
    """Write a file, list it and fetch what it lists; return (failures at listing, payloads, failures at fetching)."""

    def read_file(name: str, data: bytes, **options):
        (tmp_path / "2024").mkdir(exist_ok=True)
        path = tmp_path / "2024" / name
        path.write_bytes(data)
        store = Store(StoreSettings(root=str(tmp_path)))
        tables = list(
            list_records(dataset="web", snapshot="2024", format="warc", uri=str(path), store=store, options=options)
        )
        listed = pa.concat_tables(tables)
        fetched = pa.concat_tables(fetch_payloads(listed, store))
        return listed["failure"].to_pylist(), fetched["payload"].to_pylist(), fetched["failure"].to_pylist()

    return read_file


def test_a_licence_that_the_server_links_is_declared():
    linked = HTTP.replace(b"\r\n\r\n", b'\r\nLink: <https://spdx.org/licenses/MIT.html>; rel="license"\r\n\r\n')
    found = list(list_warc(pa.BufferReader(record(b"a") + record(b"b", head=linked)), WARC))
    assert [row.declared_license for row in found] == [None, "MIT"]


@pytest.mark.parametrize("suffix", ["gz", "lz4"])
def test_real_file_gives_its_pages_and_not_its_requests(suffix):
    if not DATA.exists():
        pytest.skip("needs ../shared/data/warc_real")
    with pa.OSFile(str(DATA / f"resiliparse/warcfile.warc.{suffix}")) as file:
        rows = list(list_warc(file, WARC))
    assert len(rows) == 16
    assert {row.failure for row in rows} == {None}
    assert {row.meta["http_status"] for row in rows} == {"200"}


def test_case_11_clipped_real_record_is_a_failed_row():
    if not DATA.exists():
        pytest.skip("needs ../shared/data/warc_real")
    with pa.OSFile(str(DATA / "resiliparse/clipped.warc.gz")) as file:
        (row,) = list_warc(file, WARC)
    assert row.failure == "truncated_record"
    assert row.meta["declared_bytes"] == "88275"
    head = 237
    assert int(row.meta["actual_bytes"]) - head == 74970


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: data], ids=["one_gzip_member", "plain"])
def test_case_11_whole_file_in_one_member_gives_every_record(read, pack):
    pages = [b"<p>one", b"<p>two two", b"<p>three"]
    assert read("a.warc.gz", pack(b"".join(map(record, pages)))) == ([None] * 3, pages, [None] * 3)


@pytest.mark.parametrize(
    ("length", "story"),
    [(3, "too small: text goes on behind it"), (70, "too large: it reaches into the next record"), (10**9, "absurd")],
)
@pytest.mark.parametrize("packing", ["plain", "one_member", "member_per_record"])
def test_case_11_wrong_content_length_costs_one_record(read, length, story, packing):
    records = [record(b"<p>first"), record(b"<p>liar", length=length), record(b"<p>third"), record(b"<p>fourth!")]
    data = {
        "plain": b"".join(records),
        "one_member": gzip.compress(b"".join(records)),
        "member_per_record": b"".join(map(gzip.compress, records)),
    }[packing]
    listed, payloads, _ = read("a.warc.gz", data)
    assert listed == [None, "wrong_content_length", None, None], story
    assert payloads == [b"<p>first", None, b"<p>third", b"<p>fourth!"]


def test_case_11_damaged_member_costs_its_own_record(read):
    members = [gzip.compress(record(b"<p>page %d" % number * 50)) for number in range(4)]
    broken = bytearray(members[1])
    broken[30:60] = b"\xff" * 30
    listed, payloads, _ = read("a.warc.gz", members[0] + bytes(broken) + members[2] + members[3])
    assert listed == [None, "damaged_compression", None, None]
    assert [payload is None for payload in payloads] == [False, True, False, False]


def test_case_11_cut_file_keeps_all_before_the_cut(read):
    members = [gzip.compress(record(b"<p>page %d" % number * 50)) for number in range(3)]
    listed, _, _ = read("a.warc.gz", (members[0] + members[1] + members[2])[:-40])
    assert listed == [None, None, "truncated_record"]


def test_garbage_between_records_is_one_failed_row():
    data = record(b"<p>a") + b"\x00garbage\xff\n" * 3 + record(b"<p>b")
    assert failures(data) == ["wrong_content_length", None]
    assert failures(b"garbage\n" + record(b"<p>b")) == ["garbled_record", None]


def test_record_without_a_length_is_a_failed_row():
    headless = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: many\r\n\r\nbody\r\n\r\n"
    assert failures(record(b"<p>a") + headless + record(b"<p>b")) == [None, "no_content_length", None]


def test_old_versions_with_bare_newlines_are_read():
    data = record(b"<p>a", newline=b"\n", version=b"WARC/0.18") + b"\n\n" + record(b"<p>b", newline=b"\n")
    assert failures(data) == [None, None]


def test_page_about_warc_is_no_record_boundary(read):
    page = b"<pre>\nWARC/1.0\r\nWARC-Type: response\r\n\r\n</pre>"
    assert read("a.warc", record(page) + record(b"<p>b")) == ([None, None], [page, b"<p>b"], [None, None])


@pytest.mark.parametrize(
    "data",
    [record(b"a: b", kind="warcinfo", head=b""), gzip.compress(b""), record(b"x", kind="request", head=b"")],
    ids=["warcinfo", "empty member", "request"],
)
def test_file_of_zero_pages_has_no_rows(data):
    assert listing(data) == []


def test_same_record_twice_has_two_ids(tmp_path):
    (tmp_path / "a.warc").write_bytes(record(b"<p>a") * 2)
    store = Store(StoreSettings(root=str(tmp_path)))
    (listed,) = list_records(dataset="d", snapshot="s", format="warc", uri="a.warc", store=store, options={})
    assert len(set(listed["doc_id"].to_pylist())) == 2


def test_body_that_the_crawler_did_not_get_whole_says_so():
    def head(*lines: bytes) -> bytes:
        return b"\r\n".join([b"HTTP/1.1 200 OK", *lines]) + b"\r\n\r\n"

    heads = [head(b"Content-Length: 10"), head(b"Content-Length: 4"), head(b"Content-Length: x"), head()]
    heads += [head(b"Content-Length: 10", b"Content-Encoding: gzip")]
    data = b"".join(record(b"<p>a", head=one) for one in heads)
    rows = list(list_warc(pa.BufferReader(data), WARC))
    assert [row.meta.get("http_missing_bytes") for row in rows] == ["6", None, None, None, None]
    cut = record(b"<p>a").replace(b"WARC-Type", b"WARC-Truncated: length\r\nWARC-Type")
    assert [row.meta.get("warc_truncated") for row in list_warc(pa.BufferReader(cut), WARC)] == ["length"]


def test_real_wet_file_gives_the_text_of_its_page(read):
    if not DATA.exists():
        pytest.skip("needs ../shared/data/warc_real")
    listed, payloads, failed = read("a.warc.gz", (DATA / "whirlwind/whirlwind.warc.wet.gz").read_bytes())
    assert (listed, failed) == ([None], [None])
    assert "Escopete" in payloads[0].decode()


def test_empty_file_is_a_failed_row():
    assert listing(b"") == [("0", "empty_file")]


def test_bodies_are_unpacked(read):
    page = b"<p>" + b"long page " * 100
    chunked = b"5\r\n<p>ab\r\n3;x=y\r\ncde\r\n0\r\n\r\n"
    heads = {
        "gzip": (b"Content-Encoding: gzip", gzip.compress(page), page, None),
        "deflate": (b"Content-Encoding: deflate", zlib.compress(page), page, None),
        "chunked": (b"Transfer-Encoding: chunked", chunked, b"<p>abcde", None),
        "packed only in the header": (b"Content-Encoding: gzip", page, page, None),
        "cut": (b"Content-Encoding: gzip", gzip.compress(page)[:-12], None, "truncated_body"),
        "unknown": (b"Content-Encoding: br", b"\x0b\x02", None, "unsupported_content_encoding"),
    }
    for story, (header, body, expected, failure) in heads.items():
        head = b"HTTP/1.1 200 OK\r\n" + header + b"\r\n\r\n"
        _, payloads, failed = read("a.warc", record(body, head=head))
        assert (payloads, failed) == ([expected], [failure]), story


def test_body_that_inflates_without_end_is_a_failed_row(tmp_path):
    bomb = gzip.compress(b"\x00" * 50_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(record(bomb, head=head)))
    store = Store(StoreSettings(root=str(tmp_path)))
    (listed,) = list_records(dataset="d", snapshot="s", format="warc", uri=str(path), store=store, options={})
    (fetched,) = fetch_payloads(listed, store, max_payload_bytes=1_000_000)
    assert fetched["failure"].to_pylist() == ["payload_too_large"]


@example(bodies=[b"", b""], is_compressed=False, cut=83)  # leaves the first letter of the second record
@given(
    bodies=st.lists(st.binary(max_size=300), min_size=1, max_size=6),
    is_compressed=st.booleans(),
    cut=st.integers(0, 400),
)
def test_cutting_a_file_anywhere_never_hurts_what_lies_before(bodies, is_compressed, cut):
    parts = [record(body, kind="resource", head=b"") for body in bodies]
    parts = [gzip.compress(part) for part in parts] if is_compressed else parts
    whole = b"".join(parts)
    data = whole[: max(0, len(whole) - cut)]
    stream = io.BytesIO(data)
    num_whole = 0
    for part in parts:
        if stream.read(len(part)) != part:
            break
        num_whole += 1
    found = failures(data)
    assert found[:num_whole] == [None] * num_whole
    assert len(found) <= num_whole + 1 or not data
