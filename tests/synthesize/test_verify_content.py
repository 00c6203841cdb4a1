"""Verifiers of what a text speaks of: units, entities, personal data."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import VERIFIERS


def reason(verifier, seed, output, parameters=None, **case):
    return VERIFIERS[verifier](Case(seed=seed, output=output, **case), **(parameters or {}))


UNITS = {
    "as it is": ("a speed of 3.5 m/s", "una velocidad de 3,5 m/s", "es", None),
    "spelled out": ("a speed of 3.5 m/s", "una velocidad de 3,5 metros por segundo", "es", None),
    "another one": ("a speed of 3.5 m/s", "una velocidad de 3,5 km/s", "es", "unit_changed"),
    "another one, spelled out": ("a length of 3 km", "una longitud de 3 millas", "es", "unit_changed"),
    "miles an hour": ("at 60 mph", "mit 60 Meilen pro Stunde", "de", None),
    "lost": ("a mass of 12 kg.", "una masa de 12.", "es", "unit_lost"),
    "percent in words": ("5% of it", "el 5 por ciento", "es", None),
    "percent becomes degrees": ("5 % of it", "los 5 ° de ello", "es", "unit_changed"),
    "dollars in words": ("it costs $5", "cuesta 5 dólares", "es", None),
    "dollars become euros": ("it costs $5", "cuesta 5 €", "es", "unit_changed"),
    "raised in several ways": ("9.8 m/s²", "9,8 m/s^2", "es", None),
    "a word that is no unit": ("3 eggs", "3 huevos", "es", None),
    "two numbers, two units": ("3 m and 3 s", "3 s y 3 m", "es", None),
    "a language without a table: symbols": ("3 km", "3 cm", "ja", "unit_changed"),
    "a language without a table: words": ("3 km", "3キロメートル", "ja", None),
    "a light-year is no year": ("100 light-years", "100 años luz", "es", None),
    "a decade is no time": ("in the 1960s.", "en los años 60.", "es", None),
    "no number": ("metres", "kilómetros", "es", None),
}


@pytest.mark.parametrize(("seed", "output", "language", "expected"), UNITS.values(), ids=UNITS)
def test_units_preserved(seed, output, language, expected):
    assert reason("units_preserved", seed, output, seed_language="en", language=language) == expected


PEOPLE = "In the letters of Newton and Leibniz to Huygens there is a quarrel."
ENTITIES = {
    "names stay": (PEOPLE, "En las cartas de Newton y Leibniz a Huygens hay una disputa.", "es", None),
    "with accents": ("She left Mexico, Peru, Panama.", "Dejó México, Perú y Panamá.", "es", None),
    "one of three is translated": ("They saw London, Oslo, Ghent.", "Vieron Londres, Oslo y Gante.", "es", None),
    "names are gone": (PEOPLE, "En las cartas de tres sabios hay una disputa.", "es", "names_lost"),
    "sentences begin with capitals": (
        "Fish is sold. Boats are old. Lamps are lit.",
        "Se vende. Son viejos.",
        "es",
        None,
    ),
    "an address": ("See https://example.org/a for more.", "Vea más.", "es", "identifier_lost"),
    "an address that stays": ("See https://example.org/a.", "Vea https://example.org/a.", "es", None),
    "an identifier": ("Call max_value twice.", "Llame a valor_maximo dos veces.", "es", "identifier_lost"),
    "an identifier in code": ("Call `max_value` twice.", "Llame a la función dos veces.", "es", None),
    "letters without capitals": (PEOPLE, "三位学者的书信中有一场争论。", "zh", None),
    "an identifier among other letters": ("Call max_value twice.", "调用两次。", "zh", "identifier_lost"),
}


@pytest.mark.parametrize(("seed", "output", "language", "expected"), ENTITIES.values(), ids=ENTITIES)
def test_entities_preserved(seed, output, language, expected):
    assert reason("entities_preserved", seed, output, seed_language="en", language=language) == expected


def test_names_that_a_model_made_up_are_refused_where_the_recipe_says_so():
    output = "Among the towns are Tallow, Fairwick and Oxmoor."
    limits = {"min_share": 0.0, "max_invented_share": 0.5}
    assert reason("entities_preserved", "The towns of Tallow.", output, limits) == "names_invented"
    assert reason("entities_preserved", "There are Tallow and Oxmoor.", output, limits) is None


def test_a_shorter_text_may_lose_identifiers_where_the_recipe_says_so():
    lost = {"min_share": 0.0, "may_lose_identifiers": True}
    assert reason("entities_preserved", "See https://example.org/a.", "See there.", lost) is None


PERSONAL = {
    "nothing": ("A harbour.", "A harbour.", None),
    "the seed's own": ("Write to anna@harbour.dk now.", "You can write to anna@harbour.dk.", None),
    "in other case": ("Write to Anna@Harbour.dk now.", "You can write to anna@harbour.dk.", None),
    "made up": ("Write to the harbour.", "Write to anna@harbour.dk.", "personal_data_added"),
    "another one": ("Write to anna@harbour.dk.", "Write to hanna@harbour.dk.", "personal_data_added"),
    "nobody's address": ("Write to the harbour.", "Write to anna@example.com.", None),
    "a card": ("Pay by card.", "Pay by card 4111 1111 1111 1111.", "personal_data_added"),
    "the same card in other groups": ("Card 4111-1111-1111-1111.", "Card 4111 1111 1111 1111.", None),
}


@pytest.mark.parametrize(("seed", "output", "expected"), PERSONAL.values(), ids=PERSONAL)
def test_no_pii_added(seed, output, expected):
    assert reason("no_pii_added", seed, output) == expected


PARAMETERS = {
    "length_ratio": {"minimum": 0.5, "maximum": 2},
    "not_copied": {"max_share": 0.5},
    "grounded": {"min_share": 0.5},
}
OF_TEXTS = (
    *("entities_preserved", "fact_list", "faq", "formulas_preserved", "grounded", "impersonal", "length_ratio"),
    *("no_assistant_talk", "no_pii_added", "not_copied", "not_repetitive", "numbers_preserved", "question_answer"),
    *("table_form", "target_language", "tutorial_steps", "units_preserved"),
)
PIECES = st.sampled_from(
    [
        "9" * 60,
        "s",
        " ",
        "5",
        ".",
        ",",
        "×10",
        "^",
        "⁹",
        "% ",
        "km",
        "½",
        "十",
        "億",
        "折",
        "saa ",
        "$",
        "|",
        "---",
        "\n",
        "- ",
        "?",
    ]
)


@given(
    st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join),
    st.text(max_size=20),
    st.sampled_from([None, "en", "ja"]),
)
def test_any_text_is_judged(seed, output, language):
    case = Case(seed=seed, output=output + seed, seed_language=language, language=language or "es")
    for verifier in OF_TEXTS:
        found = VERIFIERS[verifier](case, **PARAMETERS.get(verifier, {}))
        assert found is None or found.islower()
