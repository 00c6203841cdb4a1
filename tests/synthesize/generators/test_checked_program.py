"""Worded problems to programs: the program runs and prints the known answer, or the seed is rejected with the reason."""

import json
from decimal import Decimal

import pytest

from corpusmill.synthesize.asking import Finished, Material, ToolCall
from corpusmill.synthesize.generators.answer_key import AnswerKey, is_answer, last_number
from corpusmill.synthesize.generators.checked_program import CheckedProgramGenerator
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import CUT, INJECTION, printed, reason, run

PROBLEM = Material(text="Four chairs have 3 legs each. How many legs?\n\nSolution: 4 * 3 = 12\n#### 12")
GOOD = "Here it is:\n```python\nprint(4 * 3)\n```"


def programs(**changes: object) -> CheckedProgramGenerator:
    plain = {
        "system": "You write Python.",
        "user": "$document Print the answer.",
        "repair": "It said:\n$output\nCorrect it.",
        "sampling": Sampling(max_tokens=99),
    }
    return CheckedProgramGenerator(**{**plain, **changes})


def test_a_program_that_prints_the_answer_is_the_sample():
    end, asked = run(programs(), PROBLEM, GOOD, printed("12.0\n"))
    assert end == Finished(
        text="Four chairs have 3 legs each. How many legs?\n\n```python\nprint(4 * 3)\n```\n\nOutput:\n12.0",
        meta={"attempts": "1"},
    )
    assert asked[1] == ToolCall(step="run", tool="python", arguments={"code": "print(4 * 3)\n"})
    assert "Solution" not in json.dumps(asked[0].messages) and "####" not in json.dumps(asked[0].messages)


def test_one_that_fails_is_shown_what_it_printed_and_may_try_again():
    end, asked = run(programs(), PROBLEM, "print(4 + 3)", printed("7\n"), GOOD, printed("12\n"))
    assert end.meta == {"attempts": "2"}
    assert [ask.step for ask in asked] == ["program", "run", "repair", "run"]
    assert asked[2].messages[-2:] == (
        {"role": "assistant", "content": "print(4 + 3)"},
        {"role": "user", "content": "It said:\n<output>\n7\n</output>\nCorrect it."},
    )
    assert "12" not in asked[2].messages[-1]["content"], "the right answer is not given away"


REFUSED = {
    "another number": (["print(4 + 3)", printed("7\n")], "wrong_answer"),
    "no number": (["print('a' * 3)", printed("aaa\n")], "wrong_answer"),
    "an error": (["print(4 / 0)", printed("", stderr="ZeroDivisionError", exit_code=1)], "program_fails"),
    "an endless loop": (["while 1: pass", printed("", exit_code=-9, timed_out=True)], "program_fails"),
    "prose": (["The answer is 12"], "does_not_compile"),
    "two blocks": (["```\na\n```\n```\nb\n```"], "not_one_code_block"),
    "only the number": (["x = 12\nprint(x)"], "answer_not_computed"),
}


@pytest.mark.parametrize(("said", "why"), REFUSED.values(), ids=REFUSED)
def test_a_program_that_proves_nothing_is_refused_after_its_last_try(said, why):
    assert reason(programs(max_attempts=1), PROBLEM, *said) == why
    assert reason(programs(), PROBLEM, *said, *said) == why


FINAL = {"nothing": (" ", "empty_answer"), "half": (CUT, "cut_off"), "control tokens": ("<s>", "control_tokens")}


@pytest.mark.parametrize(("said", "why"), FINAL.values(), ids=FINAL)
def test_what_is_no_answer_is_not_asked_again(said, why):
    assert reason(programs(), PROBLEM, said) == why


def test_a_problem_without_a_known_answer_asks_nothing():
    assert reason(programs(), Material(text="How many legs?")) == "no_known_answer"
    by_column = programs(key=AnswerKey(metadata="meta_answer"))
    assert reason(by_column, Material(text="How many?", metadata={"meta_answer": "unknown"})) == "no_known_answer"


def test_the_answer_may_be_a_column():
    by_column = programs(key=AnswerKey(metadata="meta_answer"))
    end, _ = run(by_column, Material(text="How many?", metadata={"meta_answer": "1,200"}), GOOD, printed("1200\n"))
    assert isinstance(end, Finished)
    assert by_column.names() == {"document", "meta_answer"}


def test_what_a_program_prints_stays_inert():
    _, asked = run(programs(), PROBLEM, "print(4 + 3)", printed(INJECTION), GOOD, printed("12\n"))
    shown = asked[2].messages[-1]["content"]
    tag = shown.splitlines()[1].strip("<>")
    assert tag.startswith("output_") and shown.count(f"</{tag}>") == 1
    assert "<|im_start|>" not in shown and "$document ${x} {y} $$" in shown


NUMBERS = {
    "the last one": ("3 legs, 12 in all", "12"),
    "thousands": ("It is 1,234.50 dollars.", "1234.5"),
    "money": ("$72", "72"),
    "negative": ("-3", "-3"),
    "at the end of a sentence": ("There are 12.", "12"),
    "scientific": ("1e3", "1000"),
    "none": ("twelve", None),
    "a name": ("x12", None),
}


@pytest.mark.parametrize(("text", "number"), NUMBERS.values(), ids=NUMBERS)
def test_last_number(text, number):
    assert last_number(text) == (None if number is None else Decimal(number))


def test_floating_point_is_forgiven_and_nothing_else():
    assert is_answer(Decimal("0.30000000000000004"), Decimal("0.3"))
    assert not is_answer(Decimal("0.31"), Decimal("0.3"))
    assert not is_answer(Decimal(3_000_001), Decimal(3_000_000))
    assert not is_answer(None, Decimal(0))
    assert is_answer(Decimal(0), Decimal(0))


WRONG = {
    "no attempt": (lambda: programs(max_attempts=0), "max_attempts must be at least 1"),
    "an answer that is shown": (lambda: AnswerKey(hides=("Solution:",)), "must be one of `hides`"),
    "a blank mark": (lambda: AnswerKey(hides=("####", " ")), "must be words or marks"),
    "a prompt with the answer": (
        lambda: programs(user="$document $meta_answer", key=AnswerKey(metadata="meta_answer")),
        r"show the model \$meta_answer",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_json_gives_it_back():
    made = programs(key=AnswerKey(metadata="answer", hides=("A:",)), max_attempts=3)
    assert CheckedProgramGenerator.from_json(json.loads(json.dumps(made.to_json()))) == made
