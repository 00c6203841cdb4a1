"""What repeats prove: the winner, its gain with an interval, and how stable the ranking is."""

import pytest

from corpusmill.tune.ranking import kendall_tau, mean_tau, paired_gain, verdict
from corpusmill.tune.trial import CRASH, Trial


def trials(speeds: dict[str, list[float]], *, tier: int = 0) -> list[Trial]:
    return [
        Trial(candidate=name, tier=tier, repeat=repeat, requests=1, answered=1, output_tokens=round(speed), seconds=1.0)
        for name, row in speeds.items()
        for repeat, speed in enumerate(row)
    ]


@pytest.mark.parametrize(
    ("one", "other", "tau"),
    [("abcd", "abcd", 1.0), ("abcd", "dcba", -1.0), ("abcd", "abdc", 4 / 6), ("abc", "bca", -1 / 3)],
)
def test_kendalls_tau(one, other, tau):
    assert kendall_tau(one, other) == pytest.approx(tau)


def test_tau_is_the_mean_over_pairs_of_repeats():
    assert mean_tau(["ab", "ab", "ba"]) == pytest.approx((1 - 1 - 1) / 3)
    assert mean_tau(["ab"]) is None and mean_tau(["a", "a"]) is None


def test_a_machine_that_slows_down_does_not_hide_a_gain():
    found = verdict(trials({"base": [100, 50, 200], "fast": [120, 60, 240]}), baseline="base")
    assert (found.winner, found.winners, found.tau) == ("fast", ("fast", "fast", "fast"), 1.0)
    assert found.gain is not None and (found.gain.low, found.gain.high) == (pytest.approx(1.2), pytest.approx(1.2))
    assert found.is_proven


def test_a_gain_that_may_be_luck_is_not_proven():
    found = verdict(trials({"base": [100, 100, 100], "fast": [130, 95, 110]}), baseline="base")
    assert found.winner == "fast" and found.gain is not None
    assert found.gain.low == pytest.approx(0.95) and found.gain.high == pytest.approx(1.3)
    assert not found.is_proven


def test_defaults_that_win_are_not_better_than_themselves():
    found = verdict(trials({"base": [100, 100], "slow": [90, 90]}), baseline="base")
    assert found.winner == "base" and not found.is_proven


def test_only_the_last_tier_decides():
    first, last = trials({"base": [1], "other": [9]}), trials({"base": [2, 2], "fast": [3, 3]}, tier=1)
    assert verdict([*first, *last], baseline="base").winner == "fast"


def test_a_winner_without_a_baseline_has_no_gain_and_stands():
    broken = Trial(candidate="base", tier=0, repeat=0, requests=1, failure=CRASH)
    found = verdict([broken, *trials({"fast": [5]})], baseline="base")
    assert (found.winner, found.gain, found.is_proven) == ("fast", None, True)


def test_nothing_that_answers_is_no_winner():
    found = verdict([Trial(candidate="base", tier=0, repeat=0, requests=1, failure=CRASH)], baseline="base")
    assert found.winner is None and not found.is_proven


def test_the_interval_is_the_same_every_time():
    pairs = [(11.0, 10.0), (12.0, 10.0), (13.0, 10.0), (10.5, 10.0)]
    assert paired_gain(pairs) == paired_gain(pairs)
    assert paired_gain(pairs).low < paired_gain(pairs).ratio < paired_gain(pairs).high
