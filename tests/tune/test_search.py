"""Successive halving: who is tried how often, and what a failure costs."""

import pytest

from corpusmill.tune.search import Tier, combinations, fastest, search
from corpusmill.tune.trial import CRASH, WRONG_ANSWERS, Trial, agreement, beginning

SPEEDS = {"base": 100, "slow": 50, "fast": 130, "faster": 150, "broken": 0}
SAME = (beginning("The harbour was built in 1870."),) * 4


def trial(candidate: str, tier: int, repeat: int, **changes) -> Trial:
    plain = {"requests": 4, "answered": 4, "output_tokens": SPEEDS[candidate], "seconds": 1.0, "beginnings": SAME}
    if candidate == "broken":
        plain = {"requests": 4, "failure": CRASH}
    return Trial(candidate=candidate, tier=tier, repeat=repeat, **plain | changes)


def test_each_tier_keeps_the_fastest_and_the_baseline():
    tiers = [Tier(requests=4, keep=2), Tier(requests=8, repeats=2)]
    names = ["slow", "fast", "broken", "faster"]
    found = search(names, baseline="base", tiers=tiers, measure=trial)
    assert [(one.tier, one.repeat, one.candidate) for one in found] == [
        (0, 0, "base"),
        (0, 0, "slow"),
        (0, 0, "fast"),
        (0, 0, "broken"),
        (0, 0, "faster"),
        (1, 0, "base"),
        (1, 0, "faster"),
        (1, 0, "fast"),
        (1, 1, "fast"),
        (1, 1, "faster"),
        (1, 1, "base"),
    ]
    assert fastest([one for one in found if one.tier == 1]) == ["faster", "fast", "base"]


def test_what_failed_once_is_not_asked_again_and_never_wins():
    def measure(candidate, tier, repeat):
        return trial(candidate, tier, repeat, **({"failure": CRASH} if candidate == "faster" and repeat else {}))

    found = search(["fast", "faster"], baseline="base", tiers=[Tier(requests=4, repeats=3)], measure=measure)
    assert [one.repeat for one in found if one.candidate == "faster"] == [0, 1]
    assert fastest(found) == ["fast", "base"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answered": 3}, "it answered 3 prompts, the baseline 4"),
        ({"beginnings": (*SAME[:1], "x", "y", "z")}, "25% of its answers begin as the baseline's do"),
        ({"beginnings": (*SAME[:2], "x", "y")}, ""),
    ],
)
def test_other_answers_than_the_baselines_are_a_failure(changes, message):
    def measure(candidate, tier, repeat):
        return trial(candidate, tier, repeat, **(changes if candidate == "fast" else {}))

    (_, other) = search(["fast"], baseline="base", tiers=[Tier(requests=4)], measure=measure)
    assert other.failure == (WRONG_ANSWERS if message else None) and message in other.message
    assert other.tokens_per_second == (0 if message else 130)


def test_answers_by_chance_are_not_compared():
    assert agreement(["", "a"], ["", ""]) is None
    assert agreement(["b", "a"], ["", "a"]) == 1.0
    assert beginning(" The harbour of Tallow was built late.") == beginning("The harbour of Tallow was built early.")


def test_candidates_must_differ():
    with pytest.raises(ValueError, match="candidates must differ, got fast, fast"):
        search(["fast", "fast"], baseline="base", tiers=[Tier(requests=4)], measure=trial)


def test_a_grid_is_every_choice_of_one_part_an_axis():
    axes = [[{}, {"max_num_seqs": 8}], [{}, {"speculative": "ngram", "speculative_tokens": 4}]]
    assert combinations(axes) == [
        {},
        {"speculative": "ngram", "speculative_tokens": 4},
        {"max_num_seqs": 8},
        {"max_num_seqs": 8, "speculative": "ngram", "speculative_tokens": 4},
    ]
