"""What is decided of live components: whose places go to whom, paying back, waiting, and that nothing decided ever changes."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.mix.availability import Arrival, Decided, Decision, Route, Short, decide
from corpusmill.mix.decided import build_decided_order, decided_plan
from corpusmill.mix.inventory import Inventory
from corpusmill.mix.live import Live
from corpusmill.mix.mixture import Continues, Mixture, Phase
from corpusmill.mix.order import Stretch, build_order
from corpusmill.mix.past import Past
from corpusmill.mix.plan import Plan, plan_from_table, plan_to_table
from corpusmill.mix.solve import plan
from tests.mix.held import WEB_CODE, component, mixture, pin

WEB, SYNTH = 0, 1


def half_live(lenders: tuple[str, ...] = ("web",), *, epochs: float = 1, window: int = 8) -> Plan:
    """32 positions, web and synth by turns; web has 100 sequences, synth will have 16."""
    return plan(
        mixture(
            component("web", 1, max_epochs=epochs),
            component("synth", 1, live=Live(expected_tokens=160, lenders=lenders)),
            budget_tokens=320,
            live_window=window,
        ),
        Inventory(pins=[pin("web", sequences=100, tokens=1000)]),
    )


def arrival(sequences: int, name: str = "s1", *, slot: int = SYNTH) -> Arrival:
    held = pin("synth", sequences=sequences, tokens=10 * sequences, partition=name)
    return Arrival(slot=slot, snapshot_id=7, pins=(held,))


def go_on(decided: Decided, *arrivals: Arrival) -> Decided:
    made = decide(decided, arrivals, {"tokenized/synth/sequences": 7})
    assert isinstance(made, Decision)
    assert Decision.from_json(made.to_json()) == made
    return decided.after(made)


def test_a_plan_counts_on_what_a_live_component_will_hold():
    made = half_live()
    synth = made.components[SYNTH]
    assert (made.num_positions, made.planned_tokens, made.live_window, made.is_live) == (32, 320, 8, True)
    assert (synth.pins, synth.num_sequences, synth.planned_sequences) == ((), 16, 16)
    assert plan_from_table(plan_to_table(made), mix="demo") == made
    assert half_live(()).version != made.version


def test_a_lender_stands_in_and_gets_its_places_back():
    decided = go_on(Decided.of(half_live()))
    [first] = decided.decisions
    assert (first.start, first.stop, first.routes) == (0, 8, (Route(slot=SYNTH, column=WEB, count=4),))
    assert decided.owed == {(SYNTH, WEB): 4}

    decided = go_on(decided, arrival(16))
    assert decided.decisions[1].stop == 16
    assert decided.decisions[1].routes == (Route(slot=WEB, column=2, count=4), Route(slot=SYNTH, column=2, count=4))
    assert not decided.owed and decided.drawn == (8, 0, 8)

    decided = go_on(decided)
    assert decided.decisions[2].stop == 32
    assert decided.drawn == (16, 0, 16)


def test_a_stream_waits_where_nobody_lends():
    decided = go_on(Decided.of(half_live(())))
    turns = np.flatnonzero(decided.order.locate(np.arange(32)).component_T == SYNTH)
    assert decided.position == turns[0]
    assert decide(decided, [], {}) == Short(slot=SYNTH)
    decided = go_on(decided, arrival(3))
    assert decided.position == turns[3]
    assert decide(decided, [], {}) == Short(slot=SYNTH)
    decided = go_on(decided, arrival(13, "s2"))
    assert decided.position == 32 and decided.drawn == (16, 0, 3, 13)


def test_a_lender_never_passes_its_cap():
    """Web may be read for 19 sequences, 16 of them are its own, and a window needs 4."""
    decided = go_on(Decided.of(half_live(epochs=0.19)))
    assert decided.position == 1 and decide(decided, [], {}) == Short(slot=SYNTH)
    decided = go_on(Decided.of(half_live(epochs=0.2)))
    assert decided.position == 8 and decided.owed == {(SYNTH, WEB): 4}
    decided = go_on(decided)
    assert decided.position == 9 and decide(decided, [], {}) == Short(slot=SYNTH)
    assert go_on(decided, arrival(2)).position == 13


def test_several_lenders_lend_in_proportion_and_others_are_left_alone():
    made = plan(
        mixture(
            component("web", 4, max_epochs=2),
            component("code", 2, max_epochs=2),
            component("stem", 2),
            component("synth", 4, live=Live(expected_tokens=400, lenders=("web", "code"))),
            budget_tokens=1200,
            live_window=60,
        ),
        Inventory(
            pins=[*WEB_CODE.pins[:1], pin("code", sequences=100, tokens=1000), pin("stem", sequences=50, tokens=500)]
        ),
    )
    decided = go_on(Decided.of(made))
    assert decided.decisions[0].routes == (Route(slot=3, column=0, count=13), Route(slot=3, column=1, count=7))
    assert decided.drawn == (33, 17, 10, 0)


def test_a_phase_that_leaves_a_component_out_pays_nothing_back():
    phases = (
        Phase(name="main", weight=1),
        Phase(name="quiet", weight=1, weights={"synth": 0}),
        Phase(name="end", weight=1),
    )
    made = plan(
        mixture(
            component("web", 1),
            component("synth", 1, live=Live(expected_tokens=160, lenders=("web",))),
            budget_tokens=480,
            phases=phases,
            live_window=100,
        ),
        Inventory(pins=[pin("web", sequences=100, tokens=1000)]),
    )
    decided = go_on(go_on(go_on(Decided.of(made)), arrival(16)))
    assert [(one.start, one.stop) for one in decided.decisions] == [(0, 16), (16, 32), (32, 48)]
    assert decided.decisions[1].routes == ()
    assert not decided.owed and decided.drawn == (32, 0, 16)


@st.composite
def histories(draw: st.DrawFn) -> Decided:
    """A stream of two live components and three that are there, all decided, with sequences arriving now and then."""
    lenders = draw(st.sampled_from([(), ("web",), ("web", "code"), ("code", "stem")]))
    made = plan(
        Mixture(
            name="demo",
            seed=3,
            sequence_length=10,
            components=(
                component("web", 5, max_epochs=2),
                component("rephrased", 2, live=Live(expected_tokens=600, lenders=("web", "code"))),
                component("code", 2.5, max_epochs=1.5),
                component("synth", 1, live=Live(expected_tokens=500, lenders=lenders)),
                component("stem", 0.7, max_epochs=5),
            ),
            budget_tokens=2400,
            phases=draw(
                st.sampled_from(
                    [(), (Phase(name="a", weight=2), Phase(name="b", weight=1, weights={"synth": 3, "web": 1}))]
                )
            ),
            live_window=draw(st.integers(1, 60)),
        ),
        Inventory(
            pins=[
                pin("web", sequences=110, tokens=1000),
                pin("code", sequences=70, tokens=700),
                pin("stem", sequences=9, tokens=80),
            ]
        ),
    )
    decided = Decided.of(replace(made, block_sequences=4))
    while decided.position < made.num_positions:
        sizes = draw(
            st.lists(st.tuples(st.sampled_from([1, 3]), st.integers(1, 40)), max_size=2, unique_by=lambda one: one[0])
        )
        found = decide(decided, [arrival(size, f"p{decided.position}", slot=slot) for slot, size in sizes], {})
        if isinstance(found, Short):
            found = decide(decided, [arrival(9, slot=1), arrival(9, slot=3)], {})
        assert isinstance(found, Decision)
        decided = decided.after(found)
    return decided


@given(histories())
@settings(max_examples=60, deadline=None)
def test_whatever_arrives_when_the_places_add_up_and_nothing_is_read_twice(decided: Decided):
    made = decided.plan
    found = build_decided_order(decided).locate(np.arange(made.num_positions))
    sizes = [*(one.num_sequences for one in made.components), *(one.num_sequences for one in decided.arrivals)]
    assert np.bincount(found.component_T, minlength=len(sizes)).tolist() == list(decided.drawn)
    assert len({*zip(found.component_T.tolist(), found.epoch_T.tolist(), found.index_T.tolist(), strict=True)}) == len(
        found.index_T
    )
    for column, drawn in enumerate(decided.drawn):
        ours = found.index_T[found.component_T == column]
        assert not drawn or 0 <= ours.min() <= ours.max() < sizes[column]
        # Whole epochs are whole: every sequence came drawn // size times, or once more.
        assert not drawn or {*np.bincount(ours, minlength=sizes[column])} <= {
            drawn // sizes[column],
            -(-drawn // sizes[column]),
        }
    planned = [one.planned_sequences for one in made.components]
    given = [0] * len(planned)
    for column, drawn in enumerate(decided.drawn):
        given[decided.slot_of(column)] += drawn
    owed = [0] * len(planned)
    for (slot, lender), count in decided.owed.items():
        assert count > 0
        owed[slot] -= count
        owed[lender] += count
    assert given == [count + more for count, more in zip(planned, owed, strict=True)]
    for one, drawn in zip(made.components, decided.drawn, strict=False):
        assert one.live or drawn <= Fraction(repr(one.max_epochs)) * one.num_sequences
    turns = made.order().locate(np.arange(made.num_positions)).component_T
    involved = {slot for slot, one in enumerate(made.components) if one.live}
    involved |= {lender for one in made.components if one.live for lender in one.live.lenders}
    for slot in {*range(len(planned))} - involved:
        assert (found.component_T[turns == slot] == slot).all()


@given(histories(), st.data())
@settings(max_examples=30, deadline=None)
def test_what_is_decided_later_changes_nothing_before(decided: Decided, data: st.DataObject):
    until = data.draw(st.integers(1, len(decided.decisions)))
    early = Decided.of(decided.plan, decided.decisions[:until])
    positions = np.arange(early.position)
    one, other = build_decided_order(early).locate(positions), build_decided_order(decided).locate(positions)
    assert [vars(one)[name].tolist() for name in vars(one)] == [vars(other)[name].tolist() for name in vars(other)]
    at_random = data.draw(st.permutations([int(position) for position in positions]).map(lambda found: found[:20]))
    assert build_decided_order(early).locate(at_random).index_T.tolist() == one.index_T[at_random].tolist()


def test_a_fully_planned_stretch_is_the_plans_own_order():
    decided = go_on(Decided.of(half_live()), arrival(16))
    assert decided.position == 32
    found, base = build_decided_order(decided).locate(np.arange(32)), decided.order.locate(np.arange(32))
    web = base.component_T == WEB
    assert (found.component_T == np.where(web, WEB, 2)).all()
    assert found.index_T[web].tolist() == base.index_T[web].tolist()


def test_only_what_is_decided_can_be_asked():
    order = build_decided_order(go_on(Decided.of(half_live())))
    with pytest.raises(ValueError, match="positions 0 to 7 are decided, got 5 to 8"):
        order.locate([5, 8])


def test_a_decided_plan_is_of_the_plans_version_and_as_long_as_it_is_decided():
    made = half_live()
    so_far = decided_plan(go_on(Decided.of(made), arrival(2)))
    assert (so_far.version, so_far.num_positions, so_far.is_whole) == (made.version, 8, False)
    assert [(one.name, one.planned_sequences) for one in so_far.components] == [
        ("web", 6),
        ("synth", 0),
        ("synth+1", 2),
    ]


@pytest.mark.parametrize("number, start, stop", [(1, 8, 16), (0, 0, 8), (1, 4, 16)])
def test_decisions_that_do_not_follow_one_another_are_refused(number, start, stop):
    first = go_on(Decided.of(half_live())).decisions[0]
    other = replace(first, number=number, start=start, stop=stop)
    with pytest.raises(ValueError, match=r"the log of mix demo@\w+ is damaged: wanted decision"):
        Decided.of(half_live(), [first, other] if number == 0 or start == 4 else [other])


def test_draws_and_counts_are_those_of_the_order():
    stretches = [
        Stretch(start=0, weights=(3, 5, 0)),
        Stretch(start=11, weights=(1, 1, 4)),
        Stretch(start=40, weights=(3, 5, 0)),
    ]
    order = build_order(stretches, num_sequences=[7, 4, 5], seed=1, block_sequences=2)
    component_T, draw_T = order.draws(np.arange(100))
    assert component_T.tolist() == order.locate(np.arange(100)).component_T.tolist()
    for position in range(100):
        before = component_T[:position].tolist()
        assert draw_T[position] == before.count(component_T[position])
        assert order.count(position).tolist() == [before.count(number) for number in range(3)]


REFUSED = {
    "borrows from itself": (
        {"live": Live(expected_tokens=100, lenders=("synth",))},
        r"'synth' cannot borrow from \['synth'\]: lenders are components that are not live .*; there are \['web'\]",
    ),
    "is read twice": (
        {"live": Live(expected_tokens=100), "max_epochs": 2},
        "component 'synth' is live, so it is read once",
    ),
    "is no Live": ({"live": True}, "component 'synth': live must be a Live or None, got True"),
}


@pytest.mark.parametrize("given, told", REFUSED.values(), ids=REFUSED)
def test_a_live_component_that_cannot_be(given, told):
    with pytest.raises(ValueError, match=told):
        mixture(component("web", 1), component("synth", 1, **given))


def test_what_a_mixture_with_live_components_cannot_do():
    live = component("synth", 1, live=Live(expected_tokens=100))
    with pytest.raises(ValueError, match="needs a component that is not live"):
        mixture(live)
    with pytest.raises(ValueError, match="continues another cannot have live components"):
        mixture(component("web", 1), live, continues=Continues(mix_version="a", position=3))
    with pytest.raises(ValueError, match="its weights cannot be changed"):
        Past(plan=half_live(), position=3)
    with pytest.raises(ValueError, match="'synth' is short by"):
        plan(mixture(component("web", 1, max_epochs=9), live, budget_tokens=1000), WEB_CODE)
    with pytest.raises(ValueError, match="max_exposure cannot be promised of live components"):
        mixture(component("web", 1), live, max_exposure=3)
    with pytest.raises(
        ValueError, match=r"live: lenders must be a tuple of str, got 'web'; a tuple of one is \(one,\)"
    ):
        Live(expected_tokens=1, lenders="web")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="live: expected_tokens must be at least 1, got 0"):
        Live(expected_tokens=0)
