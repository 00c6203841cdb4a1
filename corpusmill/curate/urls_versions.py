"""One page in several snapshots: which snapshot's version of a URL stays, by the hashes of canonical URLs.

A rule of URLs alone: the texts may differ, and then these are versions of a page. Memory: about 25 bytes a document.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

VERSIONS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("canonical_url", pa.large_string(), nullable=False),
        pa.field("kept_snapshot", pa.string(), nullable=False),
    ]
)
"""One row a document whose URL another snapshot has a better version of: that snapshot."""

REASONS = {"newest": "url_older_version", "oldest": "url_later_version"}
"""Why such a document goes, by what is kept."""


@dataclass(frozen=True, kw_only=True)
class KeptVersions:
    """The URLs that several snapshots have."""

    hashes: np.ndarray
    """uint64, sorted."""
    ranks: np.ndarray
    """int32: the rank of the snapshot whose version stays; 0 is the best."""

    def better_ranks(self, hashes: np.ndarray, rank: int) -> np.ndarray:
        """Return, for documents of the snapshot of this rank, the rank of the better version, -1 where there is none."""
        if not len(self.hashes):
            return np.full(len(hashes), -1, np.int32)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        is_worse = (self.hashes[places] == hashes) & (self.ranks[places] < rank)
        return np.where(is_worse, self.ranks[places], np.int32(-1))


def rank_versions(snapshots: Iterable[str], *, keep: str) -> list[str]:
    """Return snapshots best first: names in order are ages, as in deduplication."""
    return sorted(snapshots, reverse=keep == "newest")


def find_kept_versions(batches: Iterable[tuple[int, np.ndarray]]) -> KeptVersions:
    """Return the kept versions of all URLs of `batches`, each the rank of a snapshot and hashes of its URLs, 0 for none.

    Of (0, [7, 8]), (1, [7, 9, 9]) and (2, [9]) these are hash 7 with rank 0 and hash 9 with rank 1.
    """
    parts = [(np.empty(0, np.uint64), np.empty(0, np.int32))]
    parts += [(hashes[hashes != 0], np.full(np.count_nonzero(hashes), rank, np.int32)) for rank, hashes in batches]
    hashes, ranks = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((ranks, hashes))
    hashes, ranks = hashes[order], ranks[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])) if len(hashes) else np.empty(0, np.int64)
    ends = np.append(starts[1:], len(hashes)) - 1
    several = starts[ranks[starts] != ranks[ends]] if len(hashes) else starts
    return KeptVersions(hashes=hashes[several], ranks=ranks[several])
