"""Weights that change by token position, and at a position of a stream that runs: each phase exact, epochs go on."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.mix.inventory import Inventory
from corpusmill.mix.mixture import Continues, Mixture, Phase
from corpusmill.mix.order import Stretch, build_order, prefix_bound
from corpusmill.mix.past import Past
from corpusmill.mix.plan import Plan, plan_from_table, plan_to_table
from corpusmill.mix.solve import plan
from corpusmill.mix.upsampling import Bucket, Upsampling
from tests.mix.held import WEB_CODE, component, mixture, pin

STRETCHES = st.lists(
    st.tuples(st.integers(1, 90), st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)),
    min_size=1,
    max_size=4,
)
PHASED = mixture(
    component("web", 0.8),
    component("code", 0.2),
    phases=(Phase(name="main", weight=0.9), Phase(name="anneal", weight=0.1, weights={"web": 0.2, "code": 0.8})),
    budget_tokens=1000,
)


@given(STRETCHES, st.integers(0, 2**62))
def test_every_prefix_of_every_stretch_is_within_the_bound_and_epochs_go_on(given_stretches, seed):
    starts = np.cumsum([0, *(length for length, _ in given_stretches)]).tolist()
    stretches = [
        Stretch(start=start, weights=tuple(weights))
        for start, (_, weights) in zip(starts, given_stretches, strict=False)
    ]
    order = build_order(stretches, num_sequences=[7, 4, 5], seed=seed, block_sequences=2)
    found = order.locate(np.arange(starts[-1]))
    for start, end, (_, weights) in zip(starts, starts[1:], given_stretches, strict=False):
        came_TC = np.cumsum(found.component_T[start:end, None] == np.arange(3), axis=0)
        wanted_TC = np.arange(1, end - start + 1)[:, None] * np.array(weights) / sum(weights)
        assert np.abs(came_TC - wanted_TC).max() <= prefix_bound(np.count_nonzero(weights)) + 1e-9
        assert order.count(end).tolist() == np.bincount(found.component_T[:end], minlength=3).tolist()
    for number, size in enumerate([7, 4, 5]):
        mine = found.component_T == number
        assert found.epoch_T[mine].tolist() == [count // size for count in range(mine.sum())]
        for epoch in range(mine.sum() // size):
            assert sorted(found.index_T[mine & (found.epoch_T == epoch)]) == list(range(size))
    shuffled = np.random.default_rng(seed).permutation(starts[-1])
    assert order.locate(shuffled).index_T.tolist() == found.index_T[shuffled].tolist()


@pytest.mark.parametrize("starts", [[1], [0, 0], [0, 5, 3]])
def test_stretches_that_overlap_are_refused(starts):
    with pytest.raises(ValueError, match="stretches must start at 0 and go up"):
        build_order(
            [Stretch(start=start, weights=(1,)) for start in starts], num_sequences=[1], seed=0, block_sequences=1
        )


def test_phases_part_their_own_tokens():
    made = plan(PHASED, WEB_CODE)
    assert [(phase.name, phase.planned_tokens, phase.num_positions) for phase in made.phases] == [
        ("main", (720, 180), 108),
        ("anneal", (20, 80), 18),
    ]
    assert [(one.planned_tokens, one.planned_sequences, one.order_weight) for one in made.components] == [
        (740, 74, 0),
        (260, 52, 0),
    ]
    assert made.order().count(108).tolist() == [72, 36] and made.order().count(126).tolist() == [74, 52]
    assert made.starts == [0, 108, 126]


def test_a_phase_can_leave_a_component_out_and_have_a_length_in_tokens():
    wanted = replace(
        PHASED,
        components=(component("web", 1), component("code", 0)),
        phases=(Phase(name="warmup", tokens=100), Phase(name="main", tokens=400, weights={"web": 1, "code": 1})),
        budget_tokens=None,
    )
    made = plan(wanted, WEB_CODE)
    assert [phase.planned_tokens for phase in made.phases] == [(100, 0), (200, 200)]
    assert set(made.order().locate(np.arange(10)).component_T.tolist()) == {0}


def test_without_a_budget_the_cap_counts_all_phases():
    made = plan(replace(PHASED, budget_tokens=None), WEB_CODE)
    web = made.components[0]
    # 0.9 x 0.8 + 0.1 x 0.2 of the stream is web, which has 1,000 tokens.
    assert made.planned_tokens == 1351 and web.planned_tokens in (999, 1000) and web.epochs == 1.0


def test_phases_too_long_for_a_cap_say_by_how_much():
    phases = (Phase(name="main", tokens=1000), Phase(name="anneal", tokens=500))
    with pytest.raises(
        ValueError, match=re.escape("shorten all phases to at most 0.8333 of their tokens, or set max_e")
    ):
        plan(replace(PHASED, phases=phases, budget_tokens=None), WEB_CODE)
    shorter = tuple(replace(phase, tokens=int((phase.tokens or 0) * 0.8333)) for phase in phases)
    assert plan(replace(PHASED, phases=shorter, budget_tokens=None), WEB_CODE).components[0].epochs <= 1


def test_a_component_that_a_phase_is_too_short_for_says_which():
    phases = (Phase(name="main", weight=0.99), Phase(name="anneal", weight=0.01, weights={"code": 0.01}))
    with pytest.raises(
        ValueError, match=r"'code' gets less than one sequence of 1: .* needs a phase 'anneal' of about"
    ):
        plan(replace(PHASED, phases=phases), WEB_CODE)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Phase(name="main"), "phase 'main': give its length as a weight or as tokens"),
        (lambda: Phase(name="main", weight=1, tokens=1), "give its length as a weight or as tokens"),
        (lambda: Phase(name="main", weight=0), "weight must be a number above 0, got 0"),
        (lambda: Phase(name="main", weight=1, weights={"web": -1}), "weights must not be negative, got {'web': -1}"),
        (
            lambda: replace(PHASED, phases=(Phase(name="main", weight=1, weights={"wbe": 1}),)),
            "phase 'main' weighs ['wbe'], which no component with a weight and no group is named",
        ),
        (lambda: replace(PHASED, phases=(Phase(name="m", tokens=1), Phase(name="m", tokens=1))), "different names"),
    ],
)
def test_phases_that_make_no_sense_are_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"phases": (Phase(name="main", weight=1, weights={"web": 0, "code": 0}),)},
            "weights must not sum to 0, got 0 for each of ['web', 'code'] in phase 'main'",
        ),
        ({"phases": (Phase(name="main", tokens=10),)}, "budget_tokens is 1,000, but its parts sum to 10"),
        (
            {"phases": (Phase(name="main", tokens=1000), Phase(name="rest", weight=1))},
            "phases take 1,000 tokens of a stream of 1,000, which leaves nothing for those with a weight",
        ),
    ],
)
def test_phases_that_cannot_be_planned_are_refused(changed, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(replace(PHASED, **changed), WEB_CODE)


def test_a_plan_with_phases_comes_back_from_its_table_and_its_json():
    made = plan(PHASED, WEB_CODE)
    assert plan_from_table(plan_to_table(made), mix="demo") == made
    assert Plan.from_json(made.to_json()) == made
    assert plan_to_table(made)["phase_tokens"].to_pylist() == [[720, 20], [180, 80]]
    wanted = replace(PHASED, continues=Continues(mix_version="abc", position=3), allowed_licences=("mit",))
    assert Mixture.from_json(wanted.to_json()) == wanted


def changed_at(position: int, *components, **settings) -> Plan:
    made = plan(mixture(component("web", 0.5), component("code", 0.5), budget_tokens=1000), WEB_CODE)
    inventory = Inventory(
        pins=[*WEB_CODE.pins, pin("stem", sequences=50, tokens=450)], snapshots={**WEB_CODE.snapshots}
    )
    return plan(mixture(*components, **settings), inventory, past=Past(plan=made, position=position))


def test_weights_change_at_a_position_and_the_stream_before_it_stays():
    old = plan(mixture(component("web", 0.5), component("code", 0.5), budget_tokens=1000), WEB_CODE)
    made = changed_at(37, component("stem", 0.5), component("web", 0.5), budget_tokens=400)
    before, after = old.order().locate(np.arange(37)), made.order().locate(np.arange(made.num_positions))
    for name in ("component_T", "epoch_T", "index_T"):
        assert getattr(before, name).tolist() == getattr(after, name)[:37].tolist()
    # Web and code keep their numbers; code comes no more.
    assert [one.name for one in made.components] == ["web", "code", "stem"]
    assert set(after.component_T[37:].tolist()) == {0, 2}
    assert np.bincount(after.component_T).tolist() == [one.planned_sequences for one in made.components]
    web = after.index_T[after.component_T == 0].tolist()
    assert len(web) <= 100 and len({*web}) == len(web)
    assert [phase.name for phase in made.phases] == ["main", "main@37"]
    assert made.continues(old.version, 37) and not made.continues(old.version, 38) and not made.continues("other", 1)
    assert made.continues(made.version, 10**9)


def test_a_change_can_be_changed_again():
    first = changed_at(37, component("web", 1), budget_tokens=400)
    second = plan(mixture(component("code", 1), budget_tokens=200), WEB_CODE, past=Past(plan=first, position=50))
    positions = np.arange(50)
    assert first.order().locate(positions).index_T.tolist() == second.order().locate(positions).index_T.tolist()
    assert [one.position for one in second.amended] == [37, 50]
    assert second.continues(first.version, 50) and second.continues(first.amended[0].mix_version, 37)
    assert not second.continues(first.amended[0].mix_version, 38)


def test_caps_count_what_was_read_before_the_change():
    # 150 positions, half of the tokens each: web gave 50 sequences and code 100.
    with pytest.raises(ValueError, match=r"'web' is short by 100 tokens .* are 1,000, of which 500 were read before"):
        changed_at(150, component("web", 1), budget_tokens=600)
    made = changed_at(150, component("web", 1))
    assert made.components[0].planned_sequences == 100 and made.phases[-1].planned_tokens == (500, 0)


def test_a_component_that_was_read_up_is_refused_with_what_would_do():
    with pytest.raises(
        ValueError, match=r"'web' is short by 251 tokens .* 0\.25 epochs of 1,000 are 250, of which 500 were"
    ):
        changed_at(150, component("web", 1, max_epochs=0.25))


def test_a_bucket_that_was_read_up_is_refused():
    held = Inventory(pins=[pin("web", sequences=100, tokens=1000, partition=name) for name in ("low", "high")])
    kept = Upsampling(buckets=tuple(Bucket(name=name, partitions=(name,)) for name in ("low", "high")))
    web = component("web", 1, max_epochs=2, upsampling=kept)
    old = plan(mixture(web, budget_tokens=2000), held)
    with pytest.raises(ValueError, match=r"component 'web:high' is asked for \d+ sequences and may give \d+ more"):
        plan(mixture(web, budget_tokens=1900), held, past=Past(plan=old, position=old.num_positions))


@pytest.mark.parametrize(
    ("position", "settings", "message"),
    [
        (0, {}, "has positions 1 to 150 to change weights at, got 0"),
        (151, {}, "has positions 1 to 150 to change weights at, got 151"),
        (5, {"seed": 3}, "has seed 0, a change at a position keeps it, got 3"),
    ],
)
def test_a_change_that_would_break_the_stream_is_refused(position, settings, message):
    with pytest.raises(ValueError, match=message):
        changed_at(position, component("web", 1), **settings)


def test_other_data_needs_a_component_of_its_own():
    with pytest.raises(
        ValueError, match=r"component 'web' cannot be read: it was read from .* \['s1'\], before position 5"
    ):
        changed_at(5, component("web", 1, partitions=("s2",)))


def test_a_plan_of_an_earlier_release_keeps_its_version_and_its_stream():
    """Written by the release before phases; a run of it must be replayed."""
    made = plan(mixture(component("web", 2), component("code", 1), seed=3), replace(WEB_CODE, snapshots={}))
    assert made.version == "6fd6a7ba33babfcc"
    found = made.order().locate(np.arange(12))
    assert found.component_T.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert found.index_T.tolist() == [95, 12, 67, 141, 82, 14, 79, 176, 28, 145, 69, 62]
    rows = plan_to_table(made).select(["mix", "mix_version", "table", "snapshot_id", "document"])
    assert plan_from_table(rows, mix="demo") == made


def test_a_plan_of_a_later_release_is_refused_in_one_line():
    rows = plan_to_table(plan(PHASED, WEB_CODE)).to_pylist()
    rows[0]["document"] = rows[0]["document"].replace('"seed"', '"sown"')
    with pytest.raises(ValueError, match="was written by another release, which this one cannot read"):
        plan_from_table(plan_to_table(plan(PHASED, WEB_CODE)).from_pylist(rows), mix="demo")
