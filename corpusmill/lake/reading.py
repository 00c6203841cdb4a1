"""Reading one committed file: in batches of a row group, or a stretch of its rows. Memory: one row group."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.store import Store


def read_batches(
    store: Store, key: str, *, columns: Sequence[str] | None = None, batch_rows: int = 4096
) -> Iterator[pa.Table]:
    """Yield the rows of a file in order, at most `batch_rows` at a time, without the partition key."""
    with store.open_input(key) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
        names = _names(file, columns)
        for batch in file.iter_batches(batch_size=batch_rows, columns=names):
            yield pa.Table.from_batches([batch])


def read_rows(
    store: Store, key: str, *, start: int = 0, stop: int | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return the rows `start` to `stop` (half-open; None is the end) of a file, reading only their row groups."""
    with store.open_input(key) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
        stop = file.metadata.num_rows if stop is None else min(stop, file.metadata.num_rows)
        first, groups = _groups(file, start, stop)
        table = file.read_row_groups(groups, columns=_names(file, columns))
        return table.slice(start - first, max(stop - start, 0))


def read_rows_at(
    store: Store, key: str, rows: Sequence[int], *, columns: Sequence[str], metadata: pq.FileMetaData | None = None
) -> pa.Table:
    """Return single rows of a file, in the order of their numbers, reading only the row groups that hold them.

    With `metadata`, the file's own, no footer is read. A column that the file lacks is left out.
    """
    wanted = np.unique(np.asarray(rows, np.int64))
    parts = []
    with (
        store.open_input(key) as source,
        pq.ParquetFile(source, metadata=metadata, page_checksum_verification=True) as file,
    ):
        schema = file.schema_arrow
        names = [name for name in schema.names if name in columns]
        start = 0
        for group in range(file.num_row_groups):
            stop = start + file.metadata.row_group(group).num_rows
            inside = wanted[(wanted >= start) & (wanted < stop)]
            if len(inside):
                parts.append(file.read_row_group(group, columns=names).take(pa.array(inside - start)))
            start = stop
        return pa.concat_tables(parts) if parts else schema.empty_table().select(names)


def read_between(store: Store, key: str, *, column: str, first: Any, end: Any) -> Iterator[pa.Table]:
    """Yield the rows of a file whose `column` lies in [first, end), by row group; None is no bound.

    Row groups that the file's statistics rule out are not read, so it pays where rows are sorted by the column.
    """
    with store.open_input(key) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
        place = file.schema_arrow.get_field_index(column)
        for index in range(file.num_row_groups):
            statistics = file.metadata.row_group(index).column(place).statistics
            if statistics and statistics.has_min_max and not _overlaps(statistics.min, statistics.max, first, end):
                continue
            rows = file.read_row_group(index, columns=_names(file, None))
            if first is not None:
                rows = rows.filter(pc.greater_equal(rows[column], first))
            if end is not None:
                rows = rows.filter(pc.less(rows[column], end))
            yield rows


def _overlaps(least: Any, most: Any, first: Any, end: Any) -> bool:
    return (first is None or most >= first) and (end is None or least < end)


def _names(file: pq.ParquetFile, columns: Sequence[str] | None) -> list[str]:
    names = file.schema_arrow.names if columns is None else columns
    return [name for name in names if name != PARTITION_KEY]


def _groups(file: pq.ParquetFile, start: int, stop: int) -> tuple[int, list[int]]:
    """Return the first row of the first needed row group, and the needed row groups."""
    ends = 0
    first = 0
    groups: list[int] = []
    for index in range(file.num_row_groups):
        begins, ends = ends, ends + file.metadata.row_group(index).num_rows
        if begins < stop and ends > start:
            first = first if groups else begins
            groups.append(index)
    return first, groups
