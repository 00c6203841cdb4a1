"""The request store: what is missing, and how chunks of answers become one table, whatever was interrupted."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.document import COMPLETIONS
from corpusmill.synthesize.store import RetryPolicy, merge, missing, plan_chunks, settled
from tests.synthesize.rows import completion, completions, documents, requests

ASKED = requests(documents(*(f"Text {number}" for number in range(10))))
IDS = ASKED["request_id"].to_pylist()
POLICY = RetryPolicy()


def answer(name, attempt):
    return completion(name, f"answer {attempt} to {name}")


def run(committed, *, size, stop_after=None, attempt=0):
    """Ask what is missing, chunk by chunk, and die after `stop_after` chunks; return committed chunks and what was asked."""
    todo = missing(ASKED, settled(committed, policy=POLICY))
    done = list(committed)
    asked = []
    for chunk in plan_chunks(todo, size=size)[:stop_after]:
        asked += chunk.request_ids
        done.append(completions(*(answer(name, attempt) for name in chunk.request_ids)))
    return done, asked


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), max_size=4))
def test_case_20_killed_anywhere_no_committed_answer_is_asked_again(deaths):
    committed, all_asked = [], []
    for attempt, (stop_after, size) in enumerate(deaths):
        committed, asked = run(committed, size=size, stop_after=stop_after, attempt=attempt)
        all_asked += asked
    committed, asked = run(committed, size=3, attempt=99)
    assert sorted(all_asked + asked) == sorted(IDS)
    assert merge(committed, requests=ASKED)["request_id"].to_pylist() == IDS


def test_case_18_answers_are_found_by_id_in_any_chunking():
    first, _ = run([], size=4, stop_after=1)
    elsewhere = [first[0].take(pa.array([3, 1])), first[0].take(pa.array([0, 2]))]
    assert missing(ASKED, settled(elsewhere, policy=POLICY))["request_id"].to_pylist() == IDS[4:]
    assert merge(elsewhere, requests=ASKED)["request_id"].to_pylist() == IDS[:4]


def test_the_first_committed_answer_stands():
    chunks = [completions(answer(IDS[0], 1)), completions(answer(IDS[0], 2))]
    assert merge(chunks, requests=ASKED)["answer"].to_pylist() == [f"answer 1 to {IDS[0]}"]


def test_an_answer_replaces_a_failure_and_of_failures_the_last_is_told():
    one, two = IDS[:2]
    chunks = [
        completions(completion(one, None, "engine_error"), completion(two, None, "engine_error")),
        completions(completion(one, "late"), completion(two, None, "timed_out")),
        completions(completion(one, None, "engine_error")),
    ]
    rows = merge(chunks, requests=ASKED).to_pylist()
    assert [(row["answer"], row["failure"]) for row in rows] == [("late", None), (None, "timed_out")]


def test_case_21_answers_to_what_is_not_asked_any_more_are_left_out():
    assert merge([completions(answer("gone", 0), answer(IDS[0], 0))], requests=ASKED).num_rows == 1


def test_case_15_an_over_long_prompt_is_failed_for_good_and_holds_up_nothing():
    chunk = completions(completion(IDS[0], None, "prompt_too_long"), answer(IDS[1], 0))
    assert settled([chunk], policy=POLICY) == set(IDS[:2])


def test_other_failures_are_asked_again_but_not_for_ever():
    failed = completions(completion(IDS[0], None, "engine_error"))
    assert settled([failed, failed], policy=POLICY) == set()
    assert settled([failed, failed, failed], policy=POLICY) == {IDS[0]}


def test_nothing_committed_is_nothing_settled():
    assert settled([], policy=POLICY) == set()
    assert merge([], requests=ASKED).schema.equals(COMPLETIONS)
    assert missing(ASKED, ()).equals(ASKED)


def test_a_shared_request_is_missing_once():
    twins = requests(documents("Same", "Same"))
    assert missing(twins, ())["doc_id"].to_pylist() == ["d0"]


def test_chunks_are_named_by_what_is_in_them():
    whole, again = plan_chunks(ASKED, size=4), plan_chunks(ASKED.slice(4), size=4)
    assert [len(chunk.request_ids) for chunk in whole] == [4, 4, 2]
    assert [chunk.name for chunk in whole[1:]] == [chunk.name for chunk in again]
    with pytest.raises(ValueError, match="at least one request"):
        plan_chunks(ASKED, size=0)
