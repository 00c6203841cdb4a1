"""Numbers in digits, each as the set of values that it may be read as.

`1.000` and `1,000` may be a thousand or one, 4 × 10⁹ is what 4,000 million is (also where a text lost the raised digits and
says 4 × 109), and the 1960s may be the sixties. What stands around a number may give it another value too: 1 pm is also 13
o'clock, half an hour 30 minutes, 3 dozen 36, 50 cents 0.5, 8折 a discount of 20 %, and Swahili counts hours from sunrise.
Digits of every script are read.
"""

import functools
import re
from collections.abc import Iterator
from decimal import Decimal

from corpusmill.synthesize.verify.number_phrases import Readings, scales, spell
from corpusmill.synthesize.verify.number_words import LANGUAGES

_BLANKS = "\u0020\u00a0\u2009\u202f'’"
_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_NUMBER = re.compile(rf"(?:(?<![^\W{_UNSPACED}])(?<![.,)\]])\.)?\d+(?:[.,]\d+|[{_BLANKS}]\d{{3}}(?!\d))*|[½¼¾⅓⅔⅕⅛]")
_GROUPED = re.compile(rf"\d{{1,3}}(?:([.,{_BLANKS}])\d{{3}})(?:\1\d{{3}})*|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}")
_FRACTIONS = {
    "½": ("1", "2"), "¼": ("1", "4"), "¾": ("3", "4"), "⅓": ("1", "3"), "⅔": ("2", "3"), "⅕": ("1", "5"), "⅛": ("1", "8"),
}  # fmt: skip
_HALF_DAY = re.compile(r".{0,12}?\d\s{0,2}[ap]\.?\s?m\b", re.IGNORECASE | re.DOTALL)
_HALF_DAY_BEFORE = re.compile(r"(?:[上下]午|午[前後]|凌晨|晚上)\s?\Z")
_CENTS = re.compile(
    r"\s?(?:¢|cents?\b|céntimos?\b|centavos?\b|centimes?\b|cêntimos?\b|centesimi\b|цент|коп|美分|セント|센트|เซนต์|সেন্ট|సెంట్|senti\b)",
    re.IGNORECASE,
)
_MONEY = re.compile(r"[$€£¥₹]\s?\Z")
_POWER = re.compile(
    r"\s?[×·*xX]\s?10(?:\*\*|\^)?\{?(?:(?P<raised>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})|(?P<exponent>[-−–+]?\d{1,2}))\}?(?![\d.,]*\d)"
)
_RAISED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹−–", "+-0123456789--")
_DECADE = re.compile(r"['’]?s\b")
_PARTS_OF_TEN = re.compile(r"\s?折")
_SWAHILI_HOUR = re.compile(r"\bsaa\s\Z", re.IGNORECASE)
_SWAHILI_TIME = re.compile(r"(?::\d\d|\s)?\s?(?:asubuhi|mchana|jioni|usiku|alfajiri|alasiri)\b", re.IGNORECASE)
_SPELLINGS = str.maketrans({"٫": ".", "٬": ",", "．": ".", "，": ",", "\u2009": "\u2009"})


def digit_numbers(text: str, language: str | None) -> Iterator[tuple[int, int, Readings]]:
    """Yield start, end and readings of the numbers in digits; the end is behind a word that scales the number."""
    plain = text.translate(_SPELLINGS)
    at = 0
    for match in _NUMBER.finditer(plain):
        if match.start() < at:
            continue
        if power := _POWER.match(plain, match.end()):
            at = power.end()
            yield match.start(), at, frozenset(_raised(match.group(), power))
            continue
        end, factor = scales(plain, match.end(), language)
        for readings in _readings(match.group()):
            values = set(readings)
            for value in map(Decimal, readings):
                values |= {spell(value * factor), *_in_place(value, plain, match, language)}
            yield match.start(), end, frozenset(values)


def _raised(spelled: str, power: re.Match[str]) -> Iterator[str]:
    """Yield the values of a number times a power of ten."""
    exponent = int((power["raised"] or power["exponent"]).translate(_RAISED))
    for value in _readings(spelled)[0]:
        yield spell(Decimal(value).scaleb(exponent))


def is_half_of_an_hour(text: str, at: int, language: str | None) -> bool:
    """Return whether a word for an hour stands at `at`, as in `half an hour`."""
    return any(_hours(name).match(text, at) for name in ([language] if language else LANGUAGES) if name in LANGUAGES)


def _in_place(value: Decimal, text: str, match: re.Match[str], language: str | None) -> Iterator[str]:
    """Yield what the value means by the words around it."""
    if _is_hour(value) and (
        _HALF_DAY.match(text, match.start()) or _HALF_DAY_BEFORE.search(text, max(0, match.start() - 8), match.start())
    ):
        yield spell(value + 12)
    if value < 10_000 and _DECADE.match(text, match.end()) and value % 10 == 0:
        yield spell(value % 100)
        yield spell(value // 100 + 1)
    if value != value.to_integral() and value < 10 and is_half_of_an_hour(text, match.end(), language):
        yield spell(value * 60)
    if _CENTS.match(text, match.end()):
        yield spell(value / 100)
    elif value < 1 and _MONEY.search(text, max(0, match.start() - 2), match.start()):
        yield spell(value * 100)
    if _PARTS_OF_TEN.match(text, match.end()) and 0 < value < 100:
        yield spell(100 - (value * 10 if value < 10 else value))
    if (
        language == "sw"
        and _is_hour(value)
        and _SWAHILI_HOUR.search(text, max(0, match.start() - 5), match.start())
        and _SWAHILI_TIME.match(text, match.end())
    ):
        hour = (value + 5) % 12 + 1
        yield from (spell(hour), spell(hour + 12))


def _is_hour(value: Decimal) -> bool:
    return value == value.to_integral() and 1 <= value <= 12


@functools.cache
def _hours(name: str) -> re.Pattern[str]:
    words = "|".join(map(re.escape, LANGUAGES[name].hours.split())) or "(?!)"
    return re.compile(rf"[\s-]{{0,2}}(?:an?\s|of\san\s|d['’]|de\s)?(?:{words})", re.IGNORECASE)


def _readings(spelled: str) -> list[Readings]:
    """Read one spelling: `3,500` is 3500 or 3.5, `1.234,5` is 1234.5, `3.4.2020` are three numbers."""
    if spelled in _FRACTIONS:
        return [frozenset([value]) for value in _FRACTIONS[spelled]]
    spelled = f"0{spelled}" if spelled.startswith(".") else spelled
    separators = re.sub(r"\d", "", spelled)
    if not separators:
        return [frozenset([spell(Decimal(spelled))])]
    last = separators[-1]
    whole, decimals = re.split(rf"[{last}](?=\d+$)", spelled)
    readings = {spell(Decimal(_digits(spelled)))} if _GROUPED.fullmatch(spelled) and spelled[0] != "0" else set()
    if last in ".," and separators.count(last) == 1 and (whole.isdigit() or _GROUPED.fullmatch(whole)):
        readings.add(spell(Decimal(f"{_digits(whole)}.{decimals}")))
    if readings:
        return [frozenset(readings)]
    return [frozenset([spell(Decimal(part))]) for part in re.findall(r"\d+", spelled)]


def _digits(spelled: str) -> str:
    return re.sub(r"\D", "", spelled)
