"""Numbers: every number of the seed is in the output, and the output has no other.

Numbers are compared by value. `1.000` and `1,000` may be a thousand or one, and match when a reading of one is a
reading of the other; 1 pm is also 13 o'clock. Digits of every script are read. A number may become a word and back, in
the languages of `number_words`.
"""

import html
import re
from collections.abc import Sequence
from decimal import Decimal

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.number_words import number_words
from corpusmill.synthesize.verify.words import words

_BLANKS = "\u0020\u00a0\u2009\u202f'’"
_NUMBER = re.compile(rf"(?:(?<![\w.,)\]])\.)?\d+(?:[.,]\d+|[{_BLANKS}]\d{{3}}(?!\d))*|[½¼¾⅓⅔]")
_GROUPED = re.compile(rf"\d{{1,3}}(?:([.,{_BLANKS}])\d{{3}})(?:\1\d{{3}})*")
_FRACTIONS = {"½": ("1", "2"), "¼": ("1", "4"), "¾": ("3", "4"), "⅓": ("1", "3"), "⅔": ("2", "3")}
_MARKUP = re.compile(r"</?(?:\w{1,3}:)?m[a-z]+(?:\s[^<>]*)?>|:00\b")
_HALF_DAY = re.compile(r"\d\s{0,2}[ap]\.?m\b", re.IGNORECASE)
_TEN_THOUSANDS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
Readings = frozenset[str]


def numbers_preserved(case: Case, *, max_changed_share: float = 0.0) -> str | None:
    """Refuse when more than `max_changed_share` of the seed's numbers are gone, or as many are new.

    A number that is said once more or once less is forgiven, as translators do that, but not both at once: then one of
    several was changed.
    """
    before, after = numbers(case.seed), numbers(case.output)
    lost, invented = _leftovers(before, after)
    allowed = max_changed_share * len(before)
    lost = _unspoken(lost, spoken(case.output, case.language), spoken(case.seed, case.seed_language))
    invented = _unspoken(invented, spoken(case.seed, case.seed_language), spoken(case.output, case.language))
    if len(_absent(lost, after)) > allowed:
        return "number_lost"
    if len(_absent(invented, before)) > allowed:
        return "number_invented"
    return "number_changed" if min(len(lost), len(invented)) > allowed else None


def numbers(text: str) -> list[Readings]:
    """Return the numbers of a text in order, each as the set of values that it may be read as."""
    found: list[Readings] = []
    plain = _MARKUP.sub(" ", html.unescape(text))
    for match in _NUMBER.finditer(plain):
        scale = _TEN_THOUSANDS.get(plain[match.end() : match.end() + 1], 1)
        found += [_scaled(readings, scale) for readings in _readings(match.group())]
    return [_on_the_clock(readings) for readings in found] if _HALF_DAY.search(plain) else found


def spoken(text: str, language: str | None) -> list[Readings]:
    """Return the number words of a text, each as the set of values that it may mean."""
    known = number_words(language)
    return [known[word] for word in words(text) if word in known]


def _leftovers(left: Sequence[Readings], right: Sequence[Readings]) -> tuple[list[Readings], list[Readings]]:
    """Pair each reading with one of the other side that shares a value; return what found no partner."""
    unpaired: list[Readings] = []
    waiting: dict[str, list[int]] = {}
    for place, readings in enumerate(right):
        for value in readings:
            waiting.setdefault(value, []).append(place)
    taken: set[int] = set()
    for readings in left:
        free = (at for value in sorted(readings) for at in waiting.get(value, ()) if at not in taken)
        partner = next(free, None)
        if partner is None:
            unpaired.append(readings)
        else:
            taken.add(partner)
    return unpaired, [readings for place, readings in enumerate(right) if place not in taken]


def _unspoken(leftovers: Sequence[Readings], others: Sequence[Readings], own: Sequence[Readings]) -> list[Readings]:
    """Return the numbers that no word of the other text says, beyond the words that say what words here say."""
    free, _ = _leftovers(others, own)
    return _leftovers(leftovers, free)[0]


def _absent(leftovers: Sequence[Readings], others: Sequence[Readings]) -> set[Readings]:
    values = frozenset().union(*others)
    return {readings for readings in leftovers if not readings & values}


def _readings(spelled: str) -> list[Readings]:
    """Read one spelling: `3,500` is 3500 or 3.5, `1.234,5` is 1234.5, `3.4.2020` are three numbers."""
    if spelled in _FRACTIONS:
        return [frozenset([value]) for value in _FRACTIONS[spelled]]
    spelled = f"0{spelled}" if spelled.startswith(".") else spelled
    separators = re.sub(r"\d", "", spelled)
    if not separators:
        return [frozenset([_value(spelled)])]
    last = separators[-1]
    whole, decimals = re.split(rf"[{last}](?=\d+$)", spelled)
    readings = {_value(_digits(spelled))} if _GROUPED.fullmatch(spelled) and spelled[0] != "0" else set()
    if last in ".," and separators.count(last) == 1 and (whole.isdigit() or _GROUPED.fullmatch(whole)):
        readings.add(_value(f"{_digits(whole)}.{decimals}"))
    return [frozenset(readings)] if readings else [frozenset([_value(part)]) for part in re.findall(r"\d+", spelled)]


def _scaled(readings: Readings, scale: int) -> Readings:
    return frozenset(_value(str(Decimal(value) * scale)) for value in readings) if scale > 1 else readings


def _on_the_clock(readings: Readings) -> Readings:
    hours = {value for value in readings if value.isdigit() and 1 <= int(value) <= 12}
    return readings | {str(int(hour) + 12) for hour in hours}


def _value(spelled: str) -> str:
    return f"{Decimal(spelled).normalize():f}"


def _digits(spelled: str) -> str:
    return re.sub(r"\D", "", spelled)
