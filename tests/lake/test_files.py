"""Files as the shard writer leaves them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake import files as files_module
from corpusmill.lake.content_hash import hash_table, to_hex
from corpusmill.lake.errors import SchemaMismatchError
from corpusmill.lake.files import ColumnStatistics, ShardWriter, WrittenFile
from corpusmill.lake.store import Store, StoreSettings

SCHEMA = pa.schema(
    [pa.field("doc_id", pa.string(), nullable=False), ("text", pa.large_string()), ("score", pa.float64())]
)
ROWS = pa.Table.from_pylist(
    [{"doc_id": "b", "text": "two", "score": 0.5}, {"doc_id": "a" * 40, "text": None, "score": None}], schema=SCHEMA
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(StoreSettings(root=str(tmp_path)))


def writer(store: Store, schema: pa.Schema = SCHEMA, **options: int) -> ShardWriter:
    return ShardWriter(store, directory="data/a/b/c/p", name="x-0", schema=schema, partition="p q", **options)


def test_a_file_says_what_is_in_it(store: Store) -> None:
    with writer(store) as shard:
        shard.write(ROWS)
    (file,) = shard.files
    assert store.key(file.path) == "data/a/b/c/p/x-0-00000.parquet"
    assert (file.num_rows, file.num_bytes) == (2, store.size(file.path))
    assert file.content_hash == to_hex(hash_table(ROWS))
    bounds = {name: (item.num_nulls, item.lower, item.upper) for name, item in file.columns.items()}
    assert bounds == {
        "partition_key": (0, "p q", "p q"),
        "doc_id": (0, "a" * 16, "b"),
        "text": (None, None, None),
        "score": (1, 0.5, 0.5),
    }
    assert WrittenFile.from_json(file.to_json()) == file
    read = pq.read_table(file.path)
    assert read.schema.names == ["partition_key", "doc_id", "text", "score"]
    assert read.drop_columns("partition_key").equals(ROWS)


def test_the_bounds_of_a_long_string_still_enclose_it(store: Store) -> None:
    with writer(store, pa.schema([("doc_id", pa.string())])) as shard:
        shard.write(pa.table({"doc_id": ["é" * 20, "z" * 17, "z" * 16 + "\x7f"]}))
    column = shard.files[0].columns["doc_id"]
    assert isinstance(column, ColumnStatistics)
    assert str(column.lower) <= "z" * 17
    assert column.upper is None or str(column.upper) >= "é" * 20


def test_no_rows_make_no_file(store: Store) -> None:
    with writer(store) as shard:
        shard.write(ROWS.slice(0, 0))
    assert shard.files == []
    assert list(store.list()) == []


def test_large_output_is_cut_into_files_and_row_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "_ROW_GROUP_BYTES", 10_000)
    table = pa.table({"doc_id": [f"{number:05d}" * 20 for number in range(1_000)]})
    with writer(store, table.schema, target_bytes=5_000) as shard:
        shard.write(table)
    assert len(shard.files) == 2
    assert sum(file.num_rows for file in shard.files) == 1_000
    assert all(len(file.row_group_offsets) == pq.read_metadata(file.path).num_row_groups for file in shard.files)
    joined = pa.concat_tables(pq.read_table(file.path, columns=["doc_id"]) for file in shard.files)
    assert joined.equals(table)


def test_case_12_one_enormous_row_becomes_a_row_group_of_its_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 12: row groups are bounded, and a row that exceeds the bound still passes."""
    monkeypatch.setattr(files_module, "_ROW_GROUP_BYTES", 10_000)
    table = pa.table({"text": pa.array(["s", "x" * 50_000, "t"], pa.large_string())})
    with writer(store, table.schema) as shard:
        shard.write(table)
    metadata = pq.read_metadata(shard.files[0].path)
    assert [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)] == [1, 1, 1]


def test_the_same_rows_give_the_same_bytes(store: Store, tmp_path: Path) -> None:
    other = Store(StoreSettings(root=str(tmp_path / "other")))
    for target in (store, other):
        with writer(target) as shard:
            shard.write(ROWS)
    assert store.read("data/a/b/c/p/x-0-00000.parquet") == other.read("data/a/b/c/p/x-0-00000.parquet")


def test_an_error_leaves_no_open_file_behind(store: Store) -> None:
    with pytest.raises(RuntimeError), writer(store, target_bytes=1) as shard:
        shard.write(ROWS)
        raise RuntimeError
    assert list(store.list()) == []


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        (ROWS.drop_columns("text"), "missing column text"),
        (ROWS.append_column("more", pa.nulls(2)), "unknown column more"),
        (ROWS.set_column(2, "score", pa.array([1, 2])), "column score must be double, got int64"),
        (ROWS.set_column(0, "doc_id", pa.array(["a", None])), "column doc_id must have no nulls, got 1 of 2"),
    ],
)
def test_rows_that_do_not_fit_are_refused(store: Store, table: pa.Table, fault: str) -> None:
    with writer(store) as shard, pytest.raises(SchemaMismatchError, match=fault):
        shard.write(table)


def test_a_schema_that_no_table_can_have_is_refused(store: Store) -> None:
    for schema, fault in [
        (pa.schema([("partition_key", pa.string())]), "adds the column partition_key itself"),
        (pa.schema([("a", pa.uint32())]), "no unsigned integers"),
        (pa.schema([("a", pa.list_(pa.uint64()))]), "no unsigned integers"),
        (pa.schema([]), "needs columns"),
    ]:
        with pytest.raises(SchemaMismatchError, match=fault):
            writer(store, schema)
