"""Which mixtures proxies are trained on: inside the ball, enough, the same for the same seed."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.mix.proxy_design import ProxyDesign, proxy_weights

PRIOR: Mapping[str, float] = {"web": 6, "code": 3, "stem": 1}


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 2), st.integers(0, 99), st.floats(0.1, 1))
def test_mixtures_lie_in_the_ball_below_the_caps_and_sum_to_1(radius, seed, most):
    design = ProxyDesign(prior=PRIOR, radius=radius, seed=seed, max_weights={"stem": most})
    weights = proxy_weights(design)
    assert weights.shape == (15, 3)
    assert weights[0] == pytest.approx([0.6, 0.3, 0.1])
    assert weights.sum(axis=1) == pytest.approx(np.ones(15))
    assert weights.min() >= 0 and weights[:, 2].max() <= most + 1e-12
    assert np.abs(weights - weights[0]).sum(axis=1).max() <= radius + 1e-9


def test_the_seed_decides_and_mixtures_are_near_and_far():
    first, again, other = (proxy_weights(ProxyDesign(prior=PRIOR, num_mixtures=200, seed=seed)) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() != other.tobytes()
    away = np.sort(np.abs(first - first[0]).sum(axis=1))
    assert away[40] < 0.3 and away[160] > 0.5
    assert len(np.unique(first, axis=0)) == 200


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"num_mixtures": 14}, "num_mixtures must be at least 5 for each of 3 components, 15, got 14"),
        ({"radius": 0}, "radius must be above 0 and at most 2, got 0"),
        ({"prior": {"web": 1}}, "a prior needs two components or more"),
        ({"prior": {"web": 1, "code": 0}}, r"each with a weight above 0 .*got {'code': 0}"),
        ({"max_weights": {"books": 0.5}}, "max_weights names books, not among web, code, stem"),
        ({"max_weights": {"web": 0.5}}, "max_weights of web are below the prior"),
    ],
)
def test_a_wrong_design_is_told(wrong, told):
    with pytest.raises(ValueError, match=told):
        ProxyDesign(**{"prior": PRIOR, **wrong})
