"""Rows of a file between two values, without reading the row groups that cannot hold them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.reading import read_between
from corpusmill.lake.store import Store, StoreSettings


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(StoreSettings(root=str(tmp_path)))
    rows = pa.table({"partition_key": ["p"] * 9, "at": range(9), "name": list("abcdefghi")})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=3, write_page_checksum=True)
    return store


@pytest.mark.parametrize(
    ("first", "end", "names"), [(None, None, "abcdefghi"), (3, 5, "de"), (None, 1, "a"), (8, None, "i"), (4, 4, "")]
)
def test_rows_between_two_values(store: Store, first: int | None, end: int | None, names: str) -> None:
    found = list(read_between(store, "rows.parquet", column="at", first=first, end=end))
    assert "".join(name for rows in found for name in rows["name"].to_pylist()) == names
    assert all(rows.column_names == ["at", "name"] for rows in found)


def test_row_groups_without_such_rows_are_not_read(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    place = pq.read_metadata(file).row_group(2).column(2).data_page_offset
    data = bytearray(file.read_bytes())
    data[place : place + 30] = bytes(30)
    file.write_bytes(bytes(data))
    found = list(read_between(store, "rows.parquet", column="name", first="a", end="e"))
    assert [rows["name"].to_pylist() for rows in found] == [["a", "b", "c"], ["d"]]
    with pytest.raises(OSError):
        list(read_between(store, "rows.parquet", column="name", first=None, end=None))
