"""Which mixtures to train proxy models on: Dirichlet draws in an L1 ball around a prior, the same for the same seed.

Concentrations differ from draw to draw by a factor of 200, so that some mixtures are nearly the prior and some
nearly one component, as in RegMix (arXiv 2407.01492); what lies outside the ball comes to a random distance
inside it. The first mixture is the prior itself: it says what a gain is measured from.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from corpusmill.mix.kinds import check_kinds
from corpusmill.mix.simplex import Bounds, FloatArray, draw_around, project, pull_into_ball

LEAST_PER_COMPONENT = 5
"""A surrogate has about one number a component; with fewer proxies than this for each, it fits their noise."""
_CONCENTRATIONS = (0.1, 20.0)
"""Least and most, times the number of components."""


@dataclass(frozen=True, kw_only=True)
class ProxyDesign:
    """What proxies are to be trained on."""

    prior: Mapping[str, float]
    """Weight by component, relative: what would be trained on without looking."""
    num_mixtures: int | None = None
    """None is LEAST_PER_COMPONENT for each component."""
    radius: float = 1.0
    """L1 distance from the prior that no mixture exceeds: 2 is anything at all."""
    max_weights: Mapping[str, float] = field(default_factory=dict)
    """Shares that components may not exceed, for example as a proxy has few of their tokens."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_kinds(self, what="design")
        prior_of(self.prior)
        least = LEAST_PER_COMPONENT * len(self.prior)
        if self.num_mixtures is not None and self.num_mixtures < least:
            raise ValueError(
                f"num_mixtures must be at least {LEAST_PER_COMPONENT} for each of {len(self.prior)} components, {least}, "
                f"got {self.num_mixtures}"
            )
        if not 0 < self.radius <= 2:
            raise ValueError(f"radius must be above 0 and at most 2, got {self.radius!r}")
        if unknown := sorted(set(self.max_weights) - set(self.prior)):
            raise ValueError(f"max_weights names {', '.join(unknown)}, not among {', '.join(self.prior)}")
        over = [name for name, most in self.max_weights.items() if most < prior_of(self.prior)[name]]
        if over:
            raise ValueError(f"max_weights of {', '.join(over)} are below the prior, around which mixtures are drawn")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def prior_of(weights: Mapping[str, float]) -> dict[str, float]:
    """Return relative weights as shares that sum to 1; raises ValueError where one is not above 0."""
    bad = {name: weight for name, weight in weights.items() if not (0 < weight < float("inf"))}
    if bad or len(weights) < 2:
        raise ValueError(
            f"a prior needs two components or more, each with a weight above 0 (a small one for what you would leave out), "
            f"got {bad or dict(weights)}"
        )
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def proxy_weights(design: ProxyDesign) -> FloatArray:
    """Return the weights of each mixture (rows) by component (columns, in the order of the prior)."""
    shares = prior_of(design.prior)
    prior_C = np.array(list(shares.values()))
    num = (design.num_mixtures or LEAST_PER_COMPONENT * len(shares)) - 1
    rng = np.random.default_rng(design.seed)
    least, most = np.log(np.array(_CONCENTRATIONS) * len(shares))
    drawn = draw_around(prior_C, np.exp(rng.uniform(least, most, num)), rng)
    upper_C = np.array([design.max_weights.get(name, 1.0) for name in shares])
    within = project(drawn, Bounds(lower_C=np.zeros(len(shares)), upper_C=upper_C))
    radius_N = design.radius * rng.uniform(0.5, 1.0, num)
    is_far = np.abs(within - prior_C).sum(axis=1) > design.radius
    inside = np.where(is_far[:, None], pull_into_ball(within, prior_C, radius_N), within)
    return np.concatenate([prior_C[None], inside])
