"""Tiers: edges by hand, ties, missing scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.quality_tiers import fit_edges, is_spared, max_of, tier_of

NAN = float("nan")


def test_edges_cut_equal_shares():
    assert fit_edges(np.array([0.4, 0.1, NAN, 0.3, 0.2]), num_tiers=2).tolist() == [0.3]
    scores = np.arange(100) / 100
    assert np.bincount(tier_of(scores, fit_edges(scores)).to_numpy()).tolist() == [5] * 20


def test_tiers_begin_at_their_edge_and_missing_scores_have_none():
    assert tier_of(np.array([0.1, 0.3, 0.29, NAN, 5.0]), [0.3, 0.6]).to_pylist() == [0, 1, 0, None, 2]


def test_equal_scores_share_a_tier():
    scores = np.array([0.5] * 60 + [0.1] * 20 + [0.9] * 20)
    tiers = tier_of(scores, fit_edges(scores, num_tiers=10))
    assert [len(set(part.to_pylist())) for part in (tiers[:60], tiers[60:80], tiers[80:])] == [1, 1, 1]
    assert tiers[60].as_py() < tiers[0].as_py() < tiers[80].as_py()


@given(st.lists(st.floats(0, 1), min_size=20, max_size=200))
def test_a_higher_score_never_has_a_lower_tier(values):
    scores = np.sort(np.array(values))
    tiers = tier_of(scores, fit_edges(scores)).to_numpy()
    assert (np.diff(tiers) >= 0).all() and tiers.min() >= 0 and tiers.max() <= 19


def test_the_highest_of_several_classifiers():
    assert max_of([np.array([0.1, 0.9, NAN]), np.array([0.5, NAN, NAN])]).tolist()[:2] == [0.5, 0.9]
    assert np.isnan(max_of([np.array([NAN]), np.array([NAN])])).all()


def test_rules_spare_the_best_tiers():
    tiers = np.array([0, 17, 18, 19, NAN])
    assert is_spared(tiers, from_tier=18).tolist() == [False, False, True, True, False]
    assert is_spared(tiers, from_tier=None).tolist() == [False] * 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_edges(np.arange(10.0)), "20 tiers need .* got 10 scores"),
        (lambda: fit_edges(np.arange(10.0), num_tiers=1), "at least two tiers"),
        (lambda: max_of([]), "at least one classifier"),
    ],
)
def test_what_cannot_be_done_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()
