"""How far late samples lie from early ones, beside how far chance alone would put samples of these sizes.

Shown with every decision, so that a person sees a drift before a rule acts on it. Nothing is decided by these numbers.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.synthesize.supervise.statistics import Statistics, spread


def drift(early: Statistics, late: Statistics) -> dict[str, Any]:
    """Return distance and expected noise of reasons, lengths and the mean bag of words; empty where a side is."""
    if not early.num_outputs or not late.num_outputs:
        return {}
    names = sorted({*early.reasons, *late.reasons})
    reasons = [np.array([side.reasons.get(name, 0) for name in names], np.float64) for side in (early, late)]
    lengths = [side.histograms["length_ratio"].astype(np.float64) for side in (early, late)]
    return {
        "reasons": total_variation(*reasons),
        "reasons_noise": expected_variation(*reasons),
        "lengths": total_variation(*lengths),
        "lengths_noise": expected_variation(*lengths),
        "words": _mean_distance([early, late]),
        "words_noise": _expected_mean_distance([early, late]),
    }


def total_variation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return half the sum of differences of two distributions given as counts: 0 equal, 1 apart."""
    return round(float(np.abs(left / left.sum() - right / right.sum()).sum()) / 2, 4)


def expected_variation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """Return what `total_variation` is on average if both are drawn from one distribution (normal approximation)."""
    shares = (left + right) / (left.sum() + right.sum())
    deviations = np.sqrt(shares * (1 - shares) * (1 / left.sum() + 1 / right.sum()))
    return round(float(deviations.sum()) * math.sqrt(2 / math.pi) / 2, 4)


def _mean_distance(sides: Sequence[Statistics]) -> float:
    means = [side.vector / side.num_outputs for side in sides]
    return round(float(np.linalg.norm(means[0] - means[1])), 4)


def _expected_mean_distance(sides: Sequence[Statistics]) -> float:
    """Vectors of length 1 with a mean cosine distance of `spread` scatter by its root around their mean."""
    return round(math.sqrt(sum(max(0.0, spread(side)) / side.num_outputs for side in sides)), 4)
