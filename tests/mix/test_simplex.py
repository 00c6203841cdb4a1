"""Weights that sum to 1: written-out projections, and what holds for all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.mix.simplex import Bounds, divergence, draw_around, project, pull_into_ball


def bounds(lower, upper) -> Bounds:
    return Bounds(lower_C=np.array(lower, float), upper_C=np.array(upper, float))


@pytest.mark.parametrize(
    ("weights", "lower", "upper", "nearest"),
    [
        ([0.6, 0.3, 0.1], [0, 0, 0], [0.5, 1, 1], [0.5, 0.375, 0.125]),
        ([0.6, 0.3, 0.1], [0, 0, 0.2], [1, 1, 1], [8 / 15, 4 / 15, 0.2]),
        ([6, 3, 1], [0, 0, 0], [1, 1, 1], [0.6, 0.3, 0.1]),
        ([1, 0, 0], [0, 0, 0], [0.4, 1, 1], [0.4, 0.3, 0.3]),
        ([0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [1, 1, 1], [0.1, 0.1, 0.8]),
    ],
    ids=["too much", "too little", "only scaled", "nothing elsewhere", "one way only"],
)
def test_nearest_weights_within_bounds(weights, lower, upper, nearest):
    assert project(np.array([weights], float), bounds(lower, upper))[0] == pytest.approx(nearest, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.floats(0.3, 1)), min_size=4, max_size=4))
def test_projected_weights_sum_to_1_lie_within_bounds_and_stay(rows):
    weights, lower, upper = (np.array(part) for part in zip(*rows, strict=True))
    within = project(weights[None], bounds(lower, upper))
    assert within.sum() == pytest.approx(1)
    assert (within >= lower).all() and (within <= upper).all()
    assert project(within, bounds(lower, upper)) == pytest.approx(within, abs=1e-9)


def test_bounds_that_nothing_meets_say_by_how_much():
    names = ("web", "code")
    with pytest.raises(ValueError, match=r"upper bounds sum to 0\.8, less than 1: raise some by 0\.2 together"):
        bounds([0, 0], [0.5, 0.3]).check(names)
    with pytest.raises(ValueError, match=r"lower bounds sum to 1\.1, more than 1: lower some by 0\.1 together"):
        bounds([0.5, 0.6], [1, 1]).check(names)
    with pytest.raises(ValueError, match=r"code: wanted bounds with 0 <= lower <= upper, got 0\.6 and 0\.5"):
        bounds([0, 0.6], [1, 0.5]).check(names)


def test_a_ball_holds_what_is_far_and_leaves_what_is_near():
    centre = np.array([0.5, 0.5])
    pulled = pull_into_ball(np.array([[1.0, 0.0], [0.6, 0.4]]), centre, 0.4)
    assert pulled == pytest.approx(np.array([[0.7, 0.3], [0.6, 0.4]]))


def test_draws_come_nearer_with_concentration_and_keep_the_mean():
    centre = np.array([0.7, 0.2, 0.1])
    wide, narrow = (draw_around(centre, np.full(4000, size), np.random.default_rng(1)) for size in (3.0, 300.0))
    assert wide.sum(axis=1) == pytest.approx(np.ones(4000))
    assert wide.mean(axis=0) == pytest.approx(centre, abs=0.03)
    assert narrow.std(axis=0).max() < 0.05 < wide.std(axis=0).min()


def test_divergence_of_the_prior_is_nothing_and_of_one_component_its_logarithm():
    prior = np.array([0.5, 0.25, 0.25])
    assert divergence(np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]), prior) == pytest.approx([0, np.log(4)])
