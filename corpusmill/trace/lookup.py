"""Rows of a table by a value of one string column, file by file, with small indexes that stay in memory.

A file's index is made when the file is first looked in: a pass over that column, then its footer and 12 bytes a row, sorted
by the hash of the value. The indexes used last stay, up to `index_bytes` in all; others are made again when they are needed.
Only row groups that hold a wanted row are read, and of them only the wanted columns.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.lake.content_hash import hash_values
from corpusmill.lake.errors import PartitionMissingError, TableMissingError
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.reading import read_rows_at
from corpusmill.lake.scan import unreadable
from corpusmill.lake.tables import Lake

INDEX_BYTES = 256 << 20
PLACE, PARTITION = "place", "partition"
"""Columns of what is found: how far into the partition its file lies (0 to 1), and the partition."""
MIDDLE = 0.5


@dataclass(frozen=True, kw_only=True)
class _FileIndex:
    metadata: pq.FileMetaData
    hashes_N: np.ndarray[Any, np.dtype[np.uint64]]
    """Sorted."""
    rows_N: np.ndarray[Any, np.dtype[np.int32]]

    @property
    def num_bytes(self) -> int:
        return self.hashes_N.nbytes + self.rows_N.nbytes + self.metadata.serialized_size

    def rows(self, hashes: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the rows that may hold a value with one of these hashes."""
        first = np.searchsorted(self.hashes_N, hashes, side="left")
        last = np.searchsorted(self.hashes_N, hashes, side="right")
        return np.concatenate([self.rows_N[a:b] for a, b in zip(first, last, strict=True)] or [self.rows_N[:0]])


class RowFinder:
    """Finds rows in the tables as they were when each was first asked for; partitions whose gate failed are read too.

    A file that cannot be read raises DataFileError, which names it.
    """

    def __init__(self, lake: Lake, *, index_bytes: int = INDEX_BYTES) -> None:
        self.lake = lake
        self.tables = lake.tables()
        self._index_bytes = index_bytes
        self._held_bytes = 0
        self._indexes: OrderedDict[tuple[str, str], _FileIndex] = OrderedDict()
        self._columns: dict[str, list[str]] = {}
        self._versions: dict[str, list[int]] = {}
        self._files: dict[tuple[str, str | None, int | None], list[DataFileRef]] = {}

    def find(
        self,
        table: str,
        values: Collection[str],
        *,
        by: str = "doc_id",
        columns: Sequence[str],
        partition: str | None = None,
        place: float | None = MIDDLE,
        snapshot_id: int | None = None,
    ) -> pa.Table:
        """Return `columns` of the rows whose column `by` has one of the values, with PLACE and PARTITION.

        With a `place` all rows of a value are taken to lie in one file, and files are looked in from that place on; None looks
        in all of them. A table, partition or column that is not there has no rows.
        """
        left = {*values}
        found: list[pa.Table] = []
        files = self.files(table, partition, snapshot_id)
        for number in _outward(len(files), place):
            rows = self._rows_of_file(files[number], left, by=by, columns=columns)
            if len(rows):
                here = pa.repeat(pa.scalar((number + 0.5) / len(files)), len(rows))
                rows = rows.append_column(PLACE, here)
                found.append(
                    rows.append_column(PARTITION, pa.array([files[number].partition] * len(rows), pa.string()))
                )
                if place is not None:
                    left -= {*rows[by].to_pylist()}
                    if not left:
                        break
        return (
            pa.concat_tables(found, promote_options="default") if found else pa.table({by: pa.array([], pa.string())})
        )

    def files(self, table: str, partition: str | None, snapshot_id: int | None = None) -> list[DataFileRef]:
        """Return the files of a partition, or of all; none of what is not there."""
        key = (table, partition, snapshot_id)
        if key not in self._files:
            self._files[key] = self._list(*key) if table in self.tables else []
        return self._files[key]

    def columns(self, table: str) -> list[str]:
        """Return the names of a table's columns."""
        if table not in self._columns:
            self._columns[table] = self.lake.schema(table).names
        return self._columns[table]

    def versions(self, table: str) -> list[int]:
        """Return the versions of a table, newest first; those that came later are not among them."""
        if table not in self._versions:
            self._versions[table] = list(reversed(self.lake.versions(table)))
        return self._versions[table]

    def _list(self, table: str, partition: str | None, snapshot_id: int | None) -> list[DataFileRef]:
        wanted = None if partition is None else [partition]
        try:
            return self.lake.files(table, wanted, snapshot_id=snapshot_id, allow_failed_gate=True)
        except (PartitionMissingError, TableMissingError):
            return []

    def _rows_of_file(self, file: DataFileRef, values: set[str], *, by: str, columns: Sequence[str]) -> pa.Table:
        wanted = pa.array(sorted(values), pa.string())
        try:
            index = self._index(file.path, by)
            rows = index.rows(_hashes(wanted))
            if not len(rows):
                return pa.table({by: pa.array([], pa.string())})
            names = list(dict.fromkeys([by, *columns]))
            read = read_rows_at(self.lake.store, file.path, rows.tolist(), columns=names, metadata=index.metadata)
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(file, error) from error
        return read.filter(pc.is_in(read[by], wanted))

    def _index(self, path: str, column: str) -> _FileIndex:
        key = (path, column)
        if key in self._indexes:
            self._indexes.move_to_end(key)
            return self._indexes[key]
        made = self._make_index(path, column)
        while self._indexes and self._held_bytes + made.num_bytes > self._index_bytes:
            self._held_bytes -= self._indexes.popitem(last=False)[1].num_bytes
        self._indexes[key] = made
        self._held_bytes += made.num_bytes
        return made

    def _make_index(self, path: str, column: str) -> _FileIndex:
        with self.lake.store.open_input(path) as source, pq.ParquetFile(source) as file:
            if column in file.schema_arrow.names:
                hashes_N = np.concatenate(
                    [_hashes(one) for one in file.read(columns=[column])[column].chunks] or [_NONE]
                )
            else:
                hashes_N = _NONE
            order = np.argsort(hashes_N, kind="stable")
            return _FileIndex(metadata=file.metadata, hashes_N=hashes_N[order], rows_N=order.astype(np.int32))


_NONE = np.empty(0, np.uint64)


def _hashes(values: pa.Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.ascontiguousarray(hash_values(values)[:, 0])


def _outward(count: int, place: float | None) -> list[int]:
    """Return the numbers 0 to count - 1, those nearest to a place (0 to 1) first."""
    middle = count * (MIDDLE if place is None else place) - 0.5
    return sorted(range(count), key=lambda number: (abs(number - middle), number))
