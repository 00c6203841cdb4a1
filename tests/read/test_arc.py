"""ARC files of both versions, packed and damaged as WARC files are."""

import gzip
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.arc_records import ARC
from corpusmill.read.snapshot import fetch_payloads, list_records
from corpusmill.read.warc import list_warc

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=koi8-r\r\n\r\n"
VERSION_1 = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"


def line(url: bytes, length: int, *, version: int = 1, kind: bytes = b"text/html") -> bytes:
    more = b"" if version == 1 else b" 200 checksum - 0 a.arc.gz"
    return b"%s 127.0.0.1 20080430204825 %s%s %d\n" % (url, kind, more, length)


def record(
    body: bytes, *, url: bytes = b"http://a.b/c", length: int | None = None, head=HTTP, version: int = 1
) -> bytes:
    block = head + body
    return line(url, len(block) if length is None else length, version=version) + block + b"\n"


FILE_HEADER = line(b"filedesc://a.arc.gz", len(VERSION_1), kind=b"text/plain") + VERSION_1 + b"\n"
DNS = line(b"dns:a.b", 12, kind=b"text/dns") + b"20080430204825"[:12] + b"\n"


@pytest.fixture
def read(tmp_path):
    def read_file(data: bytes):
        path = tmp_path / "s/a.arc.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        store = Store(StoreSettings(root=str(tmp_path)))
        listed = pa.concat_tables(
            list_records(dataset="d", snapshot="s", format="arc", uri="s", store=store, options={})
        )
        return listed, pa.concat_tables(fetch_payloads(listed, store))

    return read_file


@pytest.mark.parametrize("packing", ["plain", "one_member", "member_per_record"])
@pytest.mark.parametrize("version", [1, 2])
def test_pages_are_read_and_file_header_and_dns_are_none(read, packing, version):
    urls = (b"http://a.b/c", b"http://a.b/with a space?q=1")
    pages = [record(b"<p>%s" % url, url=url, version=version) for url in urls]
    records = [FILE_HEADER, DNS, *pages]
    data = b"".join(map(gzip.compress, records)) if packing == "member_per_record" else b"".join(records)
    listed, fetched = read(gzip.compress(data) if packing == "one_member" else data)
    assert listed["url"].to_pylist() == [url.decode() for url in urls]
    assert listed["content_type"].to_pylist() == ["text/html; charset=koi8-r"] * 2
    assert [dict(meta)["http_status"] for meta in listed["meta"].to_pylist()] == ["200", "200"]
    assert fetched["payload"].to_pylist() == [b"<p>%s" % url for url in urls]


def test_page_without_an_http_head_has_the_type_of_its_line(read):
    listed, fetched = read(FILE_HEADER + record(b"plain", head=b""))
    assert (listed["content_type"].to_pylist(), fetched["payload"].to_pylist()) == (["text/html"], [b"plain"])


@pytest.mark.parametrize("length", [3, 95, 10**9])
@pytest.mark.parametrize("packing", ["plain", "member_per_record"])
def test_case_11_wrong_length_costs_one_record(read, length, packing):
    records = [record(b"<p>first"), record(b"<p>liar", length=length), record(b"<p>third"), record(b"<p>fourth")]
    data = b"".join(map(gzip.compress, records)) if packing == "member_per_record" else b"".join(records)
    listed, fetched = read(data)
    assert listed["failure"].to_pylist() == [None, "wrong_content_length", None, None]
    assert fetched["payload"].to_pylist() == [b"<p>first", None, b"<p>third", b"<p>fourth"]


def test_file_header_alone_and_garbage(read):
    assert [row.failure for row in list_warc(pa.BufferReader(FILE_HEADER), ARC)] == []
    garbled = b"no record here\nnor here\n" + record(b"<p>a")
    assert read(garbled)[0]["failure"].to_pylist() == ["garbled_record", None]


@given(bodies=st.lists(st.binary(max_size=300), min_size=1, max_size=5), cut=st.integers(0, 400))
def test_cutting_a_file_anywhere_never_hurts_what_lies_before(bodies, cut):
    parts = [record(body) for body in bodies]
    whole = b"".join(parts)
    stream = io.BytesIO(whole[: max(0, len(whole) - cut)])
    num_whole = 0
    for part in parts:
        if stream.read(len(part)) != part:
            break
        num_whole += 1
    found = [row.failure for row in list_warc(pa.BufferReader(stream.getvalue()), ARC)]
    assert found[:num_whole] == [None] * num_whole
    assert len(found) <= num_whole + 1
