"""Verifiers of texts: a table of cases, each with its story."""

import pytest

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import VERIFIERS, refusal

ENGLISH = "The harbour was built when the town began to sell fish to the cities of the south, and it is still in use."
SPANISH = "El puerto se construyó cuando el pueblo empezó a vender pescado a las ciudades del sur, y todavía se usa."
SEED = "The speed of the ball is 3.5 m/s after two seconds, and 1,200 people watched it fall in 1994."


def reason(verifier, seed, output, parameters=None, **case):
    return VERIFIERS[verifier](Case(seed=seed, output=output, **case), **(parameters or {}))


LENGTHS = {"far shorter": ("abc", "too_short"), "as long": ("a" * 10, None), "far longer": ("a" * 21, "too_long")}


@pytest.mark.parametrize(("output", "expected"), LENGTHS.values(), ids=LENGTHS)
def test_length_ratio(output, expected):
    assert reason("length_ratio", "b" * 10, output, {"minimum": 0.5, "maximum": 2}) == expected


def test_length_has_a_floor_in_characters():
    assert reason("length_ratio", "b", "ab", {"minimum": 0.5, "maximum": 2, "min_characters": 5}) == "too_short"


LANGUAGES = {
    "translated": (SPANISH, None),
    "untranslated": (ENGLISH, "wrong_language"),
    "one paragraph left out": (f"{SPANISH}\n\n{ENGLISH}", "wrong_language"),
    "English code in a Spanish text": (f"{SPANISH}\n```\nprint('this is all English, it is a program')\n```", None),
    "a short English name is too short to tell": (f"{SPANISH}\nNew York Times\n{SPANISH}", None),
    "nothing to read": ("$x$", "wrong_language"),
}


@pytest.mark.parametrize(("output", "expected"), LANGUAGES.values(), ids=LANGUAGES)
def test_target_language(output, expected):
    assert reason("target_language", ENGLISH, output, language="es") == expected


def test_languages_are_named_and_told_apart_as_curation_does():
    norwegian = "Havnen ble bygget da byen begynte å selge fisk til byene i sør, og den er fortsatt i bruk hver dag."
    assert reason("target_language", ENGLISH, norwegian, language="nb") is None
    assert reason("target_language", ENGLISH, norwegian, language="da") == "wrong_language"


def test_the_detector_is_the_caller_s_choice():
    assert reason("target_language", "a", "b " * 60, language="xx", detect_language=lambda text: {"xx": 1.0}) is None


def test_a_language_check_needs_a_language():
    with pytest.raises(ValueError, match="set it in the recipe's output"):
        reason("target_language", "a", "b")


LOOP = "The table is a table that holds the rows. " * 6
REPEATED = {
    "prose": (ENGLISH, ENGLISH, None),
    "a loop": (ENGLISH, LOOP, "repetitive"),
    "a loop in the seed too": (LOOP, LOOP, None),
    "one character for ever": (ENGLISH, ENGLISH + "!" * 60, "repetitive"),
    "a ruler in both": ("-" * 60, f"{ENGLISH}\n{'-' * 60}", None),
    "too short to repeat": (ENGLISH, "No.", None),
}


@pytest.mark.parametrize(("seed", "output", "expected"), REPEATED.values(), ids=REPEATED)
def test_repetition(seed, output, expected):
    assert reason("not_repetitive", seed, output) == expected


COPIED = {
    "the seed again": (ENGLISH, "copied_from_seed"),
    "in other case and marks": (ENGLISH.upper().replace(",", ";"), "copied_from_seed"),
    "new words": ("Fish was sold to southern cities from a harbour that people use to this day, long after.", None),
}


@pytest.mark.parametrize(("output", "expected"), COPIED.values(), ids=COPIED)
def test_copying(output, expected):
    assert reason("not_copied", ENGLISH, output, {"max_share": 0.6}) == expected


GROUNDED = {
    "the same matter": ("A harbour for selling fishes to southern city folk was built in the towns.", None),
    "another matter": (
        "Quantum computers will revolutionize banking, healthcare and logistics worldwide.",
        "not_grounded",
    ),
    "nothing": ("", "not_grounded"),
}


@pytest.mark.parametrize(("output", "expected"), GROUNDED.values(), ids=GROUNDED)
def test_grounding(output, expected):
    assert reason("grounded", ENGLISH + " towns", output, {"min_share": 0.5}) == expected


TALK = {
    "about the task": ("Here is a rewritten version of the text: it is good.", "assistant_talk"),
    "a refusal": ("I'm sorry, I cannot help with that.", "assistant_talk"),
    "who it is": ("As an AI language model, I like harbours.", "assistant_talk"),
    "about the document": ("The provided text tells of a harbour.", "assistant_talk"),
    "plain": ("The harbour is old.", None),
}


@pytest.mark.parametrize(("output", "expected"), TALK.values(), ids=TALK)
def test_assistant_talk(output, expected):
    assert reason("no_assistant_talk", ENGLISH, output) == expected


def test_a_seed_may_talk_like_an_assistant():
    assert reason("no_assistant_talk", "Feel free to call us.", "You may feel free to call.") is None


QUESTIONS = {
    "two pairs": ("Question: A?\nAnswer: B.\n\nQuestion: C?\nAnswer: D.", None),
    "numbered, in bold": ("**Question 1:** A?\n**Answer:** B.\n\n**Question 2:** C?\n**Answer:** D.", None),
    "short": ("Q: A?\nA: B.\nQ: C?\nA: D.", None),
    "one pair": ("Question: A?\nAnswer: B.", "too_few_question_answer_pairs"),
    "the same twice": ("Question: A?\nAnswer: B.\n\nQuestion: A?\nAnswer: C.", "too_few_question_answer_pairs"),
    "no answers": ("Question: A?\n\nQuestion: C?", "too_few_question_answer_pairs"),
    "prose": ("A is B.", "too_few_question_answer_pairs"),
}


@pytest.mark.parametrize(("output", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_question_answer(output, expected):
    assert reason("question_answer", "", output, {"min_pairs": 2}) == expected


NUMBERS = {
    "the same": (SEED, SEED, None),
    "a comma for a point and a point for a comma": (SEED, "3,5 m/s, dos, 1.200 en 1994", None),
    "a thin blank between thousands": (SEED, "3,5 m/s et 1\u202f200 en 1994", None),
    "a digit for a word": ("three eggs", "3 huevos", None),
    "a word for a digit": ("3 eggs", "tres huevos", None),
    "a changed number": (SEED, "3,5 m/s, 1.300 en 1994", "number_lost"),
    "a changed decimal": (SEED, "3,6 m/s, 1.200 en 1994", "number_lost"),
    "a lost number": (SEED, "3,5 m/s y 1.200", "number_lost"),
    "a new number": ("He ate 3 eggs.", "Comió 3 huevos a las 7.", "number_invented"),
    "half as a decimal": ("It takes .5 hours.", "Tarda media hora.", None),
    "a decimal without its zero": ("It takes .75 bags.", "Lleva 0,75 bolsas.", None),
    "the clock of 24 hours": ("from 1:00 PM to 5:00 PM", "de 13:00 a 17:00", None),
    "Bengali digits": ("16 eggs", "১৬টি ডিম", None),
    "ten thousands": ("$80,000", "8万ドル", None),
    "one half as a sign": ("1/2 of it", "½", None),
    "dates are three numbers": ("on 3.4.2020", "el 4/3/2020", None),
    "zeros at the end": ("$15.00", "15 dólares", None),
    "one of two is changed": ("2 men, 3 women, 3 days", "2 hombres, 2 mujeres, 3 días", "number_changed"),
    "said once more": ("2 men, 3 women", "2 hombres y 3 mujeres, esas 3", None),
    "a leading zero is no group": ("0.125 kg", "125 kg", "number_lost"),
}


@pytest.mark.parametrize(("seed", "output", "expected"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_preserved(seed, output, expected):
    assert reason("numbers_preserved", seed, output) == expected


def test_a_share_of_the_numbers_may_change_where_the_recipe_says_so():
    seed, output = "1 2 3 4 5 6 7 8 9 10", "1 2 3 4 5 6 7 8 9 11"
    assert reason("numbers_preserved", seed, output) == "number_lost"
    assert reason("numbers_preserved", seed, output, {"max_changed_share": 0.1}) is None


FORMULAS = {
    "in another order": ("$a$ then $b$", "$b$ y $a$", None),
    "a decimal comma": ("$v = 1.5$", "$v = 1{,}5$", None),
    "words inside": (r"$a \text{ and } b$", r"$a \text{ y } b$", None),
    "another markup": ("<math><mi>a</mi><mo>=</mo><mi>b</mi></math>", "$a = b$", None),
    "one lost": ("$a$ then $b$", "$a$", "formula_lost"),
    "one more": ("$a$", "$a$ y $b$", "formula_invented"),
    "another one": ("$a$", "$c$", "formula_changed"),
    "one lost of a hundred": ("$a$ " * 100, "$a$ " * 99, None),
    "three lost of a hundred": ("$a$ " * 100, "$a$ " * 97, "formula_lost"),
    "none at all": ("text", "texto", None),
}


@pytest.mark.parametrize(("seed", "output", "expected"), FORMULAS.values(), ids=FORMULAS)
def test_formulas_preserved(seed, output, expected):
    assert reason("formulas_preserved", seed, output) == expected


def test_the_first_reason_decides():
    case = Case(seed=ENGLISH, output="I'm sorry.")
    length = ("length_ratio", {"minimum": 0.5, "maximum": 2})
    assert refusal(case, [("no_assistant_talk", {}), length]) == "assistant_talk"
    assert refusal(case, [length, ("no_assistant_talk", {})]) == "too_short"
    assert refusal(case, []) is None
