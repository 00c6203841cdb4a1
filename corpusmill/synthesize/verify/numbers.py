"""Numbers: every number of the seed is in the output, and the output has no other.

Numbers are compared by value, in digits (`number_digits`) and in words (`number_words`): a number may become a word and
back. Translators say a number once more or once less, and they drop and add articles, ordinals and the like; so what must
be there is every *value* in digits, and no text may lose one number and gain another.
"""

import html
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.number_digits import digit_numbers, is_half_of_an_hour
from corpusmill.synthesize.verify.number_phrases import Readings, SpokenNumber, is_inside, spoken_numbers

_MARKUP = re.compile(r"</?(?:\w{1,3}:)?m[a-z]+(?:\s[^<>]*)?>|:00\b")
_ROMAN = re.compile(r"\b(?=[IVXLCDM]{2})M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_DISCOUNT = re.compile(r"([一二三四五六七八九])([一二三四五六七八九]?)折")
_HALF, _ROMAN_NUMBER = "0.5", "roman"


@dataclass(frozen=True, kw_only=True)
class Number:
    """One number of a text, with every value that it may mean."""

    readings: Readings
    is_digits: bool = False
    loose: str | None = None
    """How a word suggests the value, where it does no more than that."""

    @property
    def is_loose(self) -> bool:
        return self.loose is not None


def numbers_preserved(case: Case, *, max_changed_share: float = 0.0) -> str | None:
    """Refuse when more than `max_changed_share` of the seed's numbers in digits are gone, or as many are new.

    A number that is said once more or once less is forgiven, but not both at once: then one of several was changed.
    """
    before, after = numbers(case.seed, case.seed_language), numbers(case.output, case.language)
    allowed = max_changed_share * sum(number.is_digits for number in before)
    unpaired, added = _leftovers(_firm(before), _firm(after))
    lost = _unsaid(unpaired, _loose(after), _loose(before))
    invented = _unsaid(added, _loose(before), _loose(after))
    if len(_absent(_in_digits(lost), _firm(after))) > allowed:
        return "number_lost"
    if len(_absent(_in_digits(invented), before)) > allowed:
        return "number_invented"
    num_changed = max(min(len(lost), len(_in_digits(added))), min(len(_in_digits(unpaired)), len(invented)))
    return "number_changed" if num_changed > allowed else None


def numbers(text: str, language: str | None) -> list[Number]:
    """Return the numbers of a text: first those in digits, then those in words."""
    plain = _MARKUP.sub(" ", html.unescape(text))
    in_digits = list(digit_numbers(plain, language))
    ends = {end: start for start, end, _ in in_digits}
    discounts = [match.span() for match in _DISCOUNT.finditer(plain)]
    spoken = [
        number
        for number in spoken_numbers(plain, language)
        if not _is_scale(number, ends) and not is_inside(number.start, discounts)
    ]
    return [
        *(Number(readings=readings, is_digits=True) for _, _, readings in in_digits),
        *(Number(readings=_timed(number, plain, language), loose=number.loose) for number in spoken),
        *_other_spellings(plain),
    ]


def _is_scale(number: SpokenNumber, ends: dict[int, int]) -> bool:
    """Return whether the word is the scale of a number in digits, as in `3 million`."""
    return number.end in ends and ends[number.end] < number.start


def _timed(number: SpokenNumber, text: str, language: str | None) -> Readings:
    is_time = _HALF in number.readings and is_half_of_an_hour(text, number.end, language)
    return number.readings | {"30"} if is_time else number.readings


def _other_spellings(text: str) -> Iterator[Number]:
    """Yield Roman numbers, and Chinese discounts: 七五折 takes 25 % off."""
    for match in _ROMAN.finditer(text):
        yield Number(readings=frozenset([str(_roman(match.group()))]), loose=_ROMAN_NUMBER)
    numerals = "一二三四五六七八九"
    for match in _DISCOUNT.finditer(text):
        tens, ones = (numerals.find(part) + 1 if part else 0 for part in match.groups())
        yield Number(readings=frozenset([str(100 - 10 * tens - ones)]))


def _roman(spelled: str) -> int:
    values = [_ROMAN_DIGITS[letter] for letter in spelled]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def _firm(found: Sequence[Number]) -> list[Number]:
    return [number for number in found if not number.is_loose]


def _loose(found: Sequence[Number]) -> list[Number]:
    return [number for number in found if number.is_loose]


def _in_digits(found: Sequence[Number]) -> list[Number]:
    return [number for number in found if number.is_digits]


def _leftovers(left: Sequence[Number], right: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """Pair numbers that mean the same, then those that may mean the same; return what found no partner."""
    left, right = _unpaired(left, right, lambda number: [" ".join(sorted(number.readings))])
    return _unpaired(left, right, lambda number: number.readings)


def _unsaid(leftovers: Sequence[Number], others: Sequence[Number], own: Sequence[Number]) -> list[Number]:
    """Return the numbers that no loose word of the other text says, beyond those that loose words here say alike."""
    free, _ = _unpaired(others, own, lambda number: [str(number.loose)])
    return _leftovers(leftovers, free)[0]


def _unpaired(
    left: Sequence[Number], right: Sequence[Number], keys: Callable[[Number], Iterable[str]]
) -> tuple[list[Number], list[Number]]:
    """Pair each number with the first one of the other side that shares a key; return the rest of both."""
    unpaired: list[Number] = []
    waiting: dict[str, deque[int]] = {}
    for place, number in enumerate(right):
        for key in keys(number):
            waiting.setdefault(key, deque()).append(place)
    taken: set[int] = set()
    for number in left:
        free = [places[0] for key in keys(number) if (places := _free(waiting.get(key), taken))]
        if free:
            taken.add(min(free))
        else:
            unpaired.append(number)
    return unpaired, [number for place, number in enumerate(right) if place not in taken]


def _free(places: deque[int] | None, taken: set[int]) -> deque[int] | None:
    """Drop the places at the front that another key took; each is dropped once, so a text of equal numbers is no trap."""
    while places and places[0] in taken:
        places.popleft()
    return places


def _absent(leftovers: Sequence[Number], others: Sequence[Number]) -> set[Readings]:
    values = frozenset().union(*(number.readings for number in others))
    return {number.readings for number in leftovers if not number.readings & values}
