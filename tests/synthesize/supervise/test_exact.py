"""Exact tests of shares: known tails, and no more false alarms than they promise."""

import math

import numpy as np
import pytest

from corpusmill.synthesize.supervise.exact import binomial_tail, design_effect, rise, wilson_interval


def test_two_of_two_beside_none_of_two_is_one_choice_of_six():
    assert rise(recent=(2, 2), reference=(0, 2)) == pytest.approx(1 / 6)


def test_a_rise_that_is_none_is_certain():
    assert rise(recent=(0, 10), reference=(5, 10)) == 1.0
    assert rise(recent=(0, 0), reference=(5, 10)) == 1.0


def test_all_hits_everywhere_say_nothing():
    assert rise(recent=(10, 10), reference=(10, 10)) == pytest.approx(1.0)


def test_a_design_effect_of_two_halves_the_evidence():
    assert rise(recent=(4, 4), reference=(0, 4), effect=2.0) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("hits", "outputs", "share", "expected"),
    [(3, 3, 0.5, 1 / 8), (2, 3, 0.5, 0.5), (0, 3, 0.5, 1.0), (1, 3, 0.0, 0.0), (3, 3, 1.0, 1.0)],
)
def test_the_tail_of_the_binomial_distribution(hits, outputs, share, expected):
    assert binomial_tail(hits, outputs=outputs, share=share) == pytest.approx(expected)


def test_the_tail_stays_exact_far_out():
    assert binomial_tail(1000, outputs=1000, share=0.5) == pytest.approx(2.0**-1000, rel=1e-6)


def test_alike_draws_are_rarely_called_a_rise():
    chance = np.random.default_rng(0)
    recent, reference = chance.binomial(32, 0.3, 4_000), chance.binomial(320, 0.3, 4_000)
    found = [rise(recent=(x, 32), reference=(y, 320)) for x, y in zip(recent, reference, strict=True)]
    for level in (0.1, 0.01, 0.001):
        noise = 4 * math.sqrt(level / len(found))
        assert np.mean(np.array(found) <= level) <= level + noise


def test_chunks_that_scatter_by_chance_have_no_design_effect_in_the_long_run():
    chance = np.random.default_rng(0)
    assert design_effect([(hits, 32) for hits in chance.binomial(32, 0.3, 500)]) < 1.15


def test_few_chunks_are_taken_to_scatter_more_than_chance():
    assert design_effect([]) == 1.5
    assert design_effect([(3, 10), (3, 10)]) == pytest.approx(6 / 5)


def test_chunks_that_scatter_wildly_have_a_large_design_effect():
    assert design_effect([(0, 32), (32, 32)] * 20) > 20


def test_wilsons_interval_holds_the_share_and_stays_between_0_and_1():
    low, high = wilson_interval(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson_interval(0, 10)[0] == 0.0
    assert wilson_interval(0, 0) == (0.0, 1.0)
