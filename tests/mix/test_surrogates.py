"""What surrogates find again of a law that made the scores, and what is left out of the fits."""

import numpy as np
import pytest

from corpusmill.mix.leave_out import fit_best, leave_out, spearman
from corpusmill.mix.proxies import Proxies
from corpusmill.mix.proxy_design import ProxyDesign, proxy_weights
from corpusmill.mix.surrogates import fit_lightgbm, fit_linear, fit_log_linear

COMPONENTS = ("web", "code", "stem", "books")
SEEN, UNSEEN = (
    proxy_weights(ProxyDesign(prior=dict.fromkeys(COMPONENTS, 1.0), num_mixtures=60, radius=1.4, seed=seed))
    for seed in (1, 2)
)


def plane(weights):
    return 3 + weights @ np.array([1.0, -2.0, 0.5, 0.0])


def falling(weights):
    return 1.5 + np.exp(weights @ np.array([-6.0, 0.5, -1.0, 0.2]))


def rising(weights):
    return 0.8 - 0.5 * np.exp(weights @ np.array([0.1, -5.0, -1.0, 0.0]))


@pytest.mark.parametrize(("law", "missed"), [(falling, 2e-3), (rising, 2e-3), (plane, 0.02)])
def test_the_log_linear_law_is_found_again_and_bends_little_for_a_plane(law, missed):
    assert fit_log_linear(SEEN, law(SEEN))(UNSEEN) == pytest.approx(law(UNSEEN), abs=missed)


def test_a_plane_is_found_again_and_a_component_that_no_run_had_is_taken_for_the_mean():
    assert fit_linear(SEEN, plane(SEEN))(UNSEEN) == pytest.approx(plane(UNSEEN), abs=1e-4)
    without = np.column_stack([SEEN, np.zeros(60)])
    at_it = fit_linear(without, plane(SEEN))(np.eye(5)[4:])
    assert at_it == pytest.approx(plane(SEEN).mean())


@pytest.mark.parametrize("fit", [fit_linear, fit_log_linear, fit_lightgbm])
def test_a_score_that_never_changes_is_predicted_everywhere(fit):
    assert fit(SEEN, np.full(60, 2.5))(UNSEEN) == pytest.approx(np.full(60, 2.5))


def test_trees_see_a_threshold_that_planes_do_not_and_give_the_same_twice():
    def step(weights):
        return np.where(weights[:, 0] > 0.25, 1.0, 2.0)

    first, again = (fit_lightgbm(SEEN, step(SEEN))(UNSEEN) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    missed = {
        "trees": np.abs(first - step(UNSEEN)).mean(),
        "plane": np.abs(fit_linear(SEEN, step(SEEN))(UNSEEN) - step(UNSEEN)).mean(),
    }
    assert missed["trees"] < missed["plane"] / 2


def test_the_surrogate_that_misses_least_predicts_a_capability():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=60)
    proxies = Proxies(
        components=COMPONENTS,
        capabilities=("exp", "noise"),
        weights_NC=SEEN,
        scores_NK=np.column_stack([falling(SEEN) + 0.001 * noise, noise]),
    )
    left_out = leave_out(proxies, surrogates=("linear", "log_linear"), seed=4)
    assert left_out == leave_out(proxies, surrogates=("linear", "log_linear"), seed=4)
    by_name = {(one.capability, one.surrogate): one for one in left_out}
    assert by_name["exp", "log_linear"].spearman > 0.99 and by_name["exp", "log_linear"].error < 0.005
    assert by_name["exp", "linear"].error_share > 0.2
    assert by_name["noise", "linear"].error_share > 0.9, (
        "noise cannot be predicted, and an error of seen runs would hide it"
    )
    assert fit_best(proxies, left_out)[0].left_out.surrogate == "log_linear"
    with pytest.raises(ValueError, match="surrogates are linear, log_linear, lightgbm, got forest"):
        leave_out(proxies, surrogates=("forest",))
    with pytest.raises(ValueError, match="folds must be 2 to the number of runs, 60, got 61"):
        leave_out(proxies, folds=61)


@pytest.mark.parametrize(
    ("one", "other", "correlation"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 400], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 2, 3], [1, 2, 3, 4], 0.9486833),
        ([1, 1, 1], [1, 2, 3], 0.0),
    ],
    ids=["order only", "turned round", "a tie shares its ranks", "constant"],
)
def test_rank_correlation(one, other, correlation):
    assert spearman(np.array(one, float), np.array(other, float)) == pytest.approx(correlation)
