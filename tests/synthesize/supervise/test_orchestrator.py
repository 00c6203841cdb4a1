"""Queues and the orchestrator: where documents go, in which order, and that rows alone bring the state back."""

import random

import pytest

from corpusmill.synthesize.supervise.orchestrator import Arrival, Orchestrator, Order, Outcome, Ticket, is_asked
from corpusmill.synthesize.supervise.queues import Budget, Document, Entry, Plan, Queue

HARD = Queue(recipe="hard", simpler="easy", too_hard=frozenset({"cut_off"}), next="polish")
EASY = Queue(recipe="easy", next="polish")
POLISH = Queue(recipe="polish", priority=1)
PLAN = Plan(queues=(HARD, EASY, POLISH))


def arrivals(number, recipe="hard", **facts):
    documents = [Document(doc_id=f"{recipe}{at}", **{"characters": 100, **facts}) for at in range(number)]
    return [Arrival(document=document, recipe=recipe) for document in documents]


def done(doc_id, recipe, reason=None, **spent):
    return Outcome(doc_id=doc_id, recipe=recipe, reason=reason, **spent)


def state(*rows, plan=PLAN):
    return Orchestrator.replay(plan, rows)


def test_an_accepted_document_goes_on_and_ends_after_the_last_queue():
    found = state(*arrivals(1), done("hard0", "hard"))
    assert found.take(9) == [Ticket("hard0", "polish")]
    found.apply(done("hard0", "polish"))
    assert found.ends == {"hard0": "accepted"}


def test_what_was_too_hard_goes_to_the_simpler_recipe_and_other_rejections_end():
    found = state(*arrivals(2), done("hard0", "hard", "cut_off"), done("hard1", "hard", "copied"))
    assert found.take(9) == [Ticket("hard0", "easy")]
    assert found.ends == {"hard1": "copied"}


def test_a_document_that_is_not_admitted_goes_down_to_the_first_queue_that_takes_it():
    hard = Queue(recipe="hard", entry=Entry(max_characters=50), simpler="easy")
    easy = Queue(recipe="easy", entry=Entry(languages=("en",)))
    plan = Plan(queues=(hard, easy))
    rows = [
        Arrival(document=Document(doc_id=name, characters=80, language=name), recipe="hard") for name in ("en", "fr")
    ]
    found = state(*rows, plan=plan)
    assert found.take(9) == [Ticket("en", "easy")]
    assert found.ends == {"fr": "not_admitted"}


def test_the_highest_priority_is_served_first():
    found = state(*arrivals(2), *arrivals(1, "polish"))
    assert found.take(3) == [Ticket("polish0", "polish"), Ticket("hard0", "hard"), Ticket("hard1", "hard")]


def test_queues_of_one_priority_are_served_by_their_rates():
    plan = Plan(queues=(Queue(recipe="a", rate=3), Queue(recipe="b")))
    found = state(*arrivals(20, "a"), *arrivals(20, "b"), plan=plan)
    taken = [ticket.recipe for ticket in found.take(12)]
    assert (taken.count("a"), taken.count("b")) == (9, 3)


@pytest.mark.parametrize(
    ("budget", "limit"),
    [(Budget(documents=2), "documents"), (Budget(tokens=20), "tokens"), (Budget(device_seconds=1.0), "device_seconds")],
)
def test_a_queue_whose_budget_is_spent_ends_its_documents(budget, limit):
    plan = Plan(queues=(Queue(recipe="a", budget=budget),))
    rows = [*arrivals(3, "a"), *(done(f"a{at}", "a", tokens=10, device_seconds=0.5) for at in range(2))]
    found = state(*rows, plan=plan)
    assert found.take(9) == []
    assert found.ends["a2"] == f"failed/{limit}_spent"
    assert found.counts().to_json()["failed"] == {f"{limit}_spent": 1}


def test_no_more_is_taken_than_the_budget_of_documents_has_left():
    plan = Plan(queues=(Queue(recipe="a", budget=Budget(documents=2)),))
    assert len(state(*arrivals(5, "a"), plan=plan).take(9)) == 2


def test_a_stopped_recipe_fails_what_waits_for_it():
    found = state(*arrivals(2), Order(recipe="hard", action="stop"))
    assert set(found.ends.values()) == {"failed/stopped_by_supervisor"}
    found.apply(Arrival(document=Document(doc_id="late", characters=1), recipe="hard"))
    assert found.ends["late"] == "failed/stopped_by_supervisor"


def test_a_demoted_recipe_hands_its_documents_to_the_simpler_one():
    found = state(*arrivals(2), Order(recipe="hard", action="demote"))
    assert found.take(9) == [Ticket("hard0", "easy"), Ticket("hard1", "easy")]


def test_a_paused_recipe_keeps_its_documents_until_it_goes_on():
    rows = [*arrivals(1), Order(recipe="hard", action="pause")]
    assert state(*rows).take(9) == []
    assert state(*rows, Order(recipe="hard", action="continue")).take(9) == [Ticket("hard0", "hard")]


def test_a_lowered_share_leaves_out_the_same_documents_whenever_they_come():
    order = Order(recipe="hard", action="lower_share", share=0.5)
    before, after = state(*arrivals(200), order), state(order, *arrivals(200))
    assert before.ends == after.ends
    assert set(before.ends.values()) == {"failed/share_lowered"}
    assert 70 < len(before.ends) < 130
    assert all(is_asked(ticket.doc_id, "hard", 0.5) for ticket in before.take(200))


def test_rows_that_cannot_follow_are_refused():
    with pytest.raises(ValueError, match="arrived twice"):
        state(*arrivals(1), *arrivals(1))
    with pytest.raises(ValueError, match="does not wait"):
        state(done("hard0", "hard"))
    with pytest.raises(ValueError, match="no queue 'other'"):
        state(Order(recipe="other", action="stop"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Plan(queues=()), "at least one queue"),
        (lambda: Plan(queues=(EASY,)), "leads to 'polish'"),
        (lambda: Plan(queues=(Queue(recipe="a", next="b"), Queue(recipe="b", simpler="a"))), "circle: a > b > a"),
        (lambda: Queue(recipe="a", rate=0), "rate above 0"),
        (lambda: Queue(recipe="a", too_hard=frozenset({"cut_off"})), "names no simpler"),
    ],
)
def test_plans_that_cannot_work_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_run_that_is_killed_anywhere_goes_on_to_the_same_end():
    chance = random.Random(0)
    outcomes = {
        (f"hard{at}", recipe): chance.choice([None, "copied", "cut_off", "failed/engine_error"])
        for at in range(60)
        for recipe in ("hard", "easy", "polish")
    }
    orders = {20: Order(recipe="easy", action="lower_share", share=0.5), 40: Order(recipe="hard", action="demote")}

    def run(rows, most):
        found = Orchestrator.replay(PLAN, rows)
        while (tickets := found.take(1)) and len(rows) < most:
            rows.append(done(*tickets[0], outcomes[tickets[0]]))
            found.apply(rows[-1])
            if len(rows) in orders:
                rows.append(orders[len(rows)])
                found.apply(rows[-1])
        return found

    whole = run(arrivals(60)[:], 10_000)
    rows = arrivals(60)
    for most in (70, 100, 10_000):
        found = run(rows, most)
    assert found.ends == whole.ends
    assert len(found.ends) == 60
    counts = found.counts()
    counts.check()
    assert counts.kept and counts.dropped and counts.failed
