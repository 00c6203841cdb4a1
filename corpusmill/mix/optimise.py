"""Weights that proxies say are better: the best predicted mean over capabilities, not far from a prior, within bounds.

What is minimised is, in units of each score's spread over the proxies,

    sum over capabilities of importance * (predicted score - predicted score at the prior) + pull * KL(weights || prior)

A surrogate knows nothing beyond the mixtures that it has seen: no weight leaves the range that the proxies have, and the
whole stays as near to the prior (L1) as the farthest proxy. The search draws around the best weights so far, ever nearer,
and then walks down the slope; it needs no derivatives, so trees can be searched, and the same seed gives the same weights.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from corpusmill.mix.kinds import check_kinds
from corpusmill.mix.leave_out import Fitted, LeftOut, fit_best, leave_out
from corpusmill.mix.proxies import Proxies
from corpusmill.mix.proxy_design import prior_of
from corpusmill.mix.simplex import Bounds, FloatArray, divergence, draw_around, project, pull_into_ball
from corpusmill.mix.surrogates import SURROGATES

_DRAWS = 2048
_BEST = 64
_ROUNDS = 14
_STEPS = 200
_NUDGE = 1e-4


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What makes weights good."""

    prior: Mapping[str, float]
    """Weight by component, relative: what is trained on now."""
    pull: float = 0.05
    """What a nat of KL-divergence from the prior costs, in mean gain of a standard deviation; 0 lets go of the prior."""
    importance: Mapping[str, float] = field(default_factory=dict)
    """Relative weight of a capability, 1 where it is not named; 0 only shows what becomes of it."""
    higher_is_better: tuple[str, ...] = ()
    """Capabilities whose scores are accuracies; the others are losses."""
    max_epochs: Mapping[str, float] = field(default_factory=dict)
    """How often a component may be read at most, where `tokens` and a budget say how often it would be."""
    min_weights: Mapping[str, float] = field(default_factory=dict)
    max_weights: Mapping[str, float] = field(default_factory=dict)
    surrogates: tuple[str, ...] = tuple(SURROGATES)
    """The one with the least leave-out error predicts a capability."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_kinds(self, what="wish")
        prior_of(self.prior)
        if not 0 <= self.pull < math.inf:
            raise ValueError(f"pull must not be negative, got {self.pull!r}")
        for what in ("max_epochs", "min_weights", "max_weights"):
            if unknown := sorted(set(getattr(self, what)) - set(self.prior)):
                raise ValueError(f"{what} names {', '.join(unknown)}, not among {', '.join(self.prior)}")
        for what in ("importance", "max_epochs", "min_weights", "max_weights"):
            if bad := {name: number for name, number in getattr(self, what).items() if not 0 <= number < math.inf}:
                raise ValueError(f"{what} must hold numbers of at least 0, got {bad}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Wish":
        tuples = {name: tuple(value[name]) for name in ("higher_is_better", "surrogates") if name in value}
        return cls(**{**value, **tuples})


@dataclass(frozen=True, kw_only=True)
class Change:
    """What the weights do to one capability, as its surrogate predicts."""

    capability: str
    surrogate: str
    at_prior: float
    at_proposal: float
    gain: float
    """How much better it gets, whichever way is better; a loss is negative."""
    error: float
    """The surrogate's leave-out error."""

    @property
    def verdict(self) -> str:
        """Whether the gain or loss is larger than what the surrogate misses anyway."""
        if abs(self.gain) <= self.error:
            return "within error"
        return "gain" if self.gain > 0 else "loss"


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Weights by component, and what they are predicted to do."""

    components: tuple[str, ...]
    prior_C: FloatArray
    weights_C: FloatArray
    bounds: Bounds
    changes: Sequence[Change]
    left_out: Sequence[LeftOut]
    mean_gain: float
    """In standard deviations, by importance."""
    divergence: float


def propose(
    proxies: Proxies,
    wish: Wish,
    *,
    tokens: Mapping[str, int] | None = None,
    budget_tokens: int | None = None,
    folds: int = 5,
) -> Proposal:
    """Return the best weights; with `tokens` (that each component has) and a budget none is read beyond its epoch cap.

    Raises ValueError for capabilities or components that the proxies lack, and for bounds that nothing meets.
    """
    _check(proxies, wish)
    shares = prior_of(wish.prior)
    prior_C = np.array([shares[name] for name in proxies.components])
    bounds = _bounds(proxies, wish, prior_C, _epoch_caps(wish, tokens, budget_tokens))
    left_out = leave_out(proxies, surrogates=wish.surrogates, folds=folds, seed=wish.seed)
    fitted = fit_best(proxies, left_out)
    gain = _mean_gain(proxies, fitted, wish, prior_C)
    weights_C = _search(
        lambda asked_NC: wish.pull * divergence(asked_NC, prior_C) - gain(asked_NC),
        centre_C=project(prior_C[None], bounds)[0],
        bounds=bounds,
        radius=float(np.abs(proxies.weights_NC - prior_C).sum(axis=1).max()),
        seed=wish.seed,
    )
    return Proposal(
        components=proxies.components,
        prior_C=prior_C,
        weights_C=weights_C,
        bounds=bounds,
        changes=[_change(one, wish, prior_C, weights_C) for one in fitted],
        left_out=left_out,
        mean_gain=float(gain(weights_C[None])[0]),
        divergence=float(divergence(weights_C[None], prior_C)[0]),
    )


def _check(proxies: Proxies, wish: Wish) -> None:
    if set(wish.prior) != set(proxies.components):
        raise ValueError(
            f"the prior has {', '.join(wish.prior)}, the proxies were trained on {', '.join(proxies.components)}"
        )
    named = {*wish.importance, *wish.higher_is_better}
    if unknown := sorted(named - set(proxies.capabilities)):
        raise ValueError(f"no proxy has a score in {', '.join(unknown)}; there are {', '.join(proxies.capabilities)}")
    importance = [wish.importance.get(name, 1.0) for name in proxies.capabilities]
    if not sum(importance):
        raise ValueError(f"importances must not be negative nor all 0, got {dict(wish.importance)}")


def _epoch_caps(wish: Wish, tokens: Mapping[str, int] | None, budget_tokens: int | None) -> dict[str, float]:
    """Return the largest share of the budget that each capped component can fill."""
    if tokens is None or budget_tokens is None:
        return {}
    caps = {name: min(1.0, most * tokens[name] / budget_tokens) for name, most in wish.max_epochs.items()}
    if set(caps) == set(wish.prior) and sum(caps.values()) < 1:
        held = int(sum(most * tokens[name] for name, most in wish.max_epochs.items()))
        raise ValueError(
            f"all components with their epoch caps hold {held:,} tokens, {budget_tokens - held:,} short of the budget of "
            f"{budget_tokens:,}; raise max_epochs or ask for at most {held:,}"
        )
    return caps


def _bounds(proxies: Proxies, wish: Wish, prior_C: FloatArray, caps: Mapping[str, float]) -> Bounds:
    """Return what the proxies have seen (the prior counts as seen), narrowed to what was asked for and can be read."""
    names = proxies.components
    seen_NC = np.vstack([proxies.weights_NC, prior_C])
    asked = Bounds(
        lower_C=np.array([wish.min_weights.get(name, 0.0) for name in names]),
        upper_C=np.array([min(wish.max_weights.get(name, 1.0), caps.get(name, 1.0)) for name in names]),
    )
    asked.check(names)
    bounds = Bounds(
        lower_C=np.clip(seen_NC.min(axis=0), asked.lower_C, asked.upper_C),
        upper_C=np.clip(seen_NC.max(axis=0), asked.lower_C, asked.upper_C),
    )
    bounds.check(names)
    return bounds


def _mean_gain(
    proxies: Proxies, fitted: Sequence[Fitted], wish: Wish, prior_C: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return the function from weights to the gain in standard deviations, a mean by importance."""
    importance_K = np.array([wish.importance.get(one.capability, 1.0) for one in fitted])
    spread_K = np.where(proxies.scores_NK.std(axis=0) > 0, proxies.scores_NK.std(axis=0), 1.0)
    sign_K = np.array([1.0 if one.capability in wish.higher_is_better else -1.0 for one in fitted])
    factor_K = sign_K * importance_K / importance_K.sum() / spread_K
    used = [(float(factor), one.predict) for factor, one in zip(factor_K, fitted, strict=True) if factor]
    at_prior = sum(factor * predict(prior_C[None])[0] for factor, predict in used)

    def gain(asked_NC: FloatArray) -> FloatArray:
        return np.asarray(sum(factor * predict(asked_NC) for factor, predict in used) - at_prior)

    return gain


def _search(
    cost: Callable[[FloatArray], FloatArray], *, centre_C: FloatArray, bounds: Bounds, radius: float, seed: int
) -> FloatArray:
    """Return weights of least cost found: the mean of the best draws, round by round nearer, then down the slope."""

    def allowed(weights_NC: FloatArray) -> FloatArray:
        return pull_into_ball(project(weights_NC, bounds), centre_C, radius)

    rng = np.random.default_rng(seed)
    best_C = centre_C
    for concentration in np.geomspace(len(centre_C), 2000.0 * len(centre_C), _ROUNDS):
        around_N = concentration * np.exp(rng.uniform(-1.5, 1.5, _DRAWS))
        drawn_NC = allowed(np.vstack([draw_around(best_C, around_N, rng), centre_C[None], best_C[None]]))
        order_N = np.argsort(cost(drawn_NC), kind="stable")
        mean_C = allowed(drawn_NC[order_N[:_BEST]].mean(axis=0, keepdims=True))[0]
        pair_2C = np.stack([mean_C, drawn_NC[order_N[0]]])
        best_C = pair_2C[int(np.argmin(cost(pair_2C)))]
    return _descend(cost, best_C, allowed)


def _descend(
    cost: Callable[[FloatArray], FloatArray], weights_C: FloatArray, allowed: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the weights after multiplicative steps against the slope, as long as one makes the cost less."""
    size = 1.0
    corners_CC = np.eye(len(weights_C))
    for _ in range(_STEPS):
        nudged_NC = np.vstack([weights_C, (1 - _NUDGE) * weights_C + _NUDGE * corners_CC])
        costs_N = cost(nudged_NC)
        slope_C = (costs_N[1:] - costs_N[0]) / _NUDGE
        sizes_T = size * np.array([4.0, 2.0, 1.0, 0.5, 0.25])[:, None]
        tried_TC = allowed(weights_C * np.exp(np.clip(-sizes_T * (slope_C - slope_C.min()), -50, 0)))
        tried_T = cost(tried_TC)
        best = int(np.argmin(tried_T))
        if tried_T[best] < costs_N[0]:
            size, weights_C = float(sizes_T[best, 0]), tried_TC[best]
        elif size < 1e-6:
            break
        else:
            size /= 16
    return weights_C


def _change(fitted: Fitted, wish: Wish, prior_C: FloatArray, weights_C: FloatArray) -> Change:
    at_prior, at_proposal = (float(number) for number in fitted.predict(np.stack([prior_C, weights_C])))
    is_up = fitted.capability in wish.higher_is_better
    return Change(
        capability=fitted.capability,
        surrogate=fitted.left_out.surrogate,
        at_prior=at_prior,
        at_proposal=at_proposal,
        gain=at_proposal - at_prior if is_up else at_prior - at_proposal,
        error=fitted.left_out.error,
    )
