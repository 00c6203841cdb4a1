"""Candidate pairs as numbers: what met in several bands is one pair, and a document is compared with a bounded number."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

_COMBINE_AFTER = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Pairs of document numbers, which sort by rank, with the bands (bits) in which they met."""

    worse: np.ndarray
    better: np.ndarray
    bands: np.ndarray
    fresh: np.ndarray
    """Bands in which only a part of the bucket compared them."""

    @classmethod
    def none(cls) -> "Pairs":
        return cls(**dict.fromkeys(("worse", "better", "bands", "fresh"), np.empty(0, dtype=np.int64)))

    @classmethod
    def together(cls, parts: Sequence["Pairs"]) -> "Pairs":
        names = ("worse", "better", "bands", "fresh")
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def take(self, rows: np.ndarray) -> "Pairs":
        return Pairs(worse=self.worse[rows], better=self.better[rows], bands=self.bands[rows], fresh=self.fresh[rows])

    def num_fresh(self) -> int:
        return int(np.bitwise_count(self.fresh).sum())


class GatheredPairs:
    """Pairs on the way to one row each: combined whenever as many came as make it worth the sort.

    A hot bucket yields the same pairs in band after band; this keeps memory at the distinct ones and `_COMBINE_AFTER`.
    """

    def __init__(self) -> None:
        self._parts = [Pairs.none()]
        self._num_waiting = 0
        self._num_combined = 0

    def add(self, pairs: Pairs) -> None:
        self._parts.append(pairs)
        self._num_waiting += len(pairs.worse)
        if self._num_waiting > max(_COMBINE_AFTER, self._num_combined):
            self.pairs()

    def pairs(self) -> Pairs:
        """Return what was added, each pair once, sorted by (worse, better)."""
        combined = combine_bands(Pairs.together(self._parts))
        self._parts = [combined]
        self._num_waiting = 0
        self._num_combined = len(combined.worse)
        return combined


def pairs_at_level(pairs: pa.Table, level: int) -> Pairs:
    """Return the pairs (band, worse, better) that buckets of one level yield."""
    bit = np.left_shift(np.int64(1), pairs.column("band").to_numpy().astype(np.int64))
    columns = {name: pairs.column(name).to_numpy() for name in ("worse", "better")}
    return Pairs(**columns, bands=bit, fresh=bit if level else np.zeros_like(bit))


def combine_bands(pairs: Pairs) -> Pairs:
    """Return each pair once, with all its bands, ordered by worse and better."""
    ordered = pairs.take(np.lexsort((pairs.better, pairs.worse)))
    is_first = np.ones(len(ordered.worse), dtype=bool)
    is_first[1:] = (ordered.worse[1:] != ordered.worse[:-1]) | (ordered.better[1:] != ordered.better[:-1])
    firsts = np.flatnonzero(is_first)
    if not len(firsts):
        return ordered
    bands = np.bitwise_or.reduceat(ordered.bands, firsts)
    whole = np.bitwise_or.reduceat(ordered.bands & ~ordered.fresh, firsts)
    return Pairs(worse=ordered.worse[firsts], better=ordered.better[firsts], bands=bands, fresh=bands & ~whole)


def limit_comparisons(candidates: Pairs, most: int) -> Pairs:
    """Keep for each worse document the `most` partners with the most shared bands, ties to the better-ranked."""
    shared = np.bitwise_count(candidates.bands).astype(np.int64)
    order = np.lexsort((candidates.better, -shared, candidates.worse))
    worse = candidates.worse[order]
    _, starts, lengths = np.unique(worse, return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, lengths)
    return candidates.take(np.sort(order[place < most]))
