"""Verifiers of the form of a style: a table of cases, each with its story."""

import pytest

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import VERIFIERS


def reason(verifier, output, parameters=None, **case):
    return VERIFIERS[verifier](Case(seed="", output=output, **case), **(parameters or {}))


FACTS = {
    "dashes": ("- The pier is long.\n- The lamp is bright.\n- The town is old.", None),
    "numbers": ("1. The pier is long.\n2. The lamp is bright.\n3) The town is old.", None),
    "a title above": ("Facts\n- A is long here.\n- B is long here.\n- C is long here.\n- D is long here.", None),
    "two of them": ("- The pier is long.\n- The lamp is bright.", "too_few_facts"),
    "one fact three times": ("- The pier is long.\n" * 3, "too_few_facts"),
    "words instead of statements": ("- pier\n- lamp\n- town\n- harbour", "too_few_facts"),
    "questions": ("- Is the pier long?\n- Is the lamp bright?\n- Is the town old?", "too_few_facts"),
    "prose with a list in it": (
        "The pier.\nIt is old.\nIt is long.\n- It has a lamp.\n- It has a rail.\n- It has a gate.",
        "not_a_list",
    ),
    "prose": ("The pier is long. The lamp is bright. The town is old.", "too_few_facts"),
    "nothing": ("", "too_few_facts"),
}


@pytest.mark.parametrize(("output", "expected"), FACTS.values(), ids=FACTS)
def test_fact_list(output, expected):
    assert reason("fact_list", output) == expected


TABLES = {
    "a table": ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", None),
    "with text around": ("The lamps:\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n| 3 | 4 |\n\nAs told.", None),
    "without outer bars": ("a | b\n--- | ---\n1 | 2\n3 | 4", None),
    "a bar in a cell": ("| a | b |\n|---|---|\n| 1\\|2 | 2 |\n| 3 | 4 |", None),
    "no ruler": ("| a | b |\n| 1 | 2 |\n| 3 | 4 |", "no_table"),
    "a row too short": ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |", "uneven_table"),
    "one row": ("| a | b |\n|---|---|\n| 1 | 2 |", "too_small_a_table"),
    "one row twice": ("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |", "too_small_a_table"),
    "one column": ("| a |\n|---|\n| 1 |\n| 2 |", "too_small_a_table"),
    "nothing in it": ("| a | b |\n|---|---|\n|  | 2 |\n|  |  |", "empty_table"),
    "a rule below prose": ("The lamp\n---\nis bright.", "no_table"),
    "nothing": ("", "no_table"),
}


@pytest.mark.parametrize(("output", "expected"), TABLES.values(), ids=TABLES)
def test_table_form(output, expected):
    assert reason("table_form", output) == expected


ANSWER = "It was built in 1870 by the town itself."
QUESTIONS = {
    "headings": (f"### Who built it?\n{ANSWER}\n\n### When was it built?\n{ANSWER}", None),
    "bold": (f"**Who built it?**\n\n{ANSWER}\n\n**When was it built?**\n\n{ANSWER}", None),
    "numbered": (f"1. Who built it?\n{ANSWER}\n2. When was it built?\n{ANSWER}", None),
    "Q and A": (f"Q: Who built it?\nA: {ANSWER}\n\nQ: When was it built?\nA: {ANSWER}", None),
    "in Chinese": (
        "谁建造了这座港口？\n这座港口是由这个小镇自己建造的。\n什么时候建造的？\n它是在一百多年前建造的。",
        None,
    ),
    "one question": (f"### Who built it?\n{ANSWER}", "too_few_questions"),
    "one question twice": (f"### Who built it?\n{ANSWER}\n" * 2, "too_few_questions"),
    "no answer to the last": (f"### Who built it?\n{ANSWER}\n\n### When was it built?", "question_without_answer"),
    "an answer of one word": (
        f"### Who built it?\nNobody.\n\n### When was it built?\n{ANSWER}",
        "question_without_answer",
    ),
    "questions inside of prose": ("Who built it? And when? Nobody knows.", "too_few_questions"),
    "nothing": ("", "too_few_questions"),
}


@pytest.mark.parametrize(("output", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_faq(output, expected):
    assert reason("faq", output) == expected


STEPS = {
    "numbered": ("You will learn to tie a knot.\n\n1. Take the rope.\n2. Make a loop.\n3. Pull.", None),
    "named": ("## Step 1: Take the rope\nAny rope.\n\n## Step 2: Make a loop\nA small one.", None),
    "lists inside of named steps": ("**Step 1** Take\n1. rope\n2. knife\n\n**Step 2** Cut it\n1. once", None),
    "in Spanish": ("Paso 1: Tome la cuerda.\nPaso 2: Tire.", None),
    "one step": ("1. Take the rope.", "too_few_steps"),
    "a step left out": ("1. Take the rope.\n3. Pull.", "steps_out_of_order"),
    "every step is the first": ("1. Take the rope.\n1. Pull.", "steps_out_of_order"),
    "prose": ("Take the rope and pull.", "too_few_steps"),
    "nothing": ("", "too_few_steps"),
}


@pytest.mark.parametrize(("output", "expected"), STEPS.values(), ids=STEPS)
def test_tutorial_steps(output, expected):
    assert reason("tutorial_steps", output) == expected


VOICES = {
    "about its matter": ("en", "The harbour of Tallow was built in 1870.", None),
    "of itself": ("en", "We built the harbour in 1870.", "personal_voice"),
    "to the reader": ("en", "The harbour is what you’ll see first.", "personal_voice"),
    "in a quotation": ("en", "The mayor said “we built it ourselves” in 1870.", None),
    "in code": ("en", "The function `I` gives the current.", None),
    "the country, not the pronoun": ("en", "The US sells fish.", None),
    "in Spanish": ("es", "Nosotros construimos el puerto.", "personal_voice"),
    "of a language that is not known": ("xx", "I", None),
}


@pytest.mark.parametrize(("language", "output", "expected"), VOICES.values(), ids=VOICES)
def test_impersonal(language, output, expected):
    assert reason("impersonal", output, language=language) == expected


def test_a_share_of_personal_words_may_be_allowed():
    assert reason("impersonal", "We sell fish in the south.", {"max_share": 0.2}, language="en") is None
