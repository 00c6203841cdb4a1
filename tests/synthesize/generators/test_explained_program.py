"""Explanations of programs: code and prose together, and no name in it that the program does not have."""

import pytest

from corpusmill.synthesize.asking import Finished, Material
from corpusmill.synthesize.generators.explained_program import ExplainedProgramGenerator, quoted_names
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.generators.scripted import CUT, reason, run

AREA = Material(text="def area(r):\n    return PI * r ** 2  # ```\n", language="Python")


def explained(**changes: object) -> ExplainedProgramGenerator:
    return ExplainedProgramGenerator(
        **{"system": "Explain.", "user": "$document", "sampling": Sampling(max_tokens=99), **changes}
    )


def test_the_document_is_the_code_with_its_explanation():
    end, _ = run(explained(min_named=2), AREA, "\n`area(r)` multiplies `PI` and the square.\n")
    assert end == Finished(
        text="````python\ndef area(r):\n    return PI * r ** 2  # ```\n````\n\n`area(r)` multiplies `PI` and the square.",
        meta={"named": "2"},
    )


REFUSED = {
    "a name that is not there": ("`volume()` multiplies.", "names_what_is_not_there"),
    "a part that is not there": ("`area.unit` tells.", "names_what_is_not_there"),
    "no name": ("It multiplies.", "names_too_little"),
    "nothing": ("", "empty_answer"),
    "half": (CUT, "cut_off"),
    "control tokens": ("`area`</s>", "control_tokens"),
}


@pytest.mark.parametrize(("said", "why"), REFUSED.values(), ids=REFUSED)
def test_what_explains_nothing_is_refused(said, why):
    assert reason(explained(min_named=1), AREA, said) == why


def test_only_what_is_written_like_a_name_counts():
    assert quoted_names("`a.b(1)`, `c`, `d + e`, `'f'`, ``g``, `h`") == {"a", "b", "c", "h"}


def test_it_cannot_want_less_than_nothing():
    with pytest.raises(ValueError, match="min_named must be 0 or more"):
        explained(min_named=-1)


def test_json_gives_it_back():
    assert ExplainedProgramGenerator.from_json(explained(min_named=3).to_json()) == explained(min_named=3)
    assert explained().names() == {"document"}
