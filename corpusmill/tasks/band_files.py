"""Where the band tables of all snapshots lie, and who the members are that their rows number.

A member's number is its snapshot's rank, then its ordinal, so that numbers sort by rank.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
        found = []
        for rank in np.unique(ranks).tolist():
            numbers = members[ranks == rank]
            ordinals = ordinals_of(numbers)
            snapshot = pa.repeat(pa.scalar(self.snapshots[rank], pa.string()), len(numbers))
            own = {"number": pa.array(numbers), "snapshot": snapshot, "ordinal": pa.array(ordinals)}
            rows = self._rows(rank, ordinals, columns)
            found.append(pa.table({**own, **{name: rows.column(name) for name in columns}}))
        return pa.concat_tables(found).combine_chunks()

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


def number_members(rank: int, ordinals: np.ndarray) -> np.ndarray:
    """Return the numbers of the documents of the snapshot of a rank."""
    return (np.int64(rank) << ORDINAL_BITS) | ordinals.astype(np.int64)


def ranks_of(numbers: np.ndarray) -> np.ndarray:
    return numbers >> ORDINAL_BITS


def ordinals_of(numbers: np.ndarray) -> np.ndarray:
    return numbers & ((1 << ORDINAL_BITS) - 1)
