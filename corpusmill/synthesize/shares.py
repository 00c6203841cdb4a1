"""Shares of the documents: recipes of one dataset that each start from documents of their own, in given proportions.

Every document has a place between 0 and 1, a hash of dataset and id. Shares that stand side by side never meet, so a
document is a seed of one style only, whichever partition it is in and whoever asks; how many fall into a share is exact
in expectation.
"""

import hashlib
from collections.abc import Mapping

Share = tuple[float, float]
"""From the first place on, up to and without the second."""
EVERYTHING: Share = (0.0, 1.0)


def side_by_side(weights: Mapping[str, float]) -> dict[str, Share]:
    """Return a share for each name, in proportion to its weight; together they are everything.

    Raises ValueError for weights that are not above zero.
    """
    if wrong := {name: weight for name, weight in weights.items() if not weight > 0}:
        raise ValueError(f"weights must be above zero, got {wrong}; leave out what is to have no documents")
    total, before = sum(weights.values()), 0.0
    ends: list[float] = []
    for weight in weights.values():
        before += weight
        ends.append(before / total)
    starts = [0.0, *ends[:-1]]
    return {name: (start, end) for name, start, end in zip(weights, starts, [*ends[:-1], 1.0], strict=True)}


def check_share(share: Share) -> None:
    """Raise ValueError when no place can be in the share."""
    if len(share) != 2 or not 0.0 <= share[0] < share[1] <= 1.0:
        raise ValueError(f"a share is two places with 0 <= from < to <= 1, got {share}; (0, 1) is every document")


def is_in_share(dataset: str, doc_id: str, share: Share) -> bool:
    return share == EVERYTHING or share[0] <= place(dataset, doc_id) < share[1]


def place(dataset: str, doc_id: str) -> float:
    """Return where a document stands between 0 and 1, the same for all recipes of a dataset."""
    digest = hashlib.sha256(f"share\x00{dataset}\x00{doc_id}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53
