"""Phone numbers: libphonenumber says whether a number can exist, its form or a word beside it says that it is one.

Counted are numbers with `+` or `00` and a country, North American ones as they are written (`(905) 674-3793`), national
ones that begin with 0, and any number of 7 to 15 digits that a word announces (`Fax: 416 60 039`). Ten bare digits are none.
"""

import re
from collections.abc import Collection

import phonenumbers

from corpusmill.curate.pii_place import Found, Place, announcing

_WORDS = announcing(
    r"phone|telephone|tel|tel no|mobile|mob|cell|cell ?phone|fax|telefax|call|dial|desk|whatsapp|hotline|sms|"
    r"telefon\w*|tlf|tfno|fon|mobil\w*|handy|rufnummer|ruf|t[ée]l[ée]phone|t[ée]l|portable|tel[ée]fono|m[óo]vil|celular|"
    r"telefone|telem[óo]vel|cellulare|telefoon|mobiel|puhelin|puh|komórka|контакт|тел|телефон|моб|факс|τηλ|τηλέφωνο|電話|电话|手机|전화"
)
_BEHIND = re.compile(r"\s?\(?(?:office|mobile|fax|cell|home|work|phone)(?!\w)", re.IGNORECASE)
_EXTENSION = re.compile(r",?\s?(?:x|ext\.?|extension)\s?\d{1,6}(?!\w)", re.IGNORECASE)
_GROUP = re.compile(r"\d+")
_NORTH_AMERICAN = re.compile(r"(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[.-])[2-9]\d\d[ .-]\d{4}")
_DATES = ((4, 2, 2), (2, 2, 4), (4, 4))
_NO_PHONE_BEFORE = frozenset("$€£¥#=%&/._-:,")
_DIGITS = range(7, 16)  # ITU-T E.164: at most 15; shorter ones are services


def find_phones(place: Place, groups: list[tuple[int, int]], regions: Collection[str]) -> list[Found]:
    """Return the phone number that the stretch writes, with its extension, or the North American one inside of it."""
    body = place.body
    digits = "".join(body[start:stop] for start, stop in groups)
    if len(digits) in _DIGITS and place.after[:1] != "%" and _is_phone(place, groups, digits, regions):
        start = int(body[0] == "(" and ")" not in body)
        return [("phone", start, len(body) + _extension(place.after))]
    if len(digits) <= 10:
        return []
    inner = _NORTH_AMERICAN.search(body)
    if inner is None or body[: inner.start()][-1:] not in ("", " ") or body[inner.end() :][:1] not in ("", " "):
        return []
    at_end = inner.end() == len(body)
    return [("phone", inner.start(), inner.end() + (_extension(place.after) if at_end else 0))]


def _is_phone(place: Place, groups: list[tuple[int, int]], digits: str, regions: Collection[str]) -> bool:
    body = place.body
    lengths = tuple(stop - start for start, stop in groups)
    if body[0] == "+" or body[:2] == "(+":
        return _is_possible("+" + body.lstrip("(+"))
    if place.is_announced(_WORDS) or (len(groups) > 1 and _BEHIND.match(place.after)):
        return lengths not in _DATES and not _is_decimal(body, lengths)
    if place.before[-1:] in _NO_PHONE_BEFORE or (place.after[:1].isalpha() and not _extension(place.after)):
        return False
    if len(groups) < 2 or lengths in _DATES:
        return False
    if digits.startswith("00"):
        return len(digits) > 9 and digits[2] != "0" and _is_possible("+" + digits[2:])
    if digits[0] == "0":
        has_area = lengths[0] > 1 and lengths != (5, 4)  # 02110-1301 is a zip code of Boston
        return 9 <= len(digits) <= 12 and has_area and any(_is_national(digits, lengths, one) for one in regions)
    return bool(_NORTH_AMERICAN.fullmatch(body))


def _is_decimal(body: str, lengths: tuple[int, ...]) -> bool:
    return len(lengths) == 2 and body[lengths[0]] == "."


def _extension(after: str) -> int:
    found = _EXTENSION.match(after)
    return found.end() if found else 0


def _is_possible(number: str) -> bool:
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number))
    except phonenumbers.NumberParseException:
        return False


def _is_national(digits: str, lengths: tuple[int, ...], region: str) -> bool:
    """Return whether the number is valid in the region and its first group is the area code there."""
    try:
        number = phonenumbers.parse(digits, region)
    except phonenumbers.NumberParseException:
        return False
    if not phonenumbers.is_valid_number_for_region(number, region):
        return False
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    area_code = _GROUP.search(written)
    return area_code is not None and len(area_code[0]) == lengths[0]
