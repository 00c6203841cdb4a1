"""Units: what a number measures stays what it is, however the language spells it.

Only numbers that stand in both texts are compared, by the units that stand with them: `3.5 m/s` may become
`3,5 metros por segundo`, never `3,5 km/s`. Where only one of two languages has its units in `unit_words`, only symbols
count.
"""

import functools
import html
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.number_digits import digit_numbers
from corpusmill.synthesize.verify.number_phrases import Readings
from corpusmill.synthesize.verify.unit_words import PERCENT, SPELLED, SYMBOLS

_TAG = re.compile(r"</?(?:\w{1,3}:)?m[a-z]+(?:\s[^<>]*)?>")
_GAP = r"[\s\u00a0\u202f-]{0,6}"
_WORD = re.compile(rf"{_GAP}[^\W\d_]")
_PLURAL = re.compile(r"['’]?s\b")
"""Of the 1960s: no seconds."""
UNKNOWN = "?"
"""A word behind a number that is no known unit."""
_CURRENCY = re.compile(r"(US\$|[$€£¥₹])\s?\Z")
_EXPONENT = str.maketrans("⁻⁰¹²³−–", "-0123--")
_LONGEST = sorted(SYMBOLS, key=lambda symbol: (-len(symbol), symbol))
_SYMBOL = "|".join(map(re.escape, _LONGEST))
_PART = rf"(?:{_SYMBOL})(?:\^?[-−–]?\d(?!\d)|[⁻⁰¹²³]{{1,3}})?"
_UNIT = re.compile(rf"{_GAP}(?:de\s)?(?P<unit>{_PART}(?:\s?[/·⋅]\s?{_PART}){{0,3}})(?![^\W\d_]|[\d(])")
_STEP = re.compile(rf"\s?(?P<joint>[/·⋅]?)\s?(?P<symbol>{_SYMBOL})(?P<exponent>\^?[-−–]?\d|[⁻⁰¹²³]{{1,3}})?")
_PER = {"en": r"(?:per|an|a)", "es": "(?:por|a la)", "fr": r"(?:par|à l['’])", "de": "(?:pro|in der)"}


def units_preserved(case: Case) -> str | None:
    """Refuse when a number of both texts has another unit, or has lost its one, in the output."""
    is_spelled = {case.seed_language, case.language} <= set(SPELLED)
    before = _by_value(case.seed, case.seed_language if is_spelled else None)
    after = _by_value(case.output, case.language if is_spelled else None)
    for value in before.keys() & after.keys():
        lost, new = _others(before[value], after[value]), _others(after[value], before[value])
        if lost and new:
            return "unit_changed"
        if is_spelled and lost == set(before[value]) and set(after[value]) == {None}:
            return "unit_lost"
    return None


def measures(text: str, language: str | None) -> Iterator[tuple[Readings, str | None]]:
    """Yield the numbers of a text with their units: UNKNOWN for one before any other word, None for one that stands alone."""
    plain = _TAG.sub(" ", html.unescape(text)).replace("µ", "μ")
    for start, end, readings in digit_numbers(plain, language):
        before = _CURRENCY.search(plain, max(0, start - 4), start)
        yield readings, SYMBOLS[before.group(1)] if before else _unit(plain, end, language)


def _others(units: Counter[str | None], known: Counter[str | None]) -> set[str]:
    """Return the units that are more often in one text: 60 miles an hour may be 60 miles that last an hour."""
    return {
        unit
        for unit, count in units.items()
        if unit not in (None, UNKNOWN) and count > sum(n for one, n in known.items() if _is_same(unit, str(one)))
    }


def _is_same(unit: str, other: str) -> bool:
    is_rate = "/" in unit and "/" in other
    return unit == other if is_rate else unit.partition("/")[0] == other.partition("/")[0]


def _by_value(text: str, language: str | None) -> dict[str, Counter[str | None]]:
    """Count units by the values that their numbers may be read as."""
    found: dict[str, Counter[str | None]] = defaultdict(Counter)
    for readings, unit in measures(text, language):
        for value in readings:
            found[value][unit] += 1
    return found


def _unit(text: str, at: int, language: str | None) -> str | None:
    if _PLURAL.match(text, at):
        return UNKNOWN
    if match := _UNIT.match(text, at):
        return _spelled_alike(match["unit"])
    if language in SPELLED and (match := _words(str(language)).match(text, at)):
        names = _names(str(language))
        if match["percent"]:
            return "%"
        parts = [names[match[group].casefold()] for group in ("first", "second") if match[group]]
        return "/".join(parts)
    return UNKNOWN if _WORD.match(text, at) else None


def _spelled_alike(unit: str) -> str:
    """Spell a unit in one way: `m s⁻¹` is no unit here, `m/s²` and `m/s^2` are `m/s2`."""
    steps = _STEP.finditer(unit)
    return "".join(
        f"{'/' if step['joint'] == '/' else '·' if step['joint'] else ''}{SYMBOLS[step['symbol']]}"
        f"{(step['exponent'] or '').translate(_EXPONENT).lstrip('^')}"
        for step in steps
    )


@functools.cache
def _names(language: str) -> dict[str, str]:
    return {word.casefold(): unit for unit, words in SPELLED[language].items() for word in words.split()}


@functools.cache
def _words(language: str) -> re.Pattern[str]:
    listed = "|".join(sorted(map(re.escape, _names(language)), key=lambda word: (-len(word), word)))
    percent = PERCENT.get(language, "(?!)")
    return re.compile(
        rf"{_GAP}(?:(?P<percent>{percent})|(?:\.\s|de\s)?(?P<first>{listed})(?:\s{_PER[language]}\s?(?P<second>{listed}))?)(?![^\W\d_])",
        re.IGNORECASE,
    )
