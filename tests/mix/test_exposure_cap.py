"""A cap on how often a source is met: kept by every plan, or an error whose numbers work."""

import re
from dataclasses import replace

import pytest

from corpusmill.mix.exposure import Families, times_met
from corpusmill.mix.past import Past
from corpusmill.mix.solve import plan
from tests.mix.held import WEB_CODE, component, mixture

SEEDS = Families(members=(1, 3), num_families=40, example="a-seed")
"""Documents of web of which code, say, holds three rewrites each."""
ALONE = Families(members=(1, 0), num_families=60, example="alone")


def capped(cap: float | None, **settings):
    """Of 1,000 tokens each web is read 2.5 times and code 1.5 times."""
    members = (component("web", 0.625, max_epochs=3), component("code", 0.375, max_epochs=2))
    return mixture(*members, **{"budget_tokens": 4000, "max_exposure": cap, **settings})


def test_a_part_of_an_epoch_counts_as_one_reading():
    made = plan(capped(None), WEB_CODE)
    assert [one.epochs for one in made.components] == [2.5, 1.5]
    assert times_met(made, ALONE) == 3
    assert times_met(made, SEEDS) == 3 * 1 + 2 * 3


def test_a_plan_that_keeps_to_the_cap_is_the_same_plan():
    made = plan(capped(9), WEB_CODE, find_families=lambda made: [SEEDS, ALONE])
    assert made == plan(capped(None), WEB_CODE)


def test_what_is_met_too_often_is_named_with_numbers_that_work():
    with pytest.raises(ValueError) as caught:
        plan(capped(5), WEB_CODE, find_families=lambda made: [ALONE, SEEDS])
    assert str(caught.value) == (
        "mixture 'demo' may meet sources (40 of them) more often than its max_exposure of 5: a-seed and 39 alike 9 times, "
        "4 too often (1 of 'web' read 3 times, 3 of 'code' read 2 times). To make it work, set max_exposure to at least 9, or "
        "budget_tokens to at most 2672."
    )
    shorter = plan(capped(5, budget_tokens=2672), WEB_CODE, find_families=lambda made: [ALONE, SEEDS])
    assert times_met(shorter, SEEDS) == 5
    with pytest.raises(ValueError, match=r"may meet sources \(40 of them\) more often"):
        plan(capped(5, budget_tokens=2700), WEB_CODE, find_families=lambda made: [ALONE, SEEDS])


def test_without_a_budget_the_cap_ends_the_stream():
    made = plan(capped(5, budget_tokens=None), WEB_CODE, find_families=lambda made: [ALONE, SEEDS])
    assert made == plan(capped(None, budget_tokens=2672), WEB_CODE)


def test_where_no_shorter_stream_would_do_it_says_whom_to_read_less():
    """Four documents of a family are met in the first epoch already."""
    with pytest.raises(
        ValueError, match=re.escape("at least 9, or give fewer tokens to ['web', 'code'], or leave some out.")
    ):
        plan(capped(3), WEB_CODE, find_families=lambda made: [SEEDS])


def test_what_was_read_before_weights_changed_counts():
    """Web was read once; 1,000 tokens more of it are its second reading."""
    first = plan(mixture(component("web", 1), budget_tokens=1000), WEB_CODE)
    past = Past(plan=first, position=first.num_positions)
    later = mixture(component("web", 1, max_epochs=3), budget_tokens=2000, max_exposure=2)
    with pytest.raises(ValueError, match=r"alone 3 times, 1 too often .* or budget_tokens to at most 1005"):
        plan(later, WEB_CODE, past=past, find_families=lambda made: [replace(ALONE, members=(1,), num_families=1)])


@pytest.mark.parametrize("cap", [0, 0.5, True, "5"])
def test_a_cap_is_a_number_of_at_least_1(cap):
    with pytest.raises(ValueError, match="max_exposure must be a number of at least 1"):
        capped(cap)


def test_a_cap_that_nobody_could_check_is_refused():
    with pytest.raises(ValueError, match="'demo' has a max_exposure: find_families must say which documents are kin"):
        plan(capped(5), WEB_CODE)
