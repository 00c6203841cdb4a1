"""The solver: exact tokens, sequences by mean fill, caps kept, and errors that say what would work."""

import re
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpusmill.mix.apportion import apportion
from corpusmill.mix.demand import weights_as_shares
from corpusmill.mix.inventory import Inventory, pin_partition
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.plan import PLAN, Plan, plan_from_table, plan_to_table
from corpusmill.mix.solve import MAX_PERIOD, plan
from tests.mix.held import WEB_CODE, component, mixture, pin


def test_weights_are_of_tokens_not_of_sequences():
    """Code's sequences are half empty, so as many tokens need twice the sequences."""
    made = plan(mixture(component("web", 0.5), component("code", 0.5), budget_tokens=1000), WEB_CODE)
    assert [(one.planned_tokens, one.planned_sequences, one.epochs) for one in made.components] == [
        (500, 50, 0.5),
        (500, 100, 0.5),
    ]
    assert made.planned_tokens == 1000 and made.num_positions == 150


def test_without_a_budget_the_first_cap_ends_the_stream():
    made = plan(mixture(component("web", 3, max_epochs=1.5), component("code", 1)), WEB_CODE)
    assert [(one.planned_tokens, one.planned_sequences) for one in made.components] == [(1500, 150), (500, 100)]


def test_all_partitions_unless_some_are_named():
    inventory = Inventory(pins=[pin("web", sequences=2, tokens=20, partition=name) for name in ("s2", "s1", "s3")])
    everything = plan(mixture(component("web", 1)), inventory)
    named = plan(mixture(component("web", 1, partitions=("s3", "s1"))), inventory)
    assert [one.partition for one in everything.components[0].pins] == ["s1", "s2", "s3"]
    assert [one.partition for one in named.components[0].pins] == ["s1", "s3"]
    assert (everything.num_positions, named.num_positions) == (6, 4)


def test_a_budget_that_cannot_be_met_says_which_two_numbers_would_work():
    wanted = mixture(component("web", 0.6), component("code", 0.4), budget_tokens=2000)
    with pytest.raises(ValueError) as caught:
        plan(wanted, WEB_CODE)
    assert str(caught.value) == (
        "mixture 'demo' wants 2,000 tokens and cannot have them: 'web' is short by 200 tokens (its share of 0.6 is "
        "1,200; 1 epochs of 1,000 are 1,000). To make it work, set budget_tokens to at most 1666, or max_epochs to at "
        "least web=1.2."
    )
    assert plan(replace(wanted, budget_tokens=1666), WEB_CODE).planned_tokens == 1666
    raised = replace(wanted, components=(component("web", 0.6, max_epochs=1.2), component("code", 0.4)))
    assert plan(raised, WEB_CODE).planned_tokens == 2000


SIZES = st.lists(
    st.tuples(st.integers(1, 500), st.integers(1, 10), st.integers(1, 1000), st.integers(1, 40)), min_size=1, max_size=6
)


@given(SIZES, st.integers(1, 20_000))
def test_every_constraint_holds_or_both_advised_numbers_make_it_work(sizes, budget):
    pins = [pin(f"c{n}", sequences=held, tokens=held * mean) for n, (held, mean, _, _) in enumerate(sizes)]
    components = [component(f"c{n}", weight / 10, max_epochs=cap / 10) for n, (_, _, weight, cap) in enumerate(sizes)]
    wanted = mixture(*components, budget_tokens=budget)
    try:
        made = plan(wanted, Inventory(pins=pins))
    except ValueError as error:
        assume("less than one sequence" not in str(error))
        advised = re.search(r"(?:at most (\d+), or |set )max_epochs to at least (.*)\.$", str(error))
        fewer = replace(wanted, budget_tokens=int(advised[1] or budget))
        raised = dict(item.split("=") for item in advised[2].split(", "))
        longer = replace(
            wanted,
            components=tuple(
                replace(one, max_epochs=float(raised.get(one.name, one.max_epochs))) for one in components
            ),
        )
        for other in (fewer, longer) if advised[1] else (longer,):
            try:
                check_plan(plan(other, Inventory(pins=pins)), other)
            except ValueError as again:
                assume("less than one sequence" not in str(again))
                raise
    else:
        check_plan(made, wanted)


def check_plan(made: Plan, wanted: Mixture) -> None:
    total = sum(Fraction(str(one.weight)) for one in wanted.components)
    assert made.planned_tokens == wanted.budget_tokens
    for one, asked in zip(made.components, wanted.components, strict=True):
        assert abs(one.planned_tokens - made.planned_tokens * Fraction(str(asked.weight)) / total) < 1
        assert one.planned_sequences <= Fraction(str(asked.max_epochs)) * one.num_sequences
        assert abs(one.planned_sequences - one.planned_tokens * one.num_sequences / one.num_tokens) < 1.5
    assert made.order().count(made.num_positions).tolist() == [one.planned_sequences for one in made.components]


def test_a_long_stream_is_whole_periods():
    inventory = Inventory(
        pins=[pin("web", sequences=10**9, tokens=10**10), pin("code", sequences=10**9, tokens=10**10)]
    )
    made = plan(mixture(component("web", 0.7), component("code", 0.3), budget_tokens=10**10), inventory)
    period = sum(one.order_weight for one in made.components)
    assert period <= MAX_PERIOD and made.num_positions % period == 0
    assert abs(made.num_positions - 10**9) < 10**9 / period
    assert made.components[0].planned_sequences / made.num_positions == pytest.approx(0.7, abs=1e-6)


def test_two_hundred_components_are_planned():
    pins = [pin(f"c{n}", sequences=10**6 + n * 7919, tokens=9 * 10**6 + n * 104_729) for n in range(200)]
    components = [component(f"c{n}", (n % 17 + 1) / 7, max_epochs=1 + n % 5) for n in range(200)]
    made = plan(mixture(*components), Inventory(pins=pins))
    assert made.planned_tokens == sum(one.planned_tokens for one in made.components)
    assert max(one.epochs / one.max_epochs for one in made.components) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: component("web", -0.1), "component 'web': weight must be a number above 0, got -0.1"),
        (lambda: component("web", float("nan")), "weight must be a number above 0, got nan"),
        (lambda: component("web", "0.5"), "component 'web': weight must be a number or None, got '0.5'"),
        (lambda: component("web", 1, max_epochs=0), "max_epochs must be a number above 0, got 0"),
        (lambda: component("web", 1, partitions=()), "partitions must be different names"),
        (lambda: mixture(), "needs components with different names, got []"),
        (lambda: mixture(component("web", 1), component("web", 1)), "different names, got ['web', 'web']"),
        (lambda: mixture(component("web", 0), component("code", 0)), "weights must not sum to 0"),
        (lambda: mixture(component("web", 1), component("code", 0)), "['code'] have weight 0"),
        (lambda: mixture(component("web", 1), budget_tokens=0), "budget_tokens must be an int of at least 1, got 0"),
    ],
)
def test_a_mixture_that_makes_no_sense_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("wanted", "pins", "message"),
    [
        (
            [component("wbe", 1)],
            [pin("web", sequences=1, tokens=1)],
            "component 'wbe' cannot be read: tokenized/wbe/sequences has no committed sequences; tables that have some: "
            "tokenized/web/sequences; did you mean 'tokenized/web/sequences'?",
        ),
        (
            [component("web", 1, partitions=("s1", "s9"))],
            [pin("web", sequences=1, tokens=1)],
            "no committed partitions s9; it has s1",
        ),
        (
            [component("web", 1)],
            [pin("web", sequences=0, tokens=0)],
            "component 'web' is empty: tokenized/web/sequences holds no token in s1",
        ),
        (
            [component("web", 1)],
            [pin("web", sequences=1, tokens=1, sequence_length=20)],
            "component 'web' is packed to [20] tokens, mixture 'demo' wants 10",
        ),
        (
            [component("web", 1), component("code", 1)],
            [pin("web", sequences=1, tokens=1), pin("code", sequences=1, tokens=1, tokenizer="t2")],
            "needs one tokenizer, got 2: t1 made web (s1). t2 made code (s1). Tokenize",
        ),
        (
            [component("web", 1), Component(name="again", table="tokenized/web/sequences", weight=1)],
            [pin("web", sequences=1, tokens=1)],
            "is in components 'web' and 'again'",
        ),
        (
            [component("web", 1), component("code", 10_000)],
            [pin("web", sequences=9, tokens=90), pin("code", sequences=9, tokens=90)],
            "component 'web' gets less than one sequence of 9: its share of 9.999e-05 needs a stream of about 100,010 tokens, "
            "and this one has 90: it ends where 'code' has been read 1 times, which holds 90 tokens for a share of 0.9999.",
        ),
        (
            [component("tiny", 0.5), component("web", 0.1)],
            [pin("tiny", sequences=1, tokens=2), pin("web", sequences=90, tokens=900)],
            "this one has 2: it ends where 'tiny' has been read 1 times, which holds 2 tokens for a share of 0.8333. "
            "Give 'tiny' more data",
        ),
        (
            [component("web", 1, max_epochs=0.5)],
            [pin("web", sequences=1, tokens=10)],
            "raise its max_epochs of 0.5, of 1 sequences, to at least 1, or leave it out",
        ),
    ],
)
def test_a_mixture_that_the_lake_cannot_serve_is_refused(wanted, pins, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(mixture(*wanted), Inventory(pins=pins))


def test_a_budget_too_small_for_a_component_says_so():
    wanted = mixture(component("web", 0.999), component("code", 0.001), budget_tokens=1000)
    told = "'code' gets less than one sequence of 100: its share of 0.001 needs a stream of about 5,000 tokens, and this one"
    with pytest.raises(ValueError, match=re.escape(f"{told} has budget_tokens of 1,000. Raise one of the two")):
        plan(wanted, WEB_CODE)


def test_all_that_use_another_tokenizer_are_named_and_the_rest_counted():
    pins = [pin("web", sequences=1, tokens=1, partition=f"s{n:02}", tokenizer="t2") for n in range(12)]
    pins.append(pin("web", sequences=1, tokens=1, partition="s99"))
    with pytest.raises(ValueError, match=r"t1 made web \(s99\)\. t2 made web \(s00, s01, .*, s09 and 2 more\)"):
        plan(mixture(component("web", 1)), Inventory(pins=pins))


def test_weights_that_do_not_sum_to_1_are_told_as_shares():
    assert weights_as_shares(mixture(component("web", 0.7), component("code", 0.3))) is None
    assert weights_as_shares(mixture(component("web", 3), component("code", 1))) == (
        "weights sum to 4, not 1, and are taken in proportion: web 75.00%, code 25.00%"
    )


def test_a_table_that_holds_no_sequences_cannot_be_pinned():
    """A mix of a mix, or of documents, is refused where it is named."""
    with pytest.raises(ValueError, match="mixed/mixtures/plan, partition 'demo', is no table of packed sequences"):
        pin_partition("mixed/mixtures/plan", partition="demo", content_hash="", num_sequences=3, state={"rows": 3})


def test_a_plan_comes_back_from_its_table_and_its_json():
    made = plan(mixture(component("web", 2), component("code", 1)), WEB_CODE)
    table = plan_to_table(made)
    assert table.schema.equals(PLAN) and table["component"].to_pylist() == ["web", "code"]
    assert table["planned_share"].to_pylist() == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert plan_from_table(table.take([1, 0]), mix="demo") == made
    assert Plan.from_json(made.to_json()) == made


def test_the_version_names_content_not_snapshots():
    wanted = mixture(component("web", 2), component("code", 1))
    made = plan(wanted, WEB_CODE)
    elsewhere = plan(wanted, replace(WEB_CODE, snapshots={"tokenized/web/sequences": 99}))
    changed = plan(wanted, replace(WEB_CODE, pins=[replace(WEB_CODE.pins[0], content_hash="other"), WEB_CODE.pins[1]]))
    assert elsewhere.version == made.version != changed.version
    assert plan_to_table(elsewhere).drop_columns("snapshot_id") == plan_to_table(made).drop_columns("snapshot_id")
    assert plan(replace(wanted, seed=1), WEB_CODE).version != made.version


def test_a_damaged_plan_is_refused():
    table = plan_to_table(plan(mixture(component("web", 2), component("code", 1)), WEB_CODE))
    with pytest.raises(ValueError, match="wanted one plan of mix 'other', got 0 in 0 rows"):
        plan_from_table(table, mix="other")
    with pytest.raises(ValueError, match="the plan of mix 'demo' is damaged"):
        plan_from_table(table.slice(0, 1), mix="demo")
    forged = table.set_column(1, PLAN.field(1), pa.array(["0" * 16] * 2))
    with pytest.raises(ValueError, match="the plan of mix 'demo' is damaged"):
        plan_from_table(forged, mix="demo")


def test_a_mixture_comes_back_from_json():
    wanted = mixture(component("web", 2, partitions=("s1",)), component("code", 1), budget_tokens=5, seed=3)
    assert Mixture.from_json(wanted.to_json()) == wanted


@given(st.integers(0, 10**12), st.lists(st.fractions(0, 10), min_size=1, max_size=20))
def test_parts_add_up_and_are_within_one(total, shares):
    assume(sum(shares) > 0)
    parts = apportion(total, shares=shares)
    assert sum(parts) == total
    assert all(abs(part - total * share / sum(shares)) < 1 for part, share in zip(parts, shares, strict=True))


@pytest.mark.parametrize("shares", [[Fraction(0)], [Fraction(2), Fraction(-1)]])
def test_shares_that_part_nothing_are_refused(shares):
    with pytest.raises(ValueError, match="must not be negative nor sum to 0"):
        apportion(5, shares=shares)
