"""Weights proposed from proxies: where the best is known, it is found; bounds, caps and the prior hold it back."""

from typing import Any

import numpy as np
import pytest

from corpusmill.mix.optimise import Proposal, Wish, propose
from corpusmill.mix.proxies import Proxies
from corpusmill.mix.proxy_design import ProxyDesign, proxy_weights
from corpusmill.mix.simplex import divergence

PRIOR = {"web": 0.5, "code": 0.3, "stem": 0.2}
PRIOR_C = np.array(list(PRIOR.values()))
WEIGHTS = proxy_weights(ProxyDesign(prior=PRIOR, num_mixtures=80, radius=1.2, seed=5))
SLOPES = np.array([[0.4, -0.2, -0.9], [-0.3, 0.1, 0.8]])


def proxies(*laws: Any) -> Proxies:
    return Proxies(
        components=tuple(PRIOR),
        capabilities=("reading", "maths")[: len(laws)],
        weights_NC=WEIGHTS,
        scores_NK=np.column_stack([law(WEIGHTS) for law in laws]),
    )


def reading(weights):
    return 2 + weights @ SLOPES[0]


def maths(weights):
    return 2 + weights @ SLOPES[1]


def wish(**more: Any) -> Wish:
    return Wish(**{"prior": PRIOR, "surrogates": ("linear",), "pull": 1.0, **more})


def weights_of(proposal: Proposal) -> list[float]:
    assert proposal.weights_C.sum() == pytest.approx(1)
    return [float(weight) for weight in proposal.weights_C]


@pytest.mark.parametrize("pull", [3.0, 6.0, 50.0])
def test_a_plane_with_a_pull_has_its_closed_form(pull):
    """prior * exp(gain / pull), scaled, minimises a linear cost plus pull * KL."""
    made = proxies(reading)
    wanted = PRIOR_C * np.exp(-SLOPES[0] / made.scores_NK.std() / pull)
    assert weights_of(propose(made, wish(pull=pull))) == pytest.approx(wanted / wanted.sum(), abs=1e-4)


def test_a_curve_has_the_best_of_a_fine_grid():
    def law(weights):
        return 1.5 + np.exp(weights @ np.array([-1.0, -9.0, -3.0])) + 0.0

    made = proxies(law)
    proposal = propose(made, wish(surrogates=("log_linear",), pull=0.2))
    step = np.arange(0.005, 1, 0.005)
    grid = np.array([(web, code, 1 - web - code) for web in step for code in step if web + code < 0.999])
    grid = grid[((grid >= proposal.bounds.lower_C) & (grid <= proposal.bounds.upper_C)).all(axis=1)]

    def cost(weights):
        return law(weights) / made.scores_NK.std() + 0.2 * divergence(weights, PRIOR_C)

    assert cost(proposal.weights_C[None])[0] <= cost(grid).min() + 1e-4


def test_gains_and_losses_are_both_shown_and_importance_decides_between_them():
    made = proxies(reading, maths)
    proposal = propose(made, wish(importance={"maths": 0.2}))
    gained, lost = proposal.changes
    assert (gained.verdict, lost.verdict) == ("gain", "loss")
    assert gained.gain == pytest.approx(float((PRIOR_C - proposal.weights_C) @ SLOPES[0]), abs=1e-4)
    assert lost.gain < 0 < gained.gain and proposal.mean_gain > 0
    only_maths = propose(made, wish(importance={"reading": 0}))
    assert only_maths.changes[1].gain > 0 > only_maths.changes[0].gain


def test_scores_of_which_more_is_better_turn_it_round():
    made = proxies(reading)
    as_loss, as_accuracy = propose(made, wish()), propose(made, wish(higher_is_better=("reading",)))
    assert as_loss.weights_C[2] > PRIOR["stem"] > as_accuracy.weights_C[2]
    assert as_loss.changes[0].gain > 0 and as_accuracy.changes[0].gain > 0


def test_nothing_leaves_what_the_proxies_have_seen():
    proposal = propose(proxies(reading), wish(pull=0))
    assert (proposal.weights_C >= WEIGHTS.min(axis=0) - 1e-9).all()
    assert (proposal.weights_C <= WEIGHTS.max(axis=0) + 1e-9).all()
    farthest = np.abs(WEIGHTS - PRIOR_C).sum(axis=1).max()
    assert np.abs(proposal.weights_C - PRIOR_C).sum() <= farthest + 1e-9


def test_bounds_and_epoch_caps_hold():
    made = proxies(reading)
    free = weights_of(propose(made, wish()))
    assert free[2] > 0.4 and free[0] < 0.45
    held = weights_of(propose(made, wish(max_weights={"stem": 0.3}, min_weights={"web": 0.45})))
    assert held[2] <= 0.3 + 1e-9 and held[0] >= 0.45 - 1e-9
    tokens = {"web": 1000, "code": 1000, "stem": 100}
    capped = propose(made, wish(max_epochs={"stem": 2}), tokens=tokens, budget_tokens=1000)
    assert capped.weights_C[2] == pytest.approx(0.2) == capped.bounds.upper_C[2]
    with pytest.raises(
        ValueError, match="hold 2,000 tokens, 500 short of the budget of 2,500; raise max_epochs or ask for"
    ):
        propose(
            made,
            wish(max_epochs={"web": 1, "code": 0.8, "stem": 2}),
            tokens=tokens,
            budget_tokens=2500,
        )


def test_the_same_seed_gives_the_same_weights_and_trees_are_searched_too():
    made = proxies(lambda weights: np.where(weights[:, 2] > 0.3, 1.0, 2.0))
    first, again = (propose(made, wish(surrogates=("linear", "lightgbm"), pull=0.1)) for _ in range(2))
    assert first.weights_C.tobytes() == again.weights_C.tobytes()
    assert first.changes[0].surrogate == "lightgbm"
    assert first.weights_C[2] > 0.27 and first.mean_gain > 1


def test_a_wish_travels_as_json():
    asked = wish(higher_is_better=("reading",), max_epochs={"web": 4})
    assert Wish.from_json(asked.to_json()) == asked


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prior": {"web": 1, "books": 1}}, "the prior has web, books, the proxies were trained on web, code, stem"),
        ({"importance": {"chess": 1}}, "no proxy has a score in chess; there are reading"),
        ({"importance": {"reading": 0}}, "importances must not be negative nor all 0"),
        ({"pull": -1}, "pull must not be negative, got -1"),
        ({"max_epochs": {"books": 1}}, "max_epochs names books, not among web, code, stem"),
        ({"max_weights": {"web": 0.2, "code": 0.2, "stem": 0.2}}, r"upper bounds sum to 0\.6, less than 1"),
    ],
)
def test_a_wrong_wish_is_told(wrong, told):
    with pytest.raises(ValueError, match=told):
        propose(proxies(reading), wish(**wrong))
