"""Tests of shares that are exact: how likely is it that nothing changed and the numbers came out like this?

`rise` compares two samples by Fisher's exact test: if all outputs were drawn alike, which of them are the recent ones is
a random choice, and the count among the recent is hypergeometric. Nothing is assumed about the share itself, and nothing
about large samples.

Outputs of neighbouring seeds resemble one another, so n of them tell less than n independent ones. How much less is
measured on the run's own chunks (`design_effect`), and counts are divided by it before they are tested.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PRIOR_EFFECT = 1.5
PRIOR_CHUNKS = 4
"""Before chunks have shown how much they scatter, they are taken to scatter half as much again as independent outputs
would; this belief weighs as much as so many chunks."""


def rise(*, recent: tuple[float, float], reference: tuple[float, float], effect: float = 1.0) -> float:
    """Return the probability of at least so many hits among the recent, if recent and reference are drawn alike.

    Both are (hits, outputs). Counts are divided by the design effect and rounded towards no change.
    """
    num_recent, num_reference = math.floor(recent[1] / effect), math.floor(reference[1] / effect)
    hits = math.floor(recent[0] / effect)
    others = min(num_reference, math.ceil(reference[0] / effect))
    return _hypergeometric_tail(hits, draws=num_recent, marked=hits + others, total=num_recent + num_reference)


def binomial_tail(hits: float, *, outputs: float, share: float, effect: float = 1.0) -> float:
    """Return the probability of at least so many hits if each of the outputs is one with probability `share`."""
    if share <= 0:
        return 0.0 if hits >= effect else 1.0
    if share >= 1:
        return 1.0
    number, least = math.floor(outputs / effect), math.floor(hits / effect)
    if least <= 0:
        return 1.0
    k = np.arange(least, number + 1)
    logs = _choose(number, k) + k * math.log(share) + (number - k) * math.log1p(-share)
    return _sum_of_exp(logs)


def design_effect(chunks: Sequence[tuple[float, float]]) -> float:
    """Return how many times more the share of hits scatters between chunks of (hits, outputs) than chance makes it; >= 1.

    Pearson's chi-squared over its degrees of freedom, drawn towards PRIOR_EFFECT while chunks are few.
    """
    filled = [(hits, outputs) for hits, outputs in chunks if outputs]
    total = sum(outputs for _, outputs in filled)
    share = sum(hits for hits, _ in filled) / total if total else 0.0
    if not 0 < share < 1:
        chi_squared = 0.0
    else:
        chi_squared = sum((hits - outputs * share) ** 2 / (outputs * share * (1 - share)) for hits, outputs in filled)
    freedom = max(0, len(filled) - 1)
    return max(1.0, (PRIOR_CHUNKS * PRIOR_EFFECT + chi_squared) / (PRIOR_CHUNKS + freedom))


def wilson_interval(hits: float, outputs: float, *, deviations: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a share, 95 % by default; shown to people, not tested."""
    if not outputs:
        return 0.0, 1.0
    share, square = hits / outputs, deviations**2
    middle = (share + square / (2 * outputs)) / (1 + square / outputs)
    half = deviations * math.sqrt(share * (1 - share) / outputs + square / (4 * outputs**2)) / (1 + square / outputs)
    return max(0.0, middle - half), min(1.0, middle + half)


def _hypergeometric_tail(hits: int, *, draws: int, marked: int, total: int) -> float:
    most = min(draws, marked)
    if hits <= max(0, draws + marked - total):
        return 1.0
    k = np.arange(hits, most + 1)
    return _sum_of_exp(_choose(marked, k) + _choose(total - marked, draws - k) - _choose(total, np.array([draws])))


def _choose(number: int, k: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the logarithm of `number` over `k`."""
    table = _log_factorials(1 << max(4, number.bit_length()))
    return table[number] - table[k] - table[number - k]


@functools.lru_cache(maxsize=32)
def _log_factorials(size: int) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])


def _sum_of_exp(logs: NDArray[np.float64]) -> float:
    return min(1.0, float(np.exp(logs).sum())) if len(logs) else 0.0
