"""A new snapshot meets the earlier ones: the pairs that its documents make in the buckets of one band.

The same pairs that `buckets` and `bands` find among all snapshots at once, less those among earlier documents: new
documents rank after all known ones, so these keep their places in every bucket. Memory: the band's new rows, and the known
rows that share a key with them.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from corpusmill.dedup.bands import NUM_LEVELS, part_keys
from corpusmill.dedup.buckets import compared_pairs, possible_pairs
from corpusmill.dedup.parameters import DedupParameters


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of one band."""

    keys: np.ndarray
    members: np.ndarray
    """Numbers of documents, which sort by rank."""
    further: np.ndarray
    """What splits their buckets; empty where that is not known."""

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows(keys=self.keys[rows], members=self.members[rows], further=self.further[rows])


@dataclass(frozen=True, kw_only=True)
class Meetings:
    """What new documents found in one band."""

    worse: np.ndarray
    better: np.ndarray
    levels: np.ndarray
    """0 where the whole bucket was compared, else how often it was split before the two met."""


@dataclass(frozen=True, kw_only=True)
class HotBuckets:
    """What new documents did to the buckets that they fell into."""

    keys: np.ndarray
    """The oversize ones, sorted."""
    added: int
    """Those that became oversize."""
    largest: int
    """0 when none is oversize."""
    skipped: int
    """Pairs that are not compared and that there was nothing to skip of before."""


def meet(known: Rows, fresh: Rows, parameters: DedupParameters) -> tuple[Meetings, HotBuckets]:
    """Let fresh members meet all better ones of their buckets; `known` holds the other members of these."""
    keys, members, is_fresh = _together(known, fresh)
    starts, positions, sizes = _positions(keys)
    firsts = starts[positions == 0]
    whole = sizes[positions == 0]
    before = np.add.reduceat((~is_fresh).astype(np.int64), firsts) if len(firsts) else whole
    is_hot = whole > parameters.max_bucket
    hot = HotBuckets(
        keys=keys[firsts[is_hot]],
        added=int(is_hot.sum() - (before > parameters.max_bucket).sum()),
        largest=int(whole[is_hot].max(initial=0)),
        skipped=_left_out(whole[is_hot], parameters) - _left_out(before, parameters),
    )
    return _pairs(starts, positions, members, is_fresh, parameters=parameters, level=0), hot


def meet_in_parts(known: Rows, fresh: Rows, parameters: DedupParameters) -> list[Meetings]:
    """Let the members of oversize buckets, all of them, meet again in parts of their buckets."""
    found = []
    parts = [known, fresh]
    for level in range(1, NUM_LEVELS):
        parts = [_split(rows, level) for rows in parts]
        keys, members, is_fresh = _together(*parts)
        starts, positions, sizes = _positions(keys)
        found.append(_pairs(starts, positions, members, is_fresh, parameters=parameters, level=level))
        hot = np.unique(keys[sizes > parameters.max_bucket])
        parts = [rows.take(np.flatnonzero(np.isin(rows.keys, hot))) for rows in parts]
    return found


@njit(cache=True, nogil=True)
def shared_rows(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the rows of sorted `keys` that are among the sorted `wanted`."""
    rows = np.empty(len(keys), dtype=np.int64)
    count = 0
    at = 0
    for row in range(len(keys)):
        while at < len(wanted) and wanted[at] < keys[row]:
            at += 1
        if at < len(wanted) and wanted[at] == keys[row]:
            rows[count] = row
            count += 1
    return rows[:count]


def equal_texts(known: Rows, fresh: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return the fresh members whose text (key and further) a better member has, and the best member of that text.

    Of `known` each text has one member: the others are copies and left out.
    """
    keys = np.concatenate([known.keys, fresh.keys])
    further = np.concatenate([known.further, fresh.further])
    members = np.concatenate([known.members, fresh.members])
    order = np.lexsort((members, further, keys))
    keys, further, members = keys[order], further[order], members[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (keys[1:] != keys[:-1]) | (further[1:] != further[:-1])
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    return members[~is_first], members[first[~is_first]]


def _together(known: Rows, fresh: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return keys, members and whether they are fresh, of all rows sorted by key and rank."""
    keys = np.concatenate([known.keys, fresh.keys])
    members = np.concatenate([known.members, fresh.members])
    order = np.lexsort((members, keys))
    return keys[order], members[order], order >= len(known.keys)


def _positions(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, per row of sorted keys, where its bucket starts, its position there, and the bucket's size."""
    _, firsts, sizes = np.unique(keys, return_index=True, return_counts=True)
    starts = np.repeat(firsts, sizes)
    return starts, np.arange(len(keys)) - starts, np.repeat(sizes, sizes)


def _pairs(
    starts: np.ndarray,
    positions: np.ndarray,
    members: np.ndarray,
    is_fresh: np.ndarray,
    *,
    parameters: DedupParameters,
    level: int,
) -> Meetings:
    partners = np.where(positions < parameters.max_bucket, positions, parameters.num_representatives)
    partners[~is_fresh] = 0
    worse = np.repeat(np.arange(len(members)), partners)
    first_of_row = np.cumsum(partners) - partners
    better = np.repeat(starts - first_of_row, partners) + np.arange(len(worse))
    levels = np.full(len(worse), level, dtype=np.int32)
    return Meetings(worse=members[worse], better=members[better], levels=levels)


def _split(rows: Rows, level: int) -> Rows:
    keys = part_keys(rows.keys.view(np.uint64), rows.further.view(np.uint64), level).view(np.int64)
    return Rows(keys=keys, members=rows.members, further=rows.further)


def _left_out(sizes: np.ndarray, parameters: DedupParameters) -> int:
    """Return the pairs that oversize buckets of these sizes leave out at first."""
    hot = sizes[sizes > parameters.max_bucket].tolist()
    return sum(possible_pairs(size) - compared_pairs(size, parameters) for size in hot)
