"""What belongs to a snapshot, ids, options, and what happens when it is not there."""

import gzip
import io
import os
import zipfile

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.document import RECORDS
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.folders import snapshot_names
from corpusmill.read.snapshot import FORMATS, fetch_payloads, list_records


def parquet_file() -> tuple[str, bytes]:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": ["a", "b"]}), sink)
    return "x.parquet", sink.getvalue().to_pybytes()


def package_file() -> tuple[str, bytes]:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("p/a.py", "x = 1")
    return "p.whl", data.getvalue()


def warc_file() -> tuple[str, bytes]:
    record = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 4\r\n\r\npage\r\n\r\n"
    return "x.warc.gz", gzip.compress(record, mtime=0) * 3


ONE_FILE = {
    "warc": warc_file,
    "jsonl": lambda: ("x.jsonl.gz", gzip.compress(b'{"text": "a"}\n{"text": "b"}', mtime=0)),
    "parquet": parquet_file,
    "package": package_file,
    "text": lambda: ("x.txt", b"plain"),
}
"""A small file of each format."""


@pytest.fixture
def store(tmp_path):
    return Store(StoreSettings(root=str(tmp_path)))


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_html", ".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def rows(store, uri, *, format="html", **options):
    return pa.concat_tables(
        list_records(dataset="d", snapshot="s1", format=format, uri=uri, store=store, options=options)
    )


def test_folder_is_listed_by_path_without_bookkeeping(tmp_path, store):
    write(tmp_path / "s1", b_html="b", a__c_html="c", a_html="a")
    for name in (".hidden.html", "_temporary/x.html", ".git/y.html", "notes.pdf"):
        path = tmp_path / "s1" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("no")
    found = rows(store, "s1", declared_license="CC-BY-4.0", declared_language="en")
    assert found.schema == RECORDS
    assert found["locator"].to_pylist() == ["a.html", "a/c.html", "b.html"]
    assert found["file"].to_pylist() == [f"{tmp_path}/s1/{name}" for name in ("a.html", "a/c.html", "b.html")]
    assert found["content_type"].to_pylist() == ["text/html"] * 3
    assert found["declared_license"].to_pylist() == ["CC-BY-4.0"] * 3
    assert found["declared_language"].to_pylist() == ["en"] * 3
    fetched = pa.concat_tables(fetch_payloads(found, store))
    assert fetched["payload"].to_pylist() == [b"a", b"c", b"b"]


def test_file_alone_has_the_ids_that_its_folder_gives(tmp_path, store):
    write(tmp_path / "s1", a__c_html="c", a__d_html="d")
    whole = rows(store, "s1")
    one_by_one = pa.concat_tables([rows(store, uri) for uri in whole["file"].to_pylist()])
    assert one_by_one.equals(whole)


def test_folder_named_like_its_snapshot_is_told_apart(tmp_path, store):
    write(tmp_path / "s1", a__s1__x_html="1", s1__x_html="2", x_html="3")
    whole = rows(store, "s1")
    assert whole["locator"].to_pylist() == ["a/s1/x.html", "s1/x.html", "x.html"]
    assert pa.concat_tables([rows(store, uri) for uri in whole["file"].to_pylist()]).equals(whole)


@pytest.mark.parametrize(
    ("format", "name"), [("html", b"caf\xe9.html"), ("jsonl", b"caf\xe9.jsonl"), ("checkout", b"r\xe9po/a.py")]
)
def test_name_that_is_no_utf8_is_a_failed_row_and_the_others_are_read(tmp_path, store, format, name):
    good = f"z.{name.rpartition(b'.')[2].decode()}"
    for file in (name, good.encode()):
        path = os.fsencode(tmp_path) + b"/s1/" + file
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as opened:
            opened.write(b'{"text": "x"}')
    found = rows(store, "s1", format=format)
    spelled = name.decode(errors="backslashreplace")
    assert found["locator"][0].as_py() == spelled
    assert found["failure"].to_pylist() == ["unusable_file_name", None]
    assert found["file"][0].as_py() == f"{tmp_path}/s1/{spelled}"
    assert found["doc_id"][0] != found["doc_id"][1]
    assert pa.concat_tables(fetch_payloads(found, store))["failure"].to_pylist() == ["unusable_file_name", None]


def test_folder_of_a_source_whose_name_is_no_utf8_is_no_snapshot(tmp_path, store):
    for name in (b"2024", b"caf\xe9", b".hidden"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    (tmp_path / "README.md").write_text("no")
    assert snapshot_names(store) == ["2024"]


def test_links_that_lead_back_or_nowhere_are_passed_over(tmp_path, store):
    write(tmp_path / "s1", a__x_html="x", b__y_html="y")
    write(tmp_path / "elsewhere", z_html="z")
    for name, target in {
        "a/self": ".",
        "a/up": "..",
        "a/b": "../b",
        "b/a": "../a",
        "gone.html": "nothing",
        "loop.html": "loop.html",
        "outside": "../elsewhere",
        "link.html": "a/x.html",
    }.items():
        (tmp_path / "s1" / name).symlink_to(target)
    found = rows(store, "s1")["locator"].to_pylist()
    assert found == ["a/b/y.html", "a/x.html", "b/a/x.html", "b/y.html", "link.html", "outside/z.html"]


def test_pipe_is_no_file(tmp_path, store):
    write(tmp_path / "s1", a_html="a")
    os.mkfifo(tmp_path / "s1" / "b.html")
    assert rows(store, "s1")["locator"].to_pylist() == ["a.html"]


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "checkout"])
def test_empty_file_is_a_failed_row_in_every_format(tmp_path, store, format):
    (tmp_path / "s1").mkdir()
    (tmp_path / "s1" / f"a{FORMATS[format][0]}").write_bytes(b"")
    (tmp_path / "s1" / "a.py").write_bytes(b"")
    assert rows(store, "s1", format=format)["failure"].to_pylist() == ["empty_file"]
    assert rows(store, "s1", format="checkout")["failure"].to_pylist()[0] == "empty_file"


def test_ids_do_not_move_with_the_folder(tmp_path, store):
    write(tmp_path / "here/s1", a_html="a")
    write(tmp_path / "there/s1", a_html="a")
    assert rows(store, "here/s1")["doc_id"].equals(rows(store, "there/s1")["doc_id"])


def test_file_of_another_kind_gives_no_rows(tmp_path, store):
    (tmp_path / "_SUCCESS").write_text("")
    assert list(list_records(dataset="d", snapshot="s", format="warc", uri="_SUCCESS", store=store, options={})) == []


def test_vanished_snapshot_is_named(tmp_path, store):
    with pytest.raises(ValueError, match=f"nothing lies at {tmp_path}/s1: the snapshot is empty or has vanished"):
        rows(store, "s1")


def test_snapshot_of_another_format_says_what_was_wanted(tmp_path, store):
    write(tmp_path / "s1", a_html="a")
    with pytest.raises(ValueError, match=r"none of the 1 files below .*/s1 is taken: a parquet snapshot has files"):
        rows(store, "s1", format="parquet")


def test_typos_are_named_with_what_exists(store):
    with pytest.raises(ValueError, match="unknown format 'wacr' of source d; the formats are warc, wet, arc, html"):
        rows(store, "s1", format="wacr")
    with pytest.raises(ValueError, match=r"unknown read option text_colum; .*; did you mean 'text_column'"):
        rows(store, "s1", text_colum="body")
    with pytest.raises(ValueError, match=r'the option include takes a list of strings, got .* write \["\*.py"\]'):
        rows(store, "s1", include="*.py")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("include", 5, "the option include takes a list of strings, got 5"),
        ("meta_columns", [5], r"the option meta_columns takes a list of strings, got \[5\]"),
        ("max_payload_bytes", "10MB", "max_payload_bytes must be a whole number of at least 1, got '10MB'"),
        ("text_column", 5, "the option text_column must be text, got 5"),
        ("url_column", ["u"], "the option url_column must be text"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_by_name(store, name, value, message):
    with pytest.raises(ValueError, match=message):
        rows(store, "s1", **{name: value})


def test_file_that_vanished_after_listing_is_a_failed_row(tmp_path, store):
    write(tmp_path / "s1", a_html="a", b_html="b")
    found = rows(store, "s1")
    (tmp_path / "s1/a.html").unlink()
    fetched = pa.concat_tables(fetch_payloads(found, store))
    assert fetched["failure"].to_pylist() == ["file_not_found", None]
    assert fetched["payload"].to_pylist() == [None, b"b"]


def test_file_that_became_a_folder_after_listing_is_a_failed_row(tmp_path, store):
    write(tmp_path / "s1", a_html="a", b__c_html="c", d_html="d")
    found = rows(store, "s1")
    for name in ("a.html", "b/c.html"):
        (tmp_path / "s1" / name).unlink()
    (tmp_path / "s1/a.html").mkdir()
    (tmp_path / "s1/b").rmdir()
    (tmp_path / "s1/b").write_text("a folder that became a file")
    fetched = pa.concat_tables(fetch_payloads(found, store))
    assert fetched["failure"].to_pylist() == ["file_is_a_folder", "file_not_found", None]
    assert fetched["payload"].to_pylist() == [None, None, b"d"]


def test_file_that_was_cut_after_listing_is_a_failed_row(tmp_path, store):
    write(tmp_path / "s1", a_html="a whole page", b_html="b")
    found = rows(store, "s1")
    (tmp_path / "s1/a.html").write_text("a whole")
    fetched = pa.concat_tables(fetch_payloads(found, store))
    assert fetched["failure"].to_pylist() == ["file_changed", None]


def parquet(**columns: list[object]) -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.table(columns), data)
    return data.getvalue()


def zipped(*names: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return data.getvalue()


LINES = b'{"text": "a"}\n{"text": "b"}\n'


@pytest.mark.parametrize(
    ("format", "name", "before", "after", "failures"),
    [
        ("parquet", "a.parquet", parquet(text=["a", "b"]), parquet(text=["a"]), [None, "file_changed"]),
        ("parquet", "a.parquet", parquet(text=["a", "b"]), parquet(body=["a", "b"]), ["file_changed"] * 2),
        ("parquet", "a.parquet", parquet(text=["a", "b"]), parquet(text=[1, 2]), ["file_changed"] * 2),
        ("parquet", "a.parquet", parquet(text=["a", "b"]), b"no longer Parquet", ["file_changed"] * 2),
        ("jsonl", "a.jsonl", LINES, LINES[:14], [None, "file_changed"]),
        ("jsonl", "a.jsonl.gz", gzip.compress(LINES), gzip.compress(LINES[:14]), [None, "file_changed"]),
        ("jsonl", "a.jsonl.gz", gzip.compress(LINES), b"", ["file_changed"] * 2),
        ("package", "p-1.zip", zipped("a.py", "b.py"), zipped("a.py"), [None, "file_changed"]),
    ],
)
def test_records_that_left_their_file_after_listing_are_failed_rows(
    tmp_path, store, format, name, before, after, failures
):
    (tmp_path / "s1").mkdir()
    (tmp_path / "s1" / name).write_bytes(before)
    found = rows(store, "s1", format=format)
    (tmp_path / "s1" / name).write_bytes(after)
    assert pa.concat_tables(fetch_payloads(found, store))["failure"].to_pylist() == failures


def test_failed_records_keep_their_failure_and_batches_are_bounded(tmp_path, store):
    write(tmp_path / "s1", a_html="a", b_html="b" * 3_000_000, c_html="c")
    found = rows(store, "s1", max_payload_bytes=1_000_000)
    assert found["failure"].to_pylist() == [None, "payload_too_large", None]
    tables = list(fetch_payloads(found, store))
    assert [table["failure"].to_pylist() for table in tables] == [[None, "payload_too_large", None]]
    assert tables[0].schema == RECORDS.append(pa.field("payload", pa.large_binary()))


def test_large_payloads_come_in_bounded_tables(tmp_path, store):
    write(tmp_path / "s1", **{f"{number}_html": "x" * 30_000_000 for number in range(5)})
    sizes = [table.num_rows for table in fetch_payloads(rows(store, "s1"), store)]
    assert sizes == [2, 2, 1]


@pytest.mark.s3
def test_what_s3_calls_a_folder_is_no_file(s3_server, s3_root):
    store = Store(StoreSettings(root=s3_root, endpoint=s3_server.endpoint))
    store.write("s1/b.html", b"b")
    bucket, _, prefix = s3_root.removeprefix("s3://").partition("/")
    client = boto3.client("s3", endpoint_url=s3_server.endpoint, region_name="us-east-1")
    client.put_object(Bucket=bucket, Key=f"{prefix}/s1/sub/", Body=b"")
    found = rows(store, "s1")
    assert found["locator"].to_pylist() == ["b.html"]
    assert snapshot_names(store) == ["s1"]
    client.delete_object(Bucket=bucket, Key=f"{prefix}/s1/b.html")
    client.put_object(Bucket=bucket, Key=f"{prefix}/s1/b.html/c.txt", Body=b"")
    assert pa.concat_tables(fetch_payloads(found, store))["failure"].to_pylist() == ["file_is_a_folder"]


@pytest.mark.s3
@pytest.mark.parametrize("format", ["warc", "jsonl", "parquet", "package", "text"])
def test_snapshot_on_s3_gives_what_a_folder_gives(tmp_path, s3_server, s3_root, format):
    on_s3 = Store(StoreSettings(root=s3_root, endpoint=s3_server.endpoint))
    local = Store(StoreSettings(root=str(tmp_path)))
    name, data = ONE_FILE[format]()
    fetched = []
    for store in (on_s3, local):
        store.write(f"s1/part/{name}", data)
        listed = rows(store, "s1", format=format)
        assert listed["failure"].null_count == len(listed) > 0
        fetched.append(pa.concat_tables(fetch_payloads(listed, store)).drop_columns(["file"]))
    assert fetched[0].equals(fetched[1])
