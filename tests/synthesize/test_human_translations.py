"""Human translations pass the gates of translation, and the same translations with a planted fault do not.

The data lie beside the project (`../shared/data`); absent, these tests are skipped.
"""

import gzip
import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.registry import refusal

DATA = Path(__file__).parents[3] / "shared" / "data"
PHYSICS = DATA / "stem_openstax_physics" / "pairs_vol1.jsonl.gz"
PROBLEMS = DATA / "stem_mgsm" / "mgsm_000-099.jsonl"
CNXML, MATHML = "{http://cnx.rice.edu/cnxml}", "{http://www.w3.org/1998/Math/MathML}"
GATES = [("formulas_preserved", {}), ("numbers_preserved", {}), ("target_language", {})]


def paragraphs(document: str) -> dict[str, str]:
    found = {element.get("id"): _text(element) for element in ElementTree.fromstring(document).iter(f"{CNXML}para")}
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in found.items() if name}


def _text(element: ElementTree.Element) -> str:
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{MATHML}math":
            markup = ElementTree.tostring(child, encoding="unicode").rsplit(">", 1)[0] + ">"
            pieces.append(re.sub(r"(</?)\w+:|\sxmlns:\w+=\"[^\"]*\"", r"\1", markup))
        else:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def physics() -> Iterator[tuple[str, str]]:
    if not PHYSICS.exists():
        pytest.skip(f"{PHYSICS} is not there")
    with gzip.open(PHYSICS, "rt", encoding="utf-8") as file:
        for line in itertools.islice(file, 0, None, 3):
            pair = json.loads(line)
            english, spanish = paragraphs(pair["cnxml_en"]), paragraphs(pair["cnxml_es"])
            yield from ((english[name], spanish[name]) for name in english if spanish.get(name))


def problems(language: str) -> list[tuple[str, str]]:
    if not PROBLEMS.exists():
        pytest.skip(f"{PROBLEMS} is not there")
    rows = [json.loads(line) for line in PROBLEMS.read_text(encoding="utf-8").splitlines()]
    return [(row["en"], row[language]) for row in rows]


def share_passed(pairs, gates, language="es") -> float:
    cases = [Case(seed=seed, output=output, seed_language="en", language=language) for seed, output in pairs]
    return sum(refusal(case, gates) is None for case in cases) / len(cases)


@pytest.fixture(scope="module")
def physics_pairs() -> list[tuple[str, str]]:
    return [pair for pair in physics() if len(pair[0]) > 40]


def test_numbers_and_formulas_of_a_translated_book_pass(physics_pairs):
    assert len(physics_pairs) > 1_500
    assert share_passed(physics_pairs, GATES[:1]) >= 0.99
    assert share_passed(physics_pairs, GATES[1:2]) >= 0.98


def test_the_language_of_a_translated_book_is_recognised(physics_pairs):
    long = [pair for pair in physics_pairs if len(re.sub(r"<[^>]*>", "", pair[1])) > 120]
    assert share_passed(long[::5], GATES[2:]) >= 0.98


SHARES = {
    "es": 1.0, "fr": 0.97, "de": 1.0, "ru": 1.0, "th": 0.98, "sw": 0.98, "bn": 1.0, "te": 1.0, "zh": 0.95, "ja": 0.91,
}  # fmt: skip


@pytest.mark.parametrize(("language", "expected"), SHARES.items(), ids=SHARES)
def test_numbers_of_translated_problems_pass(language, expected):
    assert share_passed(problems(language), GATES[1:2], language) >= expected


def changed_number(text: str, chance: random.Random) -> str:
    """One digit of one number is another digit."""
    places = [match.start() for match in re.finditer(r"\d", text)]
    at = chance.choice(places)
    return text[:at] + chance.choice([digit for digit in "123456789" if digit != text[at]]) + text[at + 1 :]


@pytest.mark.parametrize("language", ["es", "fr", "de", "ru", "zh", "bn"])
def test_a_changed_digit_is_caught(language):
    chance = random.Random(0)
    pairs = [pair for pair in problems(language) if re.search(r"\d", pair[1])]
    planted = [(seed, changed_number(output, chance)) for seed, output in pairs for _ in range(5)]
    assert 1 - share_passed(planted, GATES[1:2], language) >= 0.98


def test_a_lost_formula_is_caught(physics_pairs):
    pairs = [pair for pair in physics_pairs if 0 < pair[1].count("<math") < 20]
    planted = [(seed, re.sub(r"<math.*?</math>", "", output, count=1)) for seed, output in pairs]
    assert 1 - share_passed(planted, GATES[:1]) >= 0.98


def test_untranslated_text_is_caught(physics_pairs):
    planted = [(seed, seed) for seed, _ in physics_pairs if len(re.sub(r"<[^>]*>", "", seed)) > 120]
    assert 1 - share_passed(planted[::5], GATES[2:]) >= 0.98
