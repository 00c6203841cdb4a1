"""Where the band tables of all snapshots lie, and who the members are that their rows number.

A member's number is its snapshot's rank, then its ordinal, so that numbers sort by rank.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.document import MEMBERS
from corpusmill.lake.damage import damage_named
from corpusmill.lake.pages import open_parquet
from corpusmill.lake.tables import Lake
from corpusmill.tasks import bands

ORDINAL_BITS = 40
"""A snapshot has at most 10^12 documents, and a dataset 8 million snapshots."""
REMEDY = "make the signatures of its snapshot again, and its band table with them: corpusmill materialize --again"
"""What to do where a file of a band table is damaged."""


class BandFiles:
    """The band tables of some snapshots, best rank first."""

    def __init__(self, lake: Lake, dataset: str, snapshots: Sequence[str]) -> None:
        self.store = lake.store
        self.snapshots = list(snapshots)
        name = bands.table(dataset)
        states = lake.partitions(name)
        self._objects = [states[snapshot].state["objects"]["members"] for snapshot in snapshots]
        self._files = lake.files(name, self.snapshots) if self.snapshots else []
        self.num_rows = sum(file.num_rows for file in self._files)

    def files(self, snapshots: Sequence[str]) -> dict[str, list[str]]:
        """Return the keys of the files of some snapshots, by rank."""
        found: dict[str, list[str]] = {}
        for file in self._files:
            if file.partition in snapshots:
                rank = str(self.snapshots.index(file.partition))
                found.setdefault(rank, []).append(self.store.key(file.path))
        return found

    def numbers(self, snapshot: str, ordinals: np.ndarray) -> np.ndarray:
        """Return the numbers of a snapshot's documents."""
        return number_members(self.snapshots.index(snapshot), ordinals)

    def members(self, snapshot: str, columns: Sequence[str]) -> pa.Table:
        """Return columns of MEMBERS of a snapshot, by ordinal."""
        with self._open(self.snapshots.index(snapshot)) as file:
            return file.read(columns=list(columns)).combine_chunks()

    def look_up(self, members: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return number, snapshot, ordinal and columns of MEMBERS of sorted members; reads the row groups that hold them."""
        ranks = ranks_of(members)
        own = {"number": pa.int64(), "snapshot": pa.string(), "ordinal": pa.int64()}
        told = own | {name: MEMBERS.field(name).type for name in columns}
        found = [pa.schema(told).empty_table()]
        for rank in np.unique(ranks).tolist():
            numbers = members[ranks == rank]
            ordinals = ordinals_of(numbers)
            snapshot = pa.repeat(pa.scalar(self.snapshots[rank], pa.string()), len(numbers))
            rows = self._rows(rank, ordinals, columns)
            values = [pa.array(numbers), snapshot, pa.array(ordinals), *(rows.column(name) for name in columns)]
            found.append(pa.table(values, names=list(told)))
        return pa.concat_tables(found).combine_chunks()

    def find(self, snapshot: str, doc_ids: pa.Array, columns: Sequence[str]) -> pa.Table:
        """Return columns of MEMBERS of the documents of a snapshot that `doc_ids` name; the others are left out.

        Ids are sorted, so of a few ids only the row groups between whose bounds one lies are read.
        """
        wanted = sorted(doc_ids.to_pylist())
        with self._open(self.snapshots.index(snapshot)) as file:
            groups = [group for group in range(file.num_row_groups) if _may_hold(file, group, wanted)]
            rows = file.read_row_groups(groups, columns=list(columns))
        return rows.filter(pc.is_in(rows.column("doc_id"), value_set=doc_ids))

    def _rows(self, rank: int, ordinals: np.ndarray, columns: Sequence[str]) -> pa.Table:
        with self._open(rank) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            ends = np.cumsum(sizes)
            groups = np.searchsorted(ends, ordinals, side="right")
            needed = np.unique(groups)
            rows = file.read_row_groups(needed.tolist(), columns=list(columns))
            before = np.concatenate([[0], np.cumsum(np.asarray(sizes)[needed])[:-1]])
            starts = ends - sizes
            return rows.take(before[np.searchsorted(needed, groups)] + ordinals - starts[groups])

    @contextmanager
    def _open(self, rank: int) -> Iterator[pq.ParquetFile]:
        key = self._objects[rank]
        with (
            damage_named(self.store, key, remedy=f"{REMEDY} (snapshot {self.snapshots[rank]!r})"),
            self.store.open_input(key) as source,
            open_parquet(source) as file,
        ):
            yield file


def statistics_of(file: pq.ParquetFile, group: int, column: str) -> Any:
    """Return what a row group's footer says of a column; None where it says nothing."""
    return file.metadata.row_group(group).column(file.schema_arrow.get_field_index(column)).statistics


def number_members(rank: int, ordinals: np.ndarray) -> np.ndarray:
    """Return the numbers of the documents of the snapshot of a rank."""
    return (np.int64(rank) << ORDINAL_BITS) | ordinals.astype(np.int64)


def ranks_of(numbers: np.ndarray) -> np.ndarray:
    return numbers >> ORDINAL_BITS


def ordinals_of(numbers: np.ndarray) -> np.ndarray:
    return numbers & ((1 << ORDINAL_BITS) - 1)


def _may_hold(file: pq.ParquetFile, group: int, wanted: Sequence[str]) -> bool:
    """Say whether one of the sorted ids lies between the bounds of a row group; no rows and very long ids have none."""
    ids = statistics_of(file, group, "doc_id")
    return ids is None or not ids.has_min_max or bisect_left(wanted, ids.min) < bisect_right(wanted, ids.max)
