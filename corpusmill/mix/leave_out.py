"""How well surrogates predict proxies that they have not seen: every run is predicted once, by a fit without its fold.

Costs folds + 1 fits a surrogate and capability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corpusmill.mix.proxies import Proxies
from corpusmill.mix.simplex import FloatArray
from corpusmill.mix.surrogates import SURROGATES, Predict


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """One surrogate on one capability, on runs that its fits had not seen."""

    capability: str
    surrogate: str
    error: float
    """Root mean square, in the score's own unit."""
    error_share: float
    """Of the scores' standard deviation: 1 is no better than their mean."""
    spearman: float


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The surrogate that predicts a capability best, fitted to all runs."""

    capability: str
    left_out: LeftOut
    predict: Predict


def leave_out(
    proxies: Proxies, *, surrogates: Sequence[str] = tuple(SURROGATES), folds: int = 5, seed: int = 0
) -> list[LeftOut]:
    """Return what each surrogate misses, capability by capability, in the order of `surrogates`."""
    _check(surrogates)
    if not 2 <= folds <= len(proxies):
        raise ValueError(f"folds must be 2 to the number of runs, {len(proxies)}, got {folds}")
    fold_N = np.random.default_rng(seed).permutation(len(proxies)) % folds
    return [
        _left_out(proxies, number, surrogate, fold_N)
        for number in range(len(proxies.capabilities))
        for surrogate in surrogates
    ]


def fit_best(proxies: Proxies, left_out: Sequence[LeftOut]) -> list[Fitted]:
    """Return for each capability the surrogate that missed least, fitted to every run; ties go to the earlier one."""
    best: dict[str, LeftOut] = {}
    for one in left_out:
        if one.capability not in best or one.error < best[one.capability].error:
            best[one.capability] = one
    return [
        Fitted(
            capability=name,
            left_out=best[name],
            predict=SURROGATES[best[name].surrogate](proxies.weights_NC, proxies.scores_NK[:, number]),
        )
        for number, name in enumerate(proxies.capabilities)
    ]


def spearman(one_N: FloatArray, other_N: FloatArray) -> float:
    """Return the rank correlation; equal values share the mean of their ranks, and constants correlate with nothing (0)."""
    ranks = [_ranks(values) - (len(values) - 1) / 2 for values in (one_N, other_N)]
    size = float(np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    return float(ranks[0] @ ranks[1]) / size if size else 0.0


def _check(surrogates: Sequence[str]) -> None:
    unknown = [name for name in surrogates if name not in SURROGATES]
    if unknown or not surrogates:
        raise ValueError(f"surrogates are {', '.join(SURROGATES)}, got {', '.join(unknown) or 'none'}")


def _left_out(
    proxies: Proxies, number: int, surrogate: str, fold_N: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> LeftOut:
    scores_N = proxies.scores_NK[:, number]
    guessed_N = np.empty(len(proxies))
    for fold in range(int(fold_N.max()) + 1):
        seen_N = fold_N != fold
        predict = SURROGATES[surrogate](proxies.weights_NC[seen_N], scores_N[seen_N])
        guessed_N[~seen_N] = predict(proxies.weights_NC[~seen_N])
    error = float(np.sqrt(np.square(guessed_N - scores_N).mean()))
    spread = float(scores_N.std())
    return LeftOut(
        capability=proxies.capabilities[number],
        surrogate=surrogate,
        error=error,
        error_share=error / spread if spread else 0.0,
        spearman=spearman(guessed_N, scores_N),
    )


def _ranks(values_N: FloatArray) -> FloatArray:
    _, place_N, count_U = np.unique(values_N, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count_U) - (count_U + 1) / 2)[place_N])
