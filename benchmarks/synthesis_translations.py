"""The gates of translation on human translations: how many they let pass, and how many planted faults they catch.

The translations are a physics book from English to Spanish (paragraph by paragraph, every paragraph that both editions
have) and 100 worded problems from English into ten languages. No other tool has such gates, so the bars are on our own
shares. Two editions of a book differ, and a translator errs; such pairs count as any other, and their share is what keeps
the first figure from being 100 %.
"""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

from assets.synthesized.stem_translated import gates
from benchmarks.harness import Measure, at_least, print_measures
from corpusmill.synthesize.masking import MASKS, protected_spans, without
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.number_digits import digit_numbers
from corpusmill.synthesize.verify.numbers import numbers
from corpusmill.synthesize.verify.registry import refusal

DATA = Path(__file__).parents[2] / "shared" / "data"
PHYSICS = DATA / "stem_openstax_physics"
PROBLEMS = DATA / "stem_mgsm"
LANGUAGES = ("es", "fr", "de", "ru", "th", "sw", "bn", "te", "zh", "ja")
MIN_SHARE = 0.98
"""Of human translations that pass, and of each kind of planted fault that is caught."""
MIN_PROSE_LETTERS = 20
"""A paragraph with fewer letters of prose has nothing to leave untranslated."""
_CNXML, _MATHML = "{http://cnx.rice.edu/cnxml}", "{http://www.w3.org/1998/Math/MathML}"
_SYMBOLS = {"km": "m", "cm": "km", "m": "km", "kg": "g", "g": "kg", "s": "ms", "N": "kN", "J": "kJ", "%": "°"}
_MEASURED = re.compile(r"(?<=\d )(?P<unit>km|cm|kg|m|g|s|N|J)(?![^\W_/·*^ ]|[/·²³⁻^]|\w)|(?<=\d )(?P<percent>%)")

Pair = tuple[str, str]
Plant = Callable[[Pair, random.Random], str | None]
"""From a pair to the translation with a fault, None where it has no place for one."""


def measures() -> list[Measure]:
    """Return the measures; none, with a line that says why, where the data is absent."""
    if not DATA.exists():
        print(f"no measures of translations: {DATA} is absent")
        return []
    book = book_pairs()
    problems = {language: problem_pairs(language) for language in LANGUAGES}
    print(f"{len(book):,} paragraphs of a book, {len(LANGUAGES)} x {len(problems['es'])} problems")
    return [*_passed(book, problems), *_caught(book, problems)]


def book_pairs() -> list[Pair]:
    """Return all paragraphs that both editions have."""
    pairs: list[Pair] = []
    for file in sorted(PHYSICS.glob("pairs_*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for module in map(json.loads, lines):
                english, spanish = paragraphs(module["cnxml_en"]), paragraphs(module["cnxml_es"])
                pairs += [(english[name], spanish[name]) for name in english if english[name] and spanish.get(name)]
    return pairs


def problem_pairs(language: str) -> list[Pair]:
    rows = [
        json.loads(line)
        for file in sorted(PROBLEMS.glob("mgsm_*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]
    return [(row["en"], row[language]) for row in rows]


def paragraphs(document: str) -> dict[str, str]:
    """Return the text of each paragraph of CNXML by its id; MathML stays as it is, without prefixes."""
    found = {element.get("id"): _text(element) for element in ElementTree.fromstring(document).iter(f"{_CNXML}para")}
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in found.items() if name}


def _text(element: ElementTree.Element) -> str:
    pieces = [element.text or ""]
    for child in element:
        if child.tag == f"{_MATHML}math":
            markup = ElementTree.tostring(child, encoding="unicode").rsplit(">", 1)[0] + ">"
            pieces.append(re.sub(r"(</?)\w+:|\sxmlns:\w+=\"[^\"]*\"", r"\1", markup))
        else:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def reasons(pairs: Iterable[Pair], language: str) -> list[str | None]:
    """Return why the gates refuse each translation, None where they let it pass."""
    checks = [(item.verifier, item.parameters) for item in gates(language)]
    cases = (Case(seed=seed, output=output, seed_language="en", language=language) for seed, output in pairs)
    return [refusal(case, checks) for case in cases]


def have_other_numbers(pair: Pair) -> bool:
    """Return whether one of two texts has a number of two digits or more that the other does not have: contents differ."""
    found = [numbers(text, language) for text, language in zip(pair, ("en", "es"), strict=True)]
    values = [frozenset().union(*(number.readings for number in side)) for side in found]
    return any(
        number.is_digits and not number.readings & other and max(map(_num_digits, number.readings)) > 1
        for side, other in zip(found, reversed(values), strict=True)
        for number in side
    )


def _num_digits(value: str) -> int:
    return len(value.replace(".", "").strip("0"))


def _passed(book: Sequence[Pair], problems: dict[str, list[Pair]]) -> Iterator[Measure]:
    found = {language: reasons(pairs, language) for language, pairs in problems.items()}
    in_book = reasons(book, "es")
    yield _share("paragraphs of the book that pass all gates", _none(in_book))
    refused = [pair for pair, reason in zip(book, in_book, strict=True) if reason is not None]
    yield _share(
        "refused paragraphs of which one edition has numbers of its own", map(have_other_numbers, refused), bar=None
    )
    yield _share("problems that pass all gates", [passed for row in found.values() for passed in _none(row)])
    for language, row in found.items():
        yield _share(f"problems that pass, {language}", _none(row), bar=None)


def _caught(book: Sequence[Pair], problems: dict[str, list[Pair]]) -> Iterator[Measure]:
    for name, plant in PLANTS.items():
        if in_book := reasons(planted(book, plant), "es"):
            yield _share(f"book, {name}: caught", _not_none(in_book))
        rows = {language: _not_none(reasons(planted(pairs, plant), language)) for language, pairs in problems.items()}
        caught = [is_caught for row in rows.values() for is_caught in row]
        if caught:
            yield _share(f"problems, {name}: caught", caught)
        for language, row in rows.items():
            if row:
                yield _share(f"problems, {name}: caught, {language}", row, bar=None)
    for target in LANGUAGES:
        others = [pair for other in LANGUAGES if other != target for pair in problems[other]]
        yield _share(f"problems, another language for {target}: caught", _not_none(reasons(others, target)))


def planted(pairs: Iterable[Pair], plant: Plant) -> Iterator[Pair]:
    chance = random.Random(0)
    for seed, output in pairs:
        if (faulty := plant((seed, output), chance)) is not None:
            yield seed, faulty


def changed_digit(pair: Pair, chance: random.Random) -> str | None:
    """One digit of one number is another digit."""
    _, text = pair
    places = [match.start() for match in re.finditer(r"\d", re.sub(r"<[^>]*>", _blank, text))]
    if not places:
        return None
    at = chance.choice(places)
    digit = chance.choice([digit for digit in "123456789" if int(digit) != int(text[at])])
    return text[:at] + digit + text[at + 1 :]


def another_number(pair: Pair, chance: random.Random) -> str | None:
    """One number is another number of as many digits."""
    _, text = pair
    places = [match.span() for match in re.finditer(r"\d+", re.sub(r"<[^>]*>", _blank, text))]
    if not places:
        return None
    start, end = chance.choice(places)
    first, last = 10 ** (end - start - 1), 10 ** (end - start) - 1
    other = chance.choice(
        [value for value in (chance.randint(first, last) for _ in range(9)) if value != int(text[start:end])]
    )
    return f"{text[:start]}{other}{text[end:]}"


def lost_number(pair: Pair, chance: random.Random) -> str | None:
    """A number of two digits or more that is said once is gone: smaller ones are said by words too."""
    _, text = pair
    spans = [(start, end, readings) for start, end, readings in digit_numbers(text, None)]
    once = [
        (start, end, readings)
        for start, end, readings in spans
        if end - start > 1 and sum(bool(readings & other[2]) for other in spans) == 1
    ]
    if not once or "<" in text:
        return None
    start, end, _ = chance.choice(once)
    return text[:start] + text[end:]


def lost_formula(pair: Pair, chance: random.Random) -> str | None:
    """One formula of the text is gone."""
    _, text = pair
    spans = protected_spans(text, ("formula",))
    if not spans:
        return None
    start, end, _ = chance.choice(spans)
    return text[:start] + text[end:]


def untranslated(pair: Pair, chance: random.Random) -> str | None:
    """The English text stands where the translation should."""
    seed, _ = pair
    return seed if _num_letters(seed) >= MIN_PROSE_LETTERS else None


def half_untranslated(pair: Pair, chance: random.Random) -> str | None:
    """The second half of the translation is the second half of the seed, in a paragraph of its own."""
    seed, output = pair
    if min(_num_letters(seed), _num_letters(output)) < 12 * MIN_PROSE_LETTERS or "<" in seed:
        return None
    cuts = [text.find(" ", len(text) // 2) for text in (output, seed)]
    return f"{output[: cuts[0]]}\n\n{seed[cuts[1] :].strip()}" if min(cuts) > 0 else None


def changed_unit(pair: Pair, chance: random.Random) -> str | None:
    """A number has another unit."""
    _, text = pair
    places = list(_MEASURED.finditer(text))
    if not places:
        return None
    match = chance.choice(places)
    return f"{text[: match.start()]}{_SYMBOLS[match.group()]}{text[match.end() :]}"


PLANTS: dict[str, Plant] = {
    "one digit changed": changed_digit,
    "one number changed": another_number,
    "a number lost": lost_number,
    "a formula lost": lost_formula,
    "untranslated": untranslated,
    "half untranslated": half_untranslated,
    "a unit changed": changed_unit,
}


def _num_letters(text: str) -> int:
    return len(re.findall(r"[^\W\d_]", without(text, MASKS)))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _none(found: Iterable[str | None]) -> list[bool]:
    return [reason is None for reason in found]


def _not_none(found: Iterable[str | None]) -> list[bool]:
    return [reason is not None for reason in found]


def _share(name: str, shares: Iterable[bool], *, bar: float | None = MIN_SHARE) -> Measure:
    held = list(shares)
    return Measure(
        measure=f"{name} (share of {len(held):,})",
        ours=sum(held) / len(held),
        bar=None if bar is None else at_least(bar),
    )


if __name__ == "__main__":
    print_measures(measures())
