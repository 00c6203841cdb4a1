"""A small, whole file of every format and packing."""

import gzip
import io
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq

RECORD = b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n"
PAGE = b"http://a/ 1.2.3.4 19970101000000 text/html 6\nhello\n\n"
LICENSE = b"Permission is granted under the MIT license.\n"
LINE = b'{"text": "one", "id": 1}\n'


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
