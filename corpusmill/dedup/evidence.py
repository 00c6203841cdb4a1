"""What a candidate generator finds: groups of equal texts, verified edges, and the counts of what it compared.

In memory (`corpusmill.dedup.in_memory`) and on Spark (`corpusmill.engines.spark_dedup`) the same evidence comes out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.validation import is_validation

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
    is_validation: bool


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The order in which documents are preferred, written into the names by which evidence calls them.

    A member name is `[side][key]place side/doc_id`: names sort by rank, best first. `place` is that of the snapshot (six
    digits), `side` 0 for the validation split and 1 for training, `key` the length or the quality, best first. Ranked
    oldest first a name begins with its place, so that no later document comes before an earlier one.
    """

    snapshots: tuple[str, ...]
    """All snapshots, the most preferred first."""
    rank: str = "oldest"
    """See `DedupParameters.rank`."""
    validation_share: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a signatures table that a member name is made of."""
        return ("doc_id", "snapshot", "text_hash", *_KEY_COLUMNS.get(self.rank, ()))

    def split(self, member: str) -> DocumentName:
        """Return what a member name names."""
        prefix, _, doc_id = member.partition("/")
        return DocumentName(self.snapshots[int(prefix[-7:-1])], doc_id, prefix[-1] == "0")

    def split_all(self, members: pa.Array) -> pa.Table:
        """Return what many member names name: snapshot, doc_id, is_validation. What stands before doc_ids is of one length."""
        end = members[0].as_py().index("/") if len(members) else 0
        places = pc.utf8_slice_codeunits(members, max(end - 7, 0), max(end - 1, 0)).cast(pa.int64())
        snapshots = pa.array(self.snapshots, pa.string())
        return pa.table(
            {
                "snapshot": snapshots.take(places),
                "doc_id": pc.utf8_slice_codeunits(members, end + 1),
                "is_validation": pc.equal(pc.utf8_slice_codeunits(members, max(end - 1, 0), end), "0"),
            }
        )


_KEY_COLUMNS = {"longest": ("num_shingles",), "quality": ("quality",)}


def rank_snapshots(present: Sequence[str], *, parameters: DedupParameters, order: Sequence[str] | None) -> Ranking:
    """Rank snapshots by age: `order` lists them oldest first; without it, their names in order are their ages."""
    names = sorted(set(present))
    by_age = names if order is None else list(order)
    missing = [name for name in names if name not in set(by_age)]
    if missing:
        raise ValueError(f"the snapshot order lacks {', '.join(missing)}; it lists {', '.join(by_age)}")
    if len(set(by_age)) != len(by_age):
        raise ValueError(f"the snapshot order names a snapshot twice: {', '.join(by_age)}")
    return Ranking(
        snapshots=tuple(by_age[::-1] if parameters.rank == "newest" else by_age),
        rank=parameters.rank,
        validation_share=parameters.validation_share,
    )


def member_names(table: pa.Table, ranking: Ranking) -> pa.Array:
    """Return a name for each document such that names sort by rank, best first; `table` has `ranking.columns`."""
    if missing := [name for name in ranking.columns if name not in table.column_names]:
        raise ValueError(
            f"rank {ranking.rank!r} needs the column {', '.join(missing)}, which the signatures lack; make them again"
        )
    place = pc.index_in(table["snapshot"].cast(pa.string()), pa.array(ranking.snapshots, pa.string()))
    places = pa.array([f"{number:06d}" for number in range(len(ranking.snapshots))], pa.string()).take(
        place.combine_chunks()
    )
    side = pc.if_else(is_validation(table["text_hash"], ranking.validation_share), "0", "1").combine_chunks()
    front = [] if ranking.rank == "oldest" else [side]
    if ranking.rank in _KEY_COLUMNS:
        front.append(_best_first(table[_KEY_COLUMNS[ranking.rank][0]]))
    prefix = pc.binary_join_element_wise(*front, places, side, "")
    return pc.binary_join_element_wise(prefix, table["doc_id"].cast(pa.string()).combine_chunks(), "/")


def _best_first(values: pa.ChunkedArray) -> pa.Array:
    """Return 16 hex digits for each number that sort from the highest number to the lowest, nulls last.

    The bits of doubles sort as the doubles do once those of negative ones are turned over and the sign bit of the
    others is set; turned over as a whole they sort downwards.
    """
    numbers = values.cast(pa.float64()).fill_null(float("-inf")).to_numpy() + 0.0
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    sign = np.uint64(1 << 63)
    rising = np.where(bits & sign, ~bits, bits | sign)
    return pa.array([f"{value:016x}" for value in (~rising).tolist()], pa.string())


def jaccard_bins(measured: np.ndarray) -> dict[int, int]:
    """Return how many of the exact Jaccards fall into each bin that has any."""
    bins = np.minimum((measured * HISTOGRAM_BINS).astype(np.int64), HISTOGRAM_BINS - 1)
    numbers, counts = np.unique(bins, return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))
