"""Bytes changed anywhere in a file of any format cost rows of that file: they raise nothing, and no id is given twice."""

import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.read.snapshot import fetch_payloads, list_records
from tests.read.small_files import FILES

ONE_FILE = [(format, *next(iter(files.items()))) for format, files in FILES if format != "checkout"]


def changed(data: bytes, places: Iterable[int]) -> bytes:
    """Return the bytes with one other, one lost or one more at each place."""
    found = bytearray(data)
    for place in places:
        byte = random.Random(place).randrange(256)
        at = place % len(found)
        found[at : at + place % 3] = bytes([byte]) * (1 if place % 2 else place % 3)
    return bytes(found) or b"x"


@pytest.mark.parametrize(
    ("format", "name", "data"), ONE_FILE, ids=lambda value: value if isinstance(value, str) else ""
)
@settings(max_examples=50)
@given(places=st.lists(st.integers(0, 1 << 30), min_size=1, max_size=8))
def test_garbled_bytes_end_as_failed_rows(tmp_path_factory, format, name, data, places):
    folder: Path = tmp_path_factory.mktemp("garbled")
    (folder / name).write_bytes(changed(data, places))
    store = Store(StoreSettings(root=str(folder)))
    options = {"meta_columns": ["id"]} if format == "jsonl" else {}
    try:
        tables = list(list_records(dataset="d", snapshot="s", format=format, uri=name, store=store, options=options))
    except ValueError as error:
        assert type(error) is ValueError and "column" in str(error)
        return
    if tables:
        records = pa.concat_tables(tables)
        assert len(set(records["doc_id"].to_pylist())) == len(records)
        assert pa.concat_tables(fetch_payloads(records, store)).num_rows == len(records)
