"""Weights that sum to 1, within bounds: nearest ones, distances, and draws around a centre.

Shapes: N mixtures, C components. Everything works on all N rows at once; a projection costs 60 passes over N x C numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]

_LEAST = 1e-12
"""Stands for 0, so that a component that has nothing can be given something where the others are at their bounds."""
_HALVINGS = 60
_SLACK = 1e-9


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The least and the most that each component may weigh."""

    lower_C: FloatArray
    upper_C: FloatArray

    def check(self, components: Sequence[str]) -> None:
        """Raise ValueError where no weights that sum to 1 lie within."""
        for name, lower, upper in zip(components, self.lower_C, self.upper_C, strict=True):
            if not 0 <= lower <= upper + _SLACK:
                raise ValueError(f"{name}: wanted bounds with 0 <= lower <= upper, got {lower:.4g} and {upper:.4g}")
        least, most = self.lower_C.sum(), self.upper_C.sum()
        if least > 1 + _SLACK:
            raise ValueError(
                f"the lower bounds sum to {least:.4g}, more than 1: lower some by {least - 1:.4g} together"
            )
        if most < 1 - _SLACK:
            raise ValueError(f"the upper bounds sum to {most:.4g}, less than 1: raise some by {1 - most:.4g} together")


def project(weights_NC: FloatArray, bounds: Bounds) -> FloatArray:
    """Return the weights within bounds that sum to 1 and are nearest by KL-divergence: each row scaled, then clipped.

    (0.6, 0.3, 0.1) with an upper bound of 0.5 on the first gives (0.5, 0.375, 0.125).
    """
    weights = np.maximum(weights_NC, _LEAST)
    low, high = np.full((2, len(weights), 1), np.log(1 / _LEAST) + np.log(weights.shape[1]) + 5)
    low = -low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        clipped = np.clip(weights * np.exp(middle), bounds.lower_C, bounds.upper_C)
        is_below = clipped.sum(axis=1, keepdims=True) < 1
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.clip(weights * np.exp(high), bounds.lower_C, bounds.upper_C)


def pull_into_ball(weights_NC: FloatArray, centre_C: FloatArray, radius_N: FloatArray | float) -> FloatArray:
    """Return the rows with those farther than `radius` (L1) from the centre moved straight towards it, onto that distance."""
    away_NC = weights_NC - centre_C
    distance_N = np.abs(away_NC).sum(axis=1)
    shrink_N = np.minimum(1.0, radius_N / np.maximum(distance_N, _LEAST))
    return np.asarray(centre_C + away_NC * shrink_N[:, None])


def draw_around(centre_C: FloatArray, concentration_N: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a Dirichlet draw a concentration, with the centre as mean: the larger the concentration, the nearer to it."""
    shape_NC = np.maximum(concentration_N[:, None] * centre_C, _LEAST)
    gamma_NC = rng.standard_gamma(shape_NC)
    total_N1 = gamma_NC.sum(axis=1, keepdims=True)
    return np.where(total_N1 > 0, gamma_NC / np.maximum(total_N1, 1e-300), centre_C)


def divergence(weights_NC: FloatArray, prior_C: FloatArray) -> FloatArray:
    """Return KL(weights || prior) of each row, in nats; every prior weight must be above 0."""
    ratio_NC = np.where(weights_NC > 0, weights_NC, prior_C) / prior_C
    return np.asarray((weights_NC * np.log(ratio_NC)).sum(axis=1))
