"""What a candidate generator finds: groups of equal texts, verified edges, and the counts of what it compared.

In memory (`corpusmill.dedup.in_memory`) and on Spark (`corpusmill.engines.spark_dedup`) the same evidence comes out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from corpusmill.dedup.parameters import DedupParameters

EXACT = pa.schema(
    [
        pa.field("worse", pa.string(), nullable=False),
        pa.field("better", pa.string(), nullable=False),
    ]
)
"""One row per document whose text a better-ranked one has too: itself and the best-ranked document of that text."""

EDGES = pa.schema(
    [
        pa.field("worse", pa.string(), nullable=False),
        pa.field("better", pa.string(), nullable=False),
        pa.field("jaccard", pa.float64(), nullable=False),
        pa.field("shared_bands", pa.int32(), nullable=False),
    ]
)
"""Pairs of different texts whose exact Jaccard reaches the threshold."""

HISTOGRAM_BINS = 20
"""Compared pairs are counted by exact Jaccard in bins of .05; the last bin takes 1 in."""

ReadTexts = Callable[[str, Sequence[str]], pa.Table]
"""From a text file and doc_ids in it to a table of doc_id and text, in any order."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What was found. Tables name documents by member (see `member_names`)."""

    exact: pa.Table
    edges: pa.Table
    candidate_pairs: int
    """Distinct pairs that met in a bucket and were to be compared there."""
    compared_pairs: int
    """Those whose exact Jaccard was computed: the candidates less those over `max_comparisons`."""
    histogram: Mapping[int, int]
    """Compared pairs by bin of exact Jaccard."""
    hot_buckets: int
    largest_hot_bucket: int
    """0 when no bucket is oversize."""
    skipped_in_hot_buckets: int
    """Pairs of an oversize bucket that were compared neither there nor in its parts, summed over buckets."""


class DocumentName(NamedTuple):
    snapshot: str
    doc_id: str


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The order in which documents are preferred: by snapshot, then by doc_id."""

    snapshots: tuple[str, ...]
    """All snapshots, the most preferred first."""

    def prefixes(self) -> dict[str, str]:
        """Return what stands before the doc_ids of each snapshot in member names."""
        return {snapshot: f"{position:06d}/" for position, snapshot in enumerate(self.snapshots)}

    def split(self, member: str) -> DocumentName:
        """Return what a member name names."""
        position, _, doc_id = member.partition("/")
        return DocumentName(self.snapshots[int(position)], doc_id)


def rank_snapshots(present: Sequence[str], *, parameters: DedupParameters, order: Sequence[str] | None) -> Ranking:
    """Rank snapshots by age: `order` lists them oldest first; without it, their names in order are their ages."""
    names = sorted(set(present))
    by_age = names if order is None else list(order)
    missing = [name for name in names if name not in set(by_age)]
    if missing:
        raise ValueError(f"the snapshot order lacks {', '.join(missing)}; it lists {', '.join(by_age)}")
    if len(set(by_age)) != len(by_age):
        raise ValueError(f"the snapshot order names a snapshot twice: {', '.join(by_age)}")
    return Ranking(snapshots=tuple(by_age if parameters.rank == "oldest" else by_age[::-1]))


def member_names(table: pa.Table, ranking: Ranking) -> pa.Array:
    """Return a name for each document (snapshot, doc_id) such that names sort by rank, best first."""
    prefixes = ranking.prefixes()
    snapshots = table.column("snapshot").to_pylist()
    doc_ids = table.column("doc_id").to_pylist()
    return pa.array([prefixes[s] + d for s, d in zip(snapshots, doc_ids, strict=True)], pa.string())
