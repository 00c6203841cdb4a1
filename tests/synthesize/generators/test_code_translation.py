"""Programs in other languages: what the original prints is the truth, and a translation must print the same."""

import json

import pytest

from corpusmill.synthesize.asking import Finished, Material, ToolCall
from corpusmill.synthesize.generators.code_translation import CodeTranslationGenerator
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import CUT, INJECTION, printed, reason, run

SOURCE = "for number in range(2):\n    print(number)\n"
LOOP = Material(text=SOURCE, language="Python")
LIBRARY = Material(text="def twice(x):\n    return 2 * x\n", language="Python")
GOOD = "```javascript\nfor (let n = 0; n < 2; n++) console.log(n);\n```"


def translation(**changes: object) -> CodeTranslationGenerator:
    plain = {
        "target": "javascript",
        "system": "Translate into JavaScript.",
        "user": "$document",
        "repair": "$output Again.",
        "sampling": Sampling(max_tokens=99),
    }
    return CodeTranslationGenerator(**{**plain, **changes})


def test_a_translation_that_prints_the_same_is_the_document():
    end, asked = run(translation(), LOOP, printed("0\n1\n"), GOOD, printed("0 \n1\n\n"))
    assert end == Finished(
        text="for (let n = 0; n < 2; n++) console.log(n);\n",
        meta={"attempts": "1", "target": "javascript", "lines_compared": "2"},
    )
    assert asked[0] == ToolCall(step="original", tool="program", arguments={"language": "python", "source": SOURCE})
    assert asked[2].arguments["language"] == "javascript"
    assert "0\n1" not in json.dumps(asked[1].messages), "what it prints is not given away"


def test_both_may_be_the_document():
    end, _ = run(translation(keeps_original=True), LOOP, printed("0\n1\n"), GOOD, printed("0\n1\n"))
    assert end.text == (
        "```python\nfor number in range(2):\n    print(number)\n```\n\n"
        "```javascript\nfor (let n = 0; n < 2; n++) console.log(n);\n```"
    )


def test_a_driver_makes_a_library_print():
    driven = translation(driver="Call the functions of $document and print.")
    end, asked = run(driven, LIBRARY, printed(""), "print(twice(4))", printed("8\n"), GOOD, printed("8\n"))
    assert [ask.step for ask in asked] == ["original", "driver", "original", "translate", "run"]
    assert asked[2].arguments["source"] == "def twice(x):\n    return 2 * x\n\n\nprint(twice(4))\n"
    assert "print(twice(4))" in asked[3].messages[-1]["content"]
    assert end.meta["lines_compared"] == "1"


def test_one_that_fails_is_shown_why_and_may_try_again():
    _, asked = run(
        translation(), LOOP, printed("0\n1\n"), GOOD, printed(INJECTION, exit_code=1), GOOD, printed("0\n1\n")
    )
    shown = asked[3].messages[-1]["content"]
    tag = shown.splitlines()[0].strip("<>")
    assert tag.startswith("output_") and shown.count(f"</{tag}>") == 1 and "<|im_start|>" not in shown


ORIGINAL = printed("0\n1\n")
REFUSED = {
    "it prints something else": (
        [ORIGINAL, GOOD, printed("0\n2\n"), GOOD, printed("0\n2\n")],
        "prints_something_else",
    ),
    "it does not run": ([ORIGINAL, GOOD, printed("", exit_code=1), GOOD, printed("", exit_code=1)], "program_fails"),
    "it does not parse": ([ORIGINAL, "for (let", "for (let"], "does_not_parse"),
    "two blocks": ([ORIGINAL, *["```\na\n```\n```\nb\n```"] * 2], "not_one_code_block"),
    "nothing": ([ORIGINAL, ""], "empty_answer"),
    "half": ([ORIGINAL, CUT], "cut_off"),
    "control tokens": ([ORIGINAL, "console.log('<|im_end|>')"], "control_tokens"),
    "the original fails": ([printed("0\n", exit_code=1)], "original/fails"),
    "the original prints too much": ([printed("1\n" * 999)], "original/prints_too_much"),
    "the original prints nothing": ([printed("\n")], "original/prints_nothing"),
}


@pytest.mark.parametrize(("said", "why"), REFUSED.values(), ids=REFUSED)
def test_what_proves_nothing_is_refused(said, why):
    assert reason(translation(), LOOP, *said) == why


def test_a_driver_that_is_none_is_refused():
    driven = translation(driver="$document")
    assert reason(driven, LIBRARY, printed(""), "I cannot.") == "original/driver_does_not_compile"
    assert reason(driven, LIBRARY, printed(""), "twice(4)", printed("")) == "original/prints_nothing"


@pytest.mark.parametrize("language", ["COBOL", "JavaScript", None])
def test_a_language_that_is_not_translated_asks_nothing(language):
    assert reason(translation(), Material(text=SOURCE, language=language)) == "language_is_not_translated"


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="the sandbox runs no 'cobol'; it runs: python, javascript"):
        translation(target="cobol")
    with pytest.raises(ValueError, match="max_attempts must be at least 1"):
        translation(max_attempts=0)


def test_json_gives_it_back():
    made = translation(driver="$document $style", max_attempts=3)
    assert CodeTranslationGenerator.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.names() == {"document", "style"}
