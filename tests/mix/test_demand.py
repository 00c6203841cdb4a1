"""Groups, temperatures, fixed tokens, minimums and bounds: exact tokens, or an error that says what would work."""

import re
from dataclasses import replace

import pytest

from corpusmill.mix.inventory import Inventory
from corpusmill.mix.mixture import Component, Group, Mixture, Phase
from corpusmill.mix.solve import plan
from tests.mix.held import WEB_CODE, component, mixture, pin

HELD = Inventory(
    pins=[
        pin(name, sequences=sequences, tokens=10 * sequences)
        for name, sequences in {"news": 400, "blogs": 400, "code": 400, "de": 160, "fr": 40, "sw": 10}.items()
    ]
)


def shares(wanted: Mixture, inventory: Inventory = HELD) -> dict[str, float]:
    made = plan(wanted, inventory)
    return {one.name: one.planned_tokens / made.planned_tokens for one in made.components}


def test_groups_are_nested():
    wanted = mixture(
        component("news", 3, group="web"),
        component("blogs", 1, group="web"),
        component("code", 0.25, group="rest"),
        component("de", 0.75, group="rest"),
        groups=(
            Group(name="all", weight=1),
            Group(name="web", weight=0.8, group="all"),
            Group(name="rest", weight=0.2, group="all"),
        ),
        budget_tokens=1000,
    )
    assert shares(wanted) == {"news": 0.6, "blogs": 0.2, "code": 0.05, "de": 0.15}
    assert plan(wanted, HELD).components[0].group == "all/web"
    assert Mixture.from_json(wanted.to_json()) == wanted


@pytest.mark.parametrize(
    ("temperature", "expected"),
    [
        (1.0, {"de": 160 / 210, "fr": 40 / 210, "sw": 10 / 210}),
        (2.0, {"de": 160**0.5 / 22.136, "fr": 40**0.5 / 22.136, "sw": 10**0.5 / 22.136}),
        (1e9, {"de": 1 / 3, "fr": 1 / 3, "sw": 1 / 3}),
    ],
)
def test_a_temperature_levels_languages(temperature, expected):
    languages = [
        Component(name=name, table=f"tokenized/{name}/sequences", group="languages", language=name, max_epochs=9)
        for name in expected
    ]
    wanted = mixture(
        *languages, groups=(Group(name="languages", weight=1, temperature=temperature),), budget_tokens=900
    )
    assert shares(wanted) == pytest.approx(expected, abs=0.002)


def test_fixed_tokens_come_off_first_and_are_exact_over_phases():
    wanted = mixture(
        component("news", 3),
        component("blogs", 1),
        Component(name="code", table="tokenized/code/sequences", tokens=333),
        phases=(Phase(name="main", weight=2), Phase(name="anneal", weight=1, weights={"news": 1})),
        budget_tokens=1001,
    )
    made = plan(wanted, HELD)
    assert [sum(phase.planned_tokens) for phase in made.phases] == [667, 334]
    assert made.components[2].planned_tokens == 333 and made.planned_tokens == 1001


def test_a_mixture_of_fixed_tokens_alone_is_their_sum():
    wanted = mixture(
        *(Component(name=name, table=f"tokenized/{name}/sequences", tokens=100) for name in ("news", "de"))
    )
    assert plan(wanted, HELD).planned_tokens == 200
    with pytest.raises(ValueError, match="budget_tokens is 300, but its parts sum to 200; leave budget_tokens out"):
        plan(replace(wanted, budget_tokens=300), HELD)


def test_patterns_choose_partitions():
    held = Inventory(
        pins=[pin("web", sequences=2, tokens=20, partition=name) for name in ("2023-50", "2024-10", "2024-18")]
    )
    made = plan(mixture(component("web", 1, partitions=("2024-*",))), held)
    assert [one.partition for one in made.components[0].pins] == ["2024-10", "2024-18"]
    with pytest.raises(ValueError, match=r"no committed partitions 2025-\*; it has 2023-50, 2024-10, 2024-18"):
        plan(mixture(component("web", 1, partitions=("2025-*",))), held)


def test_a_name_is_taken_as_it_is_before_it_is_taken_for_a_pattern():
    held = Inventory(pins=[pin("web", sequences=2, tokens=20, partition=name) for name in ("v[1]", "v1")])
    made = plan(mixture(component("web", 1, partitions=("v[1]",))), held)
    assert [one.partition for one in made.components[0].pins] == ["v[1]"]


def test_a_partition_without_documents_is_no_obstacle():
    held = Inventory(pins=[pin("web", sequences=2, tokens=20), pin("web", sequences=0, tokens=0, partition="s0")])
    made = plan(mixture(component("web", 1)), held)
    assert [one.partition for one in made.components[0].pins] == ["s0", "s1"] and made.num_positions == 2


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            mixture(component("web", 0.9), component("code", 0.1, min_epochs=0.5), budget_tokens=1000),
            "reads component 'code' too little: it is short by 400 tokens of 0.5 epochs of 1,000 (its share of 0.1 of 1,000 "
            "is 100). To make it work, set its min_epochs to at most 0.1, or raise its share to at least 0.5.",
        ),
        (
            mixture(
                component("web", 0.6),
                component("code", 0.4, is_synthetic=True),
                budget_tokens=1000,
                synthetic_share=(0, 0.3),
            ),
            "['code'] give a synthetic share of 0.4, allowed is 0 to 0.3: 100 tokens too many. To make it work, set "
            "synthetic_share to allow 0.4, or give them at most 300 tokens of 1,000 by their weights.",
        ),
        (
            mixture(component("web", 0.6), component("code", 0.4), budget_tokens=1000, synthetic_share=(0.1, 0.3)),
            "[] give a synthetic share of 0, allowed is 0.1 to 0.3: 100 tokens too few.",
        ),
        (
            mixture(
                component("web", 1),
                Component(name="code", table="tokenized/code/sequences", tokens=1200),
                budget_tokens=1300,
            ),
            "'code' is short by 200 tokens",
        ),
        (
            mixture(component("web", 1), Component(name="code", table="tokenized/code/sequences", tokens=5)),
            "some parts have a fixed number of tokens and some a weight, of which the tokens follow from the whole: set "
            "budget_tokens",
        ),
        (
            mixture(
                component("web", 1),
                Component(name="code", table="tokenized/code/sequences", tokens=500),
                budget_tokens=500,
            ),
            "components ask for 500 tokens of a stream of 500; make the stream longer, or ask for less",
        ),
        (
            mixture(
                component("web", 1),
                component("code", 1, group="g"),
                groups=(Group(name="g", weight=0),),
                phases=(
                    Phase(name="a", weight=1, weights={"g": 1}),
                    Phase(name="b", weight=1, weights={"g": 0, "web": 0}),
                ),
            ),
            "mixture 'demo': weights must not sum to 0, got 0 for each of ['web', 'g'] in phase 'b'",
        ),
    ],
)
def test_what_cannot_be_met_says_what_would_work(wanted, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(wanted, WEB_CODE)


def test_bounds_that_hold_are_no_obstacle():
    wanted = mixture(
        component("web", 0.6),
        component("code", 0.4, is_synthetic=True, min_epochs=0.4),
        budget_tokens=1000,
        synthetic_share=(0.4, 0.4),
    )
    assert plan(wanted, WEB_CODE).planned_tokens == 1000


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mixture(component("web", 1, group="g")), "there is no group 'g'; it has []"),
        (lambda: mixture(component("web", 1), groups=(Group(name="g", weight=1),)), "group 'g' has no member"),
        (
            lambda: mixture(
                component("web", 1), groups=(Group(name="a", weight=1, group="b"), Group(name="b", weight=1, group="a"))
            ),
            "groups ['a', 'b', 'a'] are inside one another",
        ),
        (
            lambda: mixture(component("web", 1, group="web"), groups=(Group(name="web", weight=1),)),
            "groups and components need different names, got ['web', 'web']",
        ),
        (lambda: mixture(Component(name="web", table="t")), "'web' needs a weight"),
        (lambda: Component(name="web", table="t", weight=1, tokens=1), "give it a weight or tokens, not both"),
        (lambda: Component(name="web", table="t", tokens=0), "tokens must be an int of at least 1, got 0"),
        (lambda: mixture(component("web", 1), budget_tokens=6e12), "budget_tokens must be an int of at least 1, got 6"),
        *(
            (
                lambda name=name: mixture(component("web", 1), name=name),
                f"a mixture's name has 1 to 80 of A-Z a-z 0-9 . _ - and begins with a letter or digit, got {name!r:.100}",
            )
            for name in ("demo@2", "", "-demo", "a b", "web/main", "ä", "n" * 81, 3)
        ),
        (lambda: mixture(component("web", 1), seed="a"), "seed must be an int, got 'a'"),
        (lambda: mixture(component("web", 1), groups=("g",)), "groups must be a tuple of Group, got ('g',)"),
        (lambda: mixture(component("web", 1), synthetic_share=0.1), "must be two shares from 0 to 1, got 0.1"),
        (lambda: component("web", 1, min_epochs=2), "min_epochs must be a number from 0 to max_epochs, 1, got 2"),
        (lambda: Group(name="g", temperature=0), "temperature must be a number above 0, got 0"),
        (
            lambda: mixture(component("web", 1), synthetic_share=(0.5, 0.2)),
            "synthetic_share must be two shares from 0 to 1",
        ),
        (
            lambda: Component(name="old", table="mixed/demo/plan", weight=1),
            "mixed/demo/plan is a mixture, which holds no tokens; name its components instead",
        ),
    ],
)
def test_a_mixture_that_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()
