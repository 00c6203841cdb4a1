"""Number words in running text: `two hundred and five` is one number, `two or three` are two.

A phrase is a run of cardinals and scales with nothing but blanks, hyphens and joints between them, put together as long
as its parts fit: twenty and five make 25, five and twenty do not.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain

from corpusmill.synthesize.verify.number_vocabulary import NumberWords
from corpusmill.synthesize.verify.number_words import LANGUAGES

Readings = frozenset[str]
_LETTERS = {
    "bn": r"[\u0980-\u09e5\u09f0-\u09ff]",
    "te": r"[\u0c00-\u0c65\u0c70-\u0c7f]",
}
_ENDINGS = {"bn": r"(?:টি|টা|টে|টো|জন|বার|গুণ|খানা)?(?:র|য়|তে|কে|ে|ের|ই|ও)?"}
_DOZEN = Decimal(12)
_GROUPS = {"zh": Decimal(10_000), "ja": Decimal(10_000), "th": Decimal(1_000_000)}
"""The factor from which on everything before it is multiplied; 1,000 in other languages."""
_FACTORS = {name: {Decimal(value) for value in known.scales} for name, known in LANGUAGES.items()}


@dataclass(frozen=True, kw_only=True)
class SpokenNumber:
    """A number in words."""

    start: int
    end: int
    readings: Readings
    loose: str | None = None
    """Of a word that only suggests the value, how: `1` as an article does, `1 each` as `every`; None of all others."""

    @property
    def is_loose(self) -> bool:
        return self.loose is not None


@dataclass(frozen=True, kw_only=True)
class _Word:
    start: int
    end: int
    value: Decimal


def spoken_numbers(text: str, language: str | None) -> list[SpokenNumber]:
    """Return the numbers in words, in order; for None those of all known languages, for an unknown language none."""
    names = sorted(LANGUAGES) if language is None else [language] if language in LANGUAGES else []
    return sorted(
        chain.from_iterable(_spoken(text, name) for name in names), key=lambda number: (number.start, number.end)
    )


def scales(text: str, at: int, language: str | None) -> tuple[int, Decimal]:
    """Return where the scale word ends that stands at `at`, after blanks, and its factor: `at` and 1 without one."""
    for name in sorted(LANGUAGES) if language is None else [language]:
        if name in LANGUAGES and (match := _scale_pattern(name).match(text, at)):
            return match.end(), _values(name, "scale")[match.group("word").casefold()]
    return at, Decimal(1)


def is_inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a place lies in one of some spans, which stand in order and apart."""
    place = bisect_right(spans, at, key=lambda span: span[0])
    return place > 0 and at < spans[place - 1][1]


def spell(value: Decimal) -> str:
    """Spell a value in one way."""
    return f"{value.normalize():f}"


def _spoken(text: str, name: str) -> Iterator[SpokenNumber]:
    known = LANGUAGES[name]
    taken = [match.span() for match in _pattern(name, "trap").finditer(text)] if known.traps else []
    words = [
        _Word(start=match.start(), end=match.end("word"), value=_value(name, match.group("word")))
        for match in _pattern(name, "cardinal").finditer(text)
        if not is_inside(match.start(), taken)
    ]
    for run in _runs(words, text, known):
        yield from _phrases(run, name)
    for kind in ("derived", "loose"):
        for match in _pattern(name, kind).finditer(text):
            if is_inside(match.start(), taken):
                continue
            meant = _suggested(name, kind, match.group("word"))
            yield SpokenNumber(
                start=match.start(),
                end=match.end("word"),
                readings=frozenset(value.partition(" ")[0] for value in meant),
                loose=" ".join(sorted(meant)) if kind == "loose" else None,
            )


def _runs(words: Sequence[_Word], text: str, known: NumberWords) -> Iterator[list[_Word]]:
    """Group the words between which nothing stands but blanks, hyphens and joints."""
    gap = re.compile(rf"[\s-]{{0,3}}(?:(?:{'|'.join(known.joints.split()) or '-'})\s)?", re.IGNORECASE)
    run: list[_Word] = []
    for word in words:
        if run and not gap.fullmatch(text, run[-1].end, word.start):
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _phrases(run: Sequence[_Word], name: str) -> Iterator[SpokenNumber]:
    """Put the words of a run together as long as they fit."""
    phrase: list[_Word] = []
    for word in run:
        if phrase and _composed([*phrase, word], name) is None:
            yield _number(phrase, name)
            phrase = []
        phrase.append(word)
    yield _number(phrase, name)


def _number(phrase: Sequence[_Word], name: str) -> SpokenNumber:
    value = _composed(phrase, name)
    assert value is not None
    readings = {spell(value)}
    if len(phrase) > 1 and phrase[-1].value == _DOZEN:
        readings.add(spell(value / _DOZEN))
    is_one = len(phrase) == 1 and value <= 1 and LANGUAGES[name].is_one_an_article
    return SpokenNumber(
        start=phrase[0].start,
        end=phrase[-1].end,
        readings=frozenset(readings),
        loose=spell(value) if is_one else None,
    )


def _composed(phrase: Sequence[_Word], name: str) -> Decimal | None:
    """Return the value of words that make one number, or None: 2 100 5 is 205, 2 3 is none."""
    total, section, digits = Decimal(0), Decimal(0), Decimal(0)
    largest, group = Decimal("Infinity"), _GROUPS.get(name, Decimal(1_000))
    for place, word in enumerate(phrase):
        value = word.value
        if value in _FACTORS[name]:
            below = section + digits
            if value >= group or value == _DOZEN:
                if value >= largest or (place and not below):
                    return None
                total, section, digits, largest = total + (below or 1) * value, Decimal(0), Decimal(0), value
            elif digits >= 100 or (section and value >= _place(section)):
                return None
            else:
                section, digits = section + (digits or 1) * value, Decimal(0)
        elif not _fits(digits or section, value, name) or value >= largest or (place and not value):
            return None
        else:
            digits += value
    return total + section + digits


def _fits(before: Decimal, value: Decimal, name: str) -> bool:
    """Return whether `value` can follow: a one after tens, tens after hundreds, in French ten to nineteen after 60 and 80."""
    if not before:
        return True
    return 0 < value < (20 if name == "fr" and before in (60, 80) else _place(before))


def _place(value: Decimal) -> Decimal:
    """Return the power of ten of the last digit that is not zero: 10 of 250, 1 of 205."""
    place = Decimal(1)
    while value % (place * 10) == 0:
        place *= 10
    return place


def _value(name: str, word: str) -> Decimal:
    return _values(name, "cardinal")[word.casefold()]


@functools.cache
def _values(name: str, kind: str) -> dict[str, Decimal]:
    known = LANGUAGES[name]
    listed = {word: Decimal(value) for value, words in known.scales.items() for word in words.split()}
    if kind == "scale":
        return listed
    for value, forms in enumerate(known.counting.split()):
        listed |= {form: Decimal(value) for form in forms.split("/")}
    return listed | {word: Decimal(value) for value, words in known.cardinals.items() for word in words.split()}


@functools.cache
def _suggestions(name: str, kind: str) -> dict[str, Readings]:
    """Return the words that are no cardinals, by what each may mean."""
    known = LANGUAGES[name]
    months = enumerate(known.months.split() if kind == "loose" else (), start=1)
    listed = [(str(number), word) for number, forms in months for word in forms.split("/")]
    values = known.loose if kind == "loose" else known.derived
    listed += [(value, word) for value, words in values.items() for word in words.split()]
    found: dict[str, set[str]] = {}
    for meaning, word in listed:
        found.setdefault(word.casefold(), set()).add(meaning)
    return {word: frozenset(meant) for word, meant in found.items()}


@functools.cache
def _suggested(name: str, kind: str, word: str) -> Readings:
    """Return what a word may mean; of words that end with `*` the longest that it begins with decides."""
    known, word = _suggestions(name, kind), word.casefold()
    if word in known:
        return known[word]
    return next(known[f"{word[:end]}*"] for end in range(len(word), 0, -1) if f"{word[:end]}*" in known)


@functools.cache
def _pattern(name: str, kind: str) -> re.Pattern[str]:
    if kind == "trap":
        return re.compile("|".join(LANGUAGES[name].traps.split()))
    words = list(_values(name, kind) if kind == "cardinal" else _suggestions(name, kind))
    return re.compile(_bounded(name, words), re.IGNORECASE)


@functools.cache
def _scale_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"[\s-]?{_bounded(name, list(_values(name, 'scale')), follows_digit=True)}", re.IGNORECASE)


def _bounded(name: str, words: Sequence[str], *, follows_digit: bool = False) -> str:
    """Return the pattern of whole words, the longest first, as the script of the language ends them."""
    script, letter = LANGUAGES[name].script, _LETTERS.get(name, r"[^\W\d_]")
    ordered = sorted(words, key=lambda word: (-len(word.rstrip("*")), word))
    listed = "(?!)" if not words else "|".join(re.escape(word).replace(r"\*", rf"{letter}*") for word in ordered)
    before = "" if script == "unspaced" or follows_digit else rf"(?<!{letter})"
    after = rf"(?!{letter})" if script == "spaced" else f"{_ENDINGS[name]}(?!{letter})" if name in _ENDINGS else ""
    return f"{before}(?P<word>{listed}){after}"
