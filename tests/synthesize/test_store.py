"""The request store: what stands, what is asked again, and how waves of answers become one table."""

import pyarrow as pa

from corpusmill.document import COMPLETIONS
from corpusmill.synthesize.asking import Answer, Failed
from corpusmill.synthesize.store import AnswerStore, RetryPolicy, as_completions
from tests.synthesize.rows import completion, completions

POLICY = RetryPolicy()
STEPS = {"a": "plan", "b": "plan", "c": "write"}


def settled(waves, **more):
    store = AnswerStore(waves)
    return [name for name in STEPS if store.find_settled(name, policy=POLICY, **more) is not None]


def test_the_first_committed_answer_stands():
    store = AnswerStore([completions(completion("a", "first")), completions(completion("a", "second"))])
    assert store.find("a") == Answer(text="first")
    assert store.table(STEPS)["answer"].to_pylist() == ["first"]


def test_an_answer_replaces_a_failure_and_of_failures_the_last_is_told():
    waves = [
        completions(completion("a", None, "engine_error"), completion("b", None, "engine_error")),
        completions(completion("a", "late", finish="length"), completion("b", None, "timed_out")),
        completions(completion("a", None, "engine_error")),
    ]
    store = AnswerStore(waves)
    assert [store.find(name) for name in STEPS] == [
        Answer(text="late", finish_reason="length"), Failed(reason="timed_out"), None,
    ]  # fmt: skip
    rows = store.table(STEPS).to_pylist()
    assert [(row["answer"], row["failure"]) for row in rows] == [("late", None), (None, "timed_out")]


def test_failures_that_come_one_by_one_give_way_to_answers_and_never_replace_one():
    alone = [{"request_id": name, "failure": "budget_spent", "step": "s"} for name in "abc"]
    store = AnswerStore([completions(completion("a", "first"))])
    for row in alone:
        store.add_failure(row)
    assert [store.find(name) for name in STEPS] == [Answer(text="first"), *[Failed(reason="budget_spent")] * 2]
    assert (store.num_known, store.spent("abc")) == (3, store.spent("a"))
    store.add(completions(completion("c", "late")))
    rows = store.table(STEPS).to_pylist()
    assert [(row["request_id"], row["answer"], row["failure"], row["step"]) for row in rows] == [
        ("a", "first", None, "plan"), ("b", None, "budget_spent", "plan"), ("c", "late", None, "write"),
    ]  # fmt: skip


def test_case_18_answers_are_found_by_id_in_any_order_and_grouping():
    rows = completions(*(completion(name, name.upper()) for name in "cab"))
    whole = AnswerStore([rows]).table(STEPS)
    assert whole["request_id"].to_pylist() == ["a", "b", "c"]
    assert AnswerStore([rows.slice(2), rows.slice(0, 1), rows.slice(1, 1)]).table(STEPS).equals(whole)


def test_case_21_answers_to_what_is_not_asked_any_more_are_left_out():
    store = AnswerStore([completions(completion("gone", "x"), completion("a", "y"))])
    assert store.table(STEPS)["request_id"].to_pylist() == ["a"]


def test_case_15_an_over_long_prompt_is_failed_for_good_and_holds_up_nothing():
    assert settled([completions(completion("a", None, "prompt_too_long"), completion("b", "x"))]) == ["a", "b"]


def test_other_failures_are_asked_again_but_not_for_ever_and_not_twice_in_a_run():
    failed = completions(completion("a", None, "engine_error"))
    assert settled([failed, failed]) == []
    assert settled([failed], just_asked={"a"}) == ["a"]
    assert settled([failed, failed, failed]) == ["a"]


def test_rows_say_which_step_asks_now():
    renamed = AnswerStore([completions({**completion("a", "x"), "step": "outline"})]).table(STEPS)
    assert renamed["step"].to_pylist() == ["plan"]
    assert renamed.schema.equals(COMPLETIONS)


def test_rows_from_before_there_were_steps_are_read():
    old = completions(completion("a", "x")).drop_columns(["step"])
    assert as_completions(old)["step"].to_pylist() == [None]
    assert AnswerStore([old, completions(completion("b", "y"))]).table(STEPS)["answer"].to_pylist() == ["x", "y"]


def test_nothing_committed_is_nothing_settled():
    assert settled([]) == []
    assert AnswerStore().table(STEPS).equals(pa.Table.from_batches([], schema=COMPLETIONS))


def test_answers_mapped_from_files_are_those_in_memory(tmp_path, monkeypatch):
    rows = [completion(name, name * 9) for name in "abcab"]
    waves = [completions(*rows[:2]), completions(), *(completions(row) for row in rows[2:])]
    monkeypatch.setattr("corpusmill.synthesize.store.HELD_BYTES", waves[0].nbytes)
    mapped = AnswerStore(waves, folder=tmp_path)
    assert mapped.table(STEPS).equals(AnswerStore(waves).table(STEPS))
    assert [mapped.find(name).text for name in "abc"] == ["a" * 9, "b" * 9, "c" * 9]
    assert len(list(tmp_path.iterdir())) == 2
