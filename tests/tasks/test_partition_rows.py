"""Rows about a partition that its shards look up in."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.store import Store, StoreSettings
from corpusmill.tasks.partition_rows import partition_rows, rows_about

SCHEMA = pa.schema([pa.field("doc_id", pa.string()), pa.field("drop_reason", pa.string())])
FILES = ["data/a.parquet", "data/b.parquet"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(StoreSettings(root=str(tmp_path)))
    columns = {"a": (["1", "2"], ["url_duplicate", None]), "b": (["3"], ["url_opted_out"])}
    for name, (doc_ids, reasons) in columns.items():
        with made.open_output(f"data/{name}.parquet") as stream:
            pq.write_table(pa.table({"doc_id": doc_ids, "canonical_url": doc_ids, "drop_reason": reasons}), stream)
    return made


def test_they_are_read_once_in_a_process(store: Store) -> None:
    rows = partition_rows(store, FILES, SCHEMA)
    assert rows["doc_id"].to_pylist() == ["1", "2", "3"]
    store.delete(FILES)
    assert partition_rows(store, FILES, SCHEMA) is rows


def test_rows_without_a_value_are_left_out_where_only_values_count(store: Store) -> None:
    rows = partition_rows(store, FILES, SCHEMA, filled="drop_reason")
    assert rows.to_pylist() == [
        {"doc_id": "1", "drop_reason": "url_duplicate"},
        {"doc_id": "3", "drop_reason": "url_opted_out"},
    ]


def test_rows_about_texts(store: Store) -> None:
    texts = pa.table({"doc_id": ["3", "4"]})
    assert rows_about(partition_rows(store, FILES, SCHEMA), texts)["doc_id"].to_pylist() == ["3"]
    nothing = partition_rows(store, [], SCHEMA)
    assert (nothing.schema, rows_about(nothing, texts).num_rows) == (SCHEMA, 0)
