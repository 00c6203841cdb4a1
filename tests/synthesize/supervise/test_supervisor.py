"""The supervisor: bad generators are stopped within three chunks, good ones never, and what it knows is replayed."""

import itertools
import json
from dataclasses import replace

import pytest

from benchmarks.supervised_passages import made_passages
from benchmarks.supervised_runs import STOPS, Pool, Run, first_action
from corpusmill.synthesize.supervise.features import Output, features
from corpusmill.synthesize.supervise.rules import RULES, SupervisionRules
from corpusmill.synthesize.supervise.supervisor import History, follow, judge, look_level, observe

PLAIN = SupervisionRules()
CHANGE = 12


@pytest.fixture(scope="module")
def pool() -> Pool:
    return Pool(made_passages(600), made_passages(600, subjects=1, name="foreign"), "rephrased")


def chunk(*reasons, text="", **columns):
    """Outputs that have nothing in common but what is said of them."""
    return [
        features(Output(text=text or f"{number} {hash_words(number)}", reason=reason, **columns))
        for number, reason in enumerate(reasons)
    ]


def hash_words(number):
    return " ".join(str((number * 7919 + at * 104_729) % 10_007) for at in range(30))


def decide(*chunks, rules=PLAIN, **options):
    history = History()
    for outputs in chunks:
        history = observe(history, outputs, rules)
    return judge(history, rules, **options)


@pytest.mark.parametrize("chunk_size", [32, 256])
@pytest.mark.parametrize("kind", ["collapses", "drifts", "turns bad"])
@pytest.mark.parametrize("accept_rate", [0.05, 0.8])
def test_a_bad_generator_is_stopped_within_three_chunks(pool, kind, chunk_size, accept_rate):
    run = Run(kind=kind, chunk_size=chunk_size, accept_rate=accept_rate, num_chunks=CHANGE + 3, change_at=CHANGE)
    decision = first_action(run, pool, PLAIN)
    assert decision is not None and decision.action in STOPS
    assert CHANGE <= decision.chunk <= CHANGE + 2


def test_a_translation_that_drifts_is_stopped_though_it_was_never_close_to_its_seeds():
    translated = Pool(made_passages(300), made_passages(300, subjects=1, name="foreign"), "translated")
    for change in (8, CHANGE):
        run = Run(kind="drifts", chunk_size=32, accept_rate=0.8, num_chunks=change + 3, change_at=change)
        decision = first_action(run, translated, PLAIN)
        assert decision is not None and decision.chunk >= change
        assert "lost_likeness" in (decision.rule, *decision.numbers["also"])


@pytest.mark.parametrize("scatter", [0.0, 0.3])
@pytest.mark.parametrize("accept_rate", [0.05, 0.3, 0.8])
def test_a_good_generator_is_never_stopped_however_uneven_its_seeds_are(pool, accept_rate, scatter):
    for seed in range(3):
        run = Run(accept_rate=accept_rate, seed=seed, num_chunks=60, scatter=scatter)
        assert first_action(run, pool, PLAIN) is None


def test_an_even_but_low_accept_rate_above_the_floor_is_good():
    assert decide(*[chunk(None, *["copied"] * 31)] * 40).action == "continue"


def test_a_recipe_that_accepts_nothing_at_all_is_stopped_once_that_is_sure():
    decisions = [decide(*[chunk(*["copied"] * 32)] * number) for number in (1, 10, 100)]
    assert [decision.action for decision in decisions] == ["continue", "continue", "stop"]
    assert decisions[-1].rule == "accept_below_floor"


def test_where_there_is_a_simpler_recipe_the_seeds_go_there():
    good, bad = chunk(*[None] * 32), chunk(*["copied"] * 32)
    assert decide(good, good, bad, has_simpler=True).action == "demote"
    assert decide(good, good, bad).action == "stop"


def test_a_reason_that_rises_is_named():
    good, bad = chunk(*["ungrounded", "copied"] * 16), chunk(*["wrong_language"] * 32)
    decision = decide(good, good, good, bad)
    assert (decision.rule, decision.numbers["of"]) == ("reason_rose", "wrong_language")
    assert decision.numbers["recent"] == [32, 32]
    assert decision.numbers["reference"] == [0, 96]


def test_outputs_without_answers_pause_the_run_and_say_nothing_of_the_recipe():
    good, gone = chunk(*[None] * 32), chunk(*["failed/engine_error"] * 32)
    decision = decide(good, good, gone, gone)
    assert (decision.action, decision.rule) == ("pause", "failing")


def test_a_recipe_that_costs_more_than_its_ceiling_is_asked_less():
    rules = SupervisionRules(max_tokens_per_accepted_token=10)
    cheap = chunk(*[None] * 16, *["copied"] * 16, prompt_tokens=10, completion_tokens=20)
    dear = chunk(*[None] * 4, *["copied"] * 28, prompt_tokens=50, completion_tokens=20)
    assert decide(*[cheap] * 30, rules=rules).action == "continue"
    decision = decide(*[dear] * 30, rules=rules)
    assert (decision.action, decision.rule, decision.share) == ("lower_share", "cost_above_ceiling", 0.5)


def test_a_lowered_share_needs_new_evidence_before_more_follows():
    rules = SupervisionRules(max_tokens_per_accepted_token=10)
    dear = chunk(*[None] * 4, *["copied"] * 28, prompt_tokens=50, completion_tokens=20)
    history, taken = History(), []
    for _ in range(120):
        history = observe(history, dear, rules)
        decision = judge(history, rules)
        history = follow(history, decision)
        taken.append(decision.action)
        if decision.action == "stop":
            break
    acted = [number for number, action in enumerate(taken) if action != "continue"]
    assert [taken[number] for number in acted] == ["lower_share", "lower_share", "stop"]
    assert min(later - earlier for earlier, later in itertools.pairwise(acted)) > 1


def test_after_a_demotion_the_simpler_recipe_is_judged_by_its_own_start():
    rules = SupervisionRules()
    history = History()
    for outputs in (chunk(*[None] * 32), chunk(*[None] * 32), chunk(*["copied"] * 32)):
        history = observe(history, outputs, rules)
    history = follow(history, judge(history, rules, has_simpler=True))
    assert (history.num_chunks, history.num_seen, history.early) == (3, 0, ())
    for _ in range(10):
        history = observe(history, chunk(None, *["copied"] * 31), rules)
        assert judge(history, rules).action == "continue"


def test_an_asset_may_say_that_a_rule_only_notes():
    rules = SupervisionRules(actions=dict.fromkeys(RULES, "continue"))
    good, bad = chunk(*[None] * 32), chunk(*["copied"] * 32)
    decision = decide(good, good, bad, rules=rules)
    assert (decision.action, decision.rule) == ("continue", "accept_fell")


def test_all_looks_of_a_run_together_stay_within_the_false_alarms_allowed():
    total = sum(look_level(look, PLAIN) for look in range(1, 100_000)) * len(RULES)
    assert 0.99 * PLAIN.false_alarm < total < PLAIN.false_alarm


def test_the_numbers_of_a_decision_are_json_and_the_same_when_replayed(pool):
    run = Run(kind="collapses", num_chunks=CHANGE + 3, change_at=CHANGE)
    first, again = (first_action(run, pool, PLAIN) for _ in range(2))
    assert first == again
    numbers = json.loads(json.dumps(dict(first.numbers)))
    assert numbers["p_value"] < numbers["level"]
    assert numbers["chunk"]["outputs"] == 32


def test_what_is_kept_of_a_long_run_is_bounded():
    rules = SupervisionRules(reference_outputs=100)
    history = History()
    for _ in range(40):
        history = observe(history, chunk(*[None] * 10), rules)
    assert (len(history.early), len(history.late), history.num_seen) == (10, 8, 40)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"false_alarm": 0.0}, "false_alarm must lie between 0 and 1"),
        ({"windows": ()}, "windows must be at least one"),
        ({"reference_outputs": 8}, "min_reference_outputs <= reference_outputs"),
        ({"max_tokens_per_accepted_token": 0.5}, "at least 1 or None"),
        ({"actions": {"accept_fel": "stop"}}, "there is no rule accept_fel"),
        ({"actions": {"accept_fell": "halt"}}, "cannot 'halt'"),
    ],
)
def test_rules_that_cannot_be_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PLAIN, **change)


def test_rules_are_spelled_in_json_and_back():
    rules = SupervisionRules(min_accept_rate=0.1, actions={"drifted": "pause"})
    assert SupervisionRules.from_json(json.loads(json.dumps(rules.to_json()))) == rules
    with pytest.raises(ValueError, match="supervision has no floor"):
        SupervisionRules.from_json({"floor": 1})
