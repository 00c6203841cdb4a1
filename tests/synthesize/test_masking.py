"""Formulas and code come back exactly as they were, or the answer is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.masking import mask, unmask, without

BOTH = ("formula", "code")

MASKED = {
    "inline": ("Let $x^2$ be.", "Let ⟦F1⟧ be."),
    "display": (r"So $$a = b$$ and \[c\] and \(d\).", "So ⟦F1⟧ and ⟦F2⟧ and ⟦F3⟧."),
    "environment": (r"\begin{align*}a &= b\\c\end{align*} holds", "⟦F1⟧ holds"),
    "mathml": ('Then <m:math><m:mi>x</m:mi></m:math>, <math display="block"><mi>y</mi></math>.', "Then ⟦F1⟧, ⟦F2⟧."),
    "rest role": ("The :math:`\\sin x` wave", "The ⟦F1⟧ wave"),
    "rest block": ("See:\n\n.. math::\n\n   a = b\n\nNow", "See:\n\n⟦F1⟧\n\nNow"),
    "prices are no formula": ("It costs $5 or $10 a day.", "It costs $5 or $10 a day."),
    "an escaped dollar": (r"\$5 and \$6", r"\$5 and \$6"),
    "inline code": ("Call `f(x)` or ``g``.", "Call ⟦C1⟧ or ⟦C2⟧."),
    "fenced code": ("Run\n```python\nx = '$a$'\n```\nnow", "Run\n⟦C1⟧\nnow"),
    "a doctest": ("Try\n>>> 1 + 1\n2\n\nDone", "Try\n⟦C1⟧\n\nDone"),
    "code around a formula": ("`$x$` is $x$", "⟦C1⟧ is ⟦F2⟧"),
    "a mark in the text itself": ("⟦F1⟧ and $x$", "⟦C1⟧ and ⟦F2⟧"),
    "an open formula": (r"\[ a and $ b", r"\[ a and $ b"),
}


@pytest.mark.parametrize(("text", "expected"), MASKED.values(), ids=MASKED)
def test_mask(text, expected):
    masked = mask(text, BOTH)
    assert masked.text == expected
    assert unmask(masked.text, masked.originals) == (text, None)


ANSWERS = {
    "another order": ("⟦F2⟧ es ⟦F1⟧", ("$b$ es $a$", None)),
    "blanks in the mark": ("⟦ F1 ⟧ es ⟦F 2⟧", ("$a$ es $b$", None)),
    "one lost": ("⟦F1⟧ es", ("$a$ es", "formula_lost")),
    "one twice": ("⟦F1⟧ es ⟦F2⟧ ⟦F2⟧", ("$a$ es $b$ $b$", "formula_lost")),
    "one invented": ("⟦F1⟧ es ⟦F2⟧ ⟦F3⟧", ("$a$ es $b$ ⟦F3⟧", "formula_lost")),
    "brackets lost": ("F1 es ⟦F2⟧", ("F1 es $b$", "formula_lost")),
}


@pytest.mark.parametrize(("answer", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_unmask(answer, expected):
    assert unmask(answer, mask("$a$ is $b$", BOTH).originals) == expected


def test_a_mark_where_none_was_given_is_refused():
    assert unmask("es ⟦F1⟧", {}) == ("es ⟦F1⟧", "formula_lost")


def test_only_the_asked_kinds_are_masked():
    assert mask("`f` is $x$", ("formula",)).text == "`f` is ⟦F1⟧"
    assert mask("`f` is $x$", ()).text == "`f` is $x$"


def test_prose_is_what_is_left():
    assert without("Let $x$ be `y`.", BOTH) == "Let   be  ."


PIECES = st.sampled_from(
    [
        "$",
        "$$",
        "`",
        "```\n",
        "⟦F1⟧",
        "⟦",
        "a ",
        "\n",
        "\\[",
        "\\]",
        "\\(",
        "\\)",
        "<math>",
        "</math>",
        ">>> ",
        ":math:`x`",
    ]
)


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from([BOTH, ("formula",), ("code",), ()]))
def test_any_text_comes_back(text, kinds):
    masked = mask(text, kinds)
    assert unmask(masked.text, masked.originals)[0] == text
    if kinds:
        assert unmask(masked.text, masked.originals)[1] is None


@pytest.mark.parametrize(
    "opener", ["$a ", "\\[", "\\(", "<math>", "```\n", "\\begin{align}", "`", ">>> x\n", ".. math:: "]
)
def test_many_openers_without_an_end_take_no_time(opener):
    text = opener * (40_000 // len(opener))
    assert unmask(mask(text, BOTH).text, mask(text, BOTH).originals)[0] == text
