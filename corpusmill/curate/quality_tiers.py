"""Tiers of quality: scores ranked into buckets of equal size, several classifiers joined, rules that spare the best.

As Nemotron-CC does it (Su et al. 2024, arXiv 2412.02595): each classifier's scores are cut into 20 buckets of about 5 %
of the documents, and a document's tier is the highest that any classifier gives it. Edges are fitted on one partition and
stored, so that a tier means the same in every other. That paper leaves heuristic filters out for high-quality documents:
they removed many of them and the trained models were no better for it.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

NUM_TIERS = 20
"""Nemotron-CC, classifier ensembling."""


def fit_edges(scores: np.ndarray, *, num_tiers: int = NUM_TIERS) -> np.ndarray:
    """Return the num_tiers - 1 scores at which a tier begins, in order; NaN is left out.

    [.1, .2, .3, .4] in two tiers: the edge is .3, where the upper half begins. Raises ValueError for fewer scores than
    tiers. Equal scores share a tier, so that where they are many, a tier between can stay empty.
    """
    known = np.sort(scores[~np.isnan(scores)])
    if len(known) < num_tiers or num_tiers < 2:
        raise ValueError(f"{num_tiers} tiers need at least two tiers and a score for each, got {len(known)} scores")
    return known[np.arange(1, num_tiers) * len(known) // num_tiers]


def tier_of(scores: np.ndarray, edges: Sequence[float] | np.ndarray) -> pa.Array:
    """Return the tier of each score (int32): 0 below the first edge, len(edges) from the last on; null for NaN."""
    tiers = np.searchsorted(np.asarray(edges, np.float64), scores, side="right").astype(np.int32)
    return pa.array(tiers, pa.int32(), mask=np.isnan(scores))


def max_of(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return the highest value of each row, over classifiers; NaN only where all are NaN."""
    if not columns:
        raise ValueError("the highest of no columns is not defined; give at least one classifier's scores or tiers")
    return np.fmax.reduce([np.asarray(column, np.float64) for column in columns])


def is_spared(tiers: np.ndarray, *, from_tier: int | None) -> np.ndarray:
    """Return where heuristic rules are not to drop: in the tiers from `from_tier` up; None and NaN spare nothing."""
    return np.zeros(len(tiers), bool) if from_tier is None else tiers >= from_tier
