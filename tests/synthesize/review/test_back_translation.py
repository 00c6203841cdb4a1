"""What is translated there and back must say what it said: compared by numbers, units, names and spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.asking import Answer, Failed, Finished, GivenUp, Material, advance
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.reviewed import ReviewedGenerator
from corpusmill.synthesize.recipe import SecondaryInputs
from corpusmill.synthesize.review.back_translation import BackTranslation
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.character_runs import chrf
from corpusmill.synthesize.verify.near_seed import near_seed
from tests.synthesize.generators.scripted import CUT, run
from tests.synthesize.rows import generator, recipe

SEED = (
    "In 1905 Albert Einstein, a clerk in Bern, showed that a body with a mass of 12 kg at a speed of 3.5 m/s is no "
    "exception: ⟦F1⟧ holds for it as well."
)
THERE = (
    "En 1905 Albert Einstein, empleado en Berna, mostró que un cuerpo con una masa de 12 kg a una velocidad de 3,5 m/s "
    "no es una excepción: ⟦F1⟧ vale también para él."
)
BACK = (
    "In 1905 Albert Einstein, an employee in Bern, showed that a body with a mass of 12 kg at a speed of 3.5 m/s is not "
    "an exception: ⟦F1⟧ is valid for it too."
)
REVIEW = BackTranslation(user="$output\nTranslate into $source.", sampling=Sampling(max_tokens=64))
MATERIAL = Material(
    text=SEED, language="en", output_language="es", words={"source": "English"}, exemplars=[("One.", "Uno.")]
)


def reviewed() -> ReviewedGenerator:
    return ReviewedGenerator(generator=generator(), checks=(check("target_language"),), reviews=(REVIEW,))


def test_what_comes_back_as_it_was_passes():
    end, asked = run(reviewed(), MATERIAL, THERE, f"<output>\n{BACK}\n</output>")
    assert end == Finished(text=THERE, meta={"back_translation_likeness": "0.780"})
    assert asked[1].step == "back_translation"
    assert asked[1].messages == (
        {"role": "user", "content": f"<output>\n{THERE}\n</output>\nTranslate into English."},
    ), "neither the seed nor worked examples"


LOST = {
    "another number": (BACK.replace("1905", "1915"), "number_"),
    "another unit": (BACK.replace("12 kg", "12 g"), "unit_changed"),
    "a formula lost": (BACK.replace("⟦F1⟧", "this"), "formula_lost"),
    "no translation back": (THERE, "wrong_language"),
    "another text": (
        "The pier shelters the boats from 1905 on, 12 kg and 3.5 m/s: ⟦F1⟧ is what they are.",
        "names_lost",
    ),
    "the beginning only": (BACK[:96], "formula_lost"),
    "cut off": (CUT, "cut_off"),
    "nothing": ("", "empty_answer"),
}


@pytest.mark.parametrize(("back", "why"), LOST.values(), ids=LOST)
def test_what_does_not_come_back_is_lost(back, why):
    end, _ = run(reviewed(), MATERIAL, THERE, back)
    assert isinstance(end, GivenUp)
    assert (end.reason, end.text) == ("lost_in_back_translation", THERE)
    assert end.meta["back_translation_lost"].startswith(why)
    assert 0 <= float(end.meta["back_translation_likeness"]) < 1


def test_one_that_says_nothing_gives_nothing_back():
    def known(ask):
        return Failed(reason="empty_answer") if ask.step == "back_translation" else Answer(text=THERE)

    assert advance(reviewed().program(MATERIAL), known).meta["back_translation_lost"] == "empty_answer"


def test_what_is_refused_at_once_is_not_translated_back():
    end, asked = run(reviewed(), MATERIAL, SEED)
    assert (end.reason, len(asked)) == ("wrong_language", 1)


def test_a_recipe_gives_the_words_of_the_prompt():
    with pytest.raises(ValueError, match=r"asks for \$source in its prompt"):
        recipe(generator=reviewed())
    assert recipe(generator=reviewed(), secondary=SecondaryInputs(words={"source": "English"}))


WRONG = {
    "sight of the seed": ({"user": "$output $document"}, r"no \$document"),
    "no sight of the text": ({"user": "Translate."}, r"is shown \$output"),
    "no check": ({"checks": ()}, "asked for nothing"),
    "a check without its tuple": ({"checks": check("compiles")}, "checks of a back-translation takes a tuple of Check"),
}


@pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        BackTranslation(**{"user": "$output", "sampling": Sampling(max_tokens=8), **changes})


ALIKE = {
    "the same": ("a b c d", "ab cd", 1.0),
    "nothing in common": ("abc", "xyz", 0.0),
    "a beginning": ("ab", "abc", 5 * (7 / 12) / (4 + 7 / 12)),
    "too much": ("abc", "ab", 5 * (7 / 12) / (4 * 7 / 12 + 1)),
    "one letter of two": ("a", "ab", 5 * 0.5 / 4.5),
    "nothing": ("", "ab", 0.0),
    "two times nothing": (" ", "", 1.0),
}


@pytest.mark.parametrize(("text", "reference", "expected"), ALIKE.values(), ids=ALIKE)
def test_chrf_is_as_computed_by_hand(text, reference, expected):
    assert chrf(text, reference) == pytest.approx(expected)


@given(st.text(alphabet="ab c", max_size=12), st.text(alphabet="ab c", max_size=12))
def test_chrf_is_a_share_and_1_for_a_text_itself(text, reference):
    assert 0 <= chrf(text, reference) <= 1 + 1e-9
    assert chrf(text, text) == pytest.approx(1.0)


def test_formulas_say_nothing_about_how_near_two_texts_are():
    case = Case(seed="The pier of $x^2 + y^2$ shelters.", output="Boats $x^2 + y^2$ wait.")
    assert near_seed(case, min_likeness=0.3) == "far_from_seed"
    assert near_seed(case, min_likeness=0.05) is None
