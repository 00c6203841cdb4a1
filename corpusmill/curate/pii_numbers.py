"""Payment cards and persons' numbers in a stretch of digits: told by how the digits are grouped, then by their check digit.

A form that other numbers share (nine digits) counts only behind a word that announces it.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from corpusmill.curate import pii_checks
from corpusmill.curate.pii_phones import find_phones
from corpusmill.curate.pii_place import Found, Place, announcing

_GROUP = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Form:
    """One way to write a number: separators between its groups, and a word that must announce it."""

    kind: str
    check: Callable[[str], bool]
    separators: frozenset[str] = frozenset()
    """What may stand between groups."""
    is_uniform: bool = True
    """Whether all separators are alike."""
    words: re.Pattern[str] | None = None


_CARD_WORDS = announcing(r"card|credit|debit|visa|mastercard|amex|kreditkarte|carte|tarjeta|cart[aã]o|carta")
_SSN_WORDS = announcing(r"ssn|social security|soc\.? sec\.?")
_PASSPORT_WORDS = announcing(r"passport(?: (?:no|number|num))?")
_NHS_WORDS = announcing(r"nhs")
_TAX_WORDS = announcing(r"steuer\w*|st-?id\w*|idnr|tin|tax id\w*|identifikationsnummer")
_PESEL_WORDS = announcing(r"pesel")
_CPF_WORDS = announcing(r"cpf")
_NINO_LETTERS = re.compile(r"[A-Z]{2} ?\Z")
_NINO_END = re.compile(r" ?[A-D](?!\w)")
_NIF_END = re.compile(r"-?([A-Z])(?!\w)")
_NIE_START = re.compile(r"(?<!\w)([XYZ])-?\Z")


def _forms() -> dict[tuple[int, ...], list[_Form]]:
    """Return the forms by the lengths of their groups."""
    free, dash = frozenset(" -"), frozenset("-")
    cards = [(length,) for length in range(12, 20)] + [(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3)]
    written = [(lengths, _Form(kind="card", check=pii_checks.is_card, separators=free)) for lengths in cards]
    written += [
        (lengths, _Form(kind="card", check=pii_checks.is_luhn, separators=free, words=_CARD_WORDS)) for lengths in cards
    ]
    written += [
        ((3, 2, 4), _Form(kind="us_ssn", check=pii_checks.is_us_ssn, separators=dash)),
        ((3, 2, 4), _Form(kind="us_ssn", check=pii_checks.is_us_ssn, separators=free, words=_SSN_WORDS)),
        ((9,), _Form(kind="us_ssn", check=pii_checks.is_us_ssn, words=_SSN_WORDS)),
        ((3, 2, 4), _Form(kind="us_itin", check=pii_checks.is_us_itin, separators=dash)),
        ((9,), _Form(kind="us_passport", check=lambda digits: True, words=_PASSPORT_WORDS)),
        ((10,), _Form(kind="uk_nhs", check=pii_checks.is_uk_nhs, words=_NHS_WORDS)),
        ((3, 3, 4), _Form(kind="uk_nhs", check=pii_checks.is_uk_nhs, separators=free, words=_NHS_WORDS)),
        ((15,), _Form(kind="fr_nir", check=pii_checks.is_fr_nir)),
        ((13, 2), _Form(kind="fr_nir", check=pii_checks.is_fr_nir, separators=free)),
        ((1, 2, 2, 2, 3, 3, 2), _Form(kind="fr_nir", check=pii_checks.is_fr_nir, separators=free)),
        ((11,), _Form(kind="de_tax_id", check=pii_checks.is_de_tax_id, words=_TAX_WORDS)),
        ((2, 3, 3, 3), _Form(kind="de_tax_id", check=pii_checks.is_de_tax_id, separators=free, words=_TAX_WORDS)),
        ((11,), _Form(kind="pl_pesel", check=pii_checks.is_pl_pesel, words=_PESEL_WORDS)),
        ((3, 3, 3, 2), _Form(kind="br_cpf", check=pii_checks.is_br_cpf, separators=frozenset(".-"), is_uniform=False)),
        ((11,), _Form(kind="br_cpf", check=pii_checks.is_br_cpf, words=_CPF_WORDS)),
    ]
    forms: dict[tuple[int, ...], list[_Form]] = {}
    for lengths, form in written:
        forms.setdefault(lengths, []).append(form)
    return forms


_FORMS = _forms()
_MAX_GROUPS = max(map(len, _FORMS))


def find_numbers(place: Place, kinds: Collection[str], phone_regions: Collection[str]) -> list[Found]:
    """Return what a stretch of numbers holds; phones are looked for where nothing else was found."""
    groups = [found.span() for found in _GROUP.finditer(place.body)]
    found = _persons_numbers(place, groups, kinds)
    first = 0
    while first < len(groups):
        kind, end = _number_at(place, groups, first, kinds)
        if kind:
            found.append((kind, groups[first][0], groups[end - 1][1]))
        first = end
    if not found and "phone" in kinds:
        found = find_phones(place, groups, phone_regions)
    return found


def _number_at(
    place: Place, groups: list[tuple[int, int]], first: int, kinds: Collection[str]
) -> tuple[str | None, int]:
    """Return the kind of the longest number that begins with group `first`, and the group behind it."""
    for end in range(min(len(groups), first + _MAX_GROUPS), first, -1):
        if kind := _kind(place, groups, first, end, kinds):
            return kind, end
    return None, first + 1


def _kind(place: Place, groups: list[tuple[int, int]], first: int, end: int, kinds: Collection[str]) -> str | None:
    """Return the kind of the number that the groups `first` to `end` write, if any."""
    lengths = tuple(stop - start for start, stop in groups[first:end])
    forms = _FORMS.get(lengths)
    if forms is None:
        return None
    separators = {place.body[groups[index][1] : groups[index + 1][0]] for index in range(first, end - 1)}
    if not _stands_alone(place, groups, first, end, separators):
        return None
    digits = "".join(place.body[start:stop] for start, stop in groups[first:end])
    for form in forms:
        is_written = separators <= form.separators and (len(separators) <= 1 or not form.is_uniform)
        is_announced = form.words is None or place.is_announced(form.words)
        if form.kind in kinds and is_written and is_announced and form.check(digits):
            return form.kind
    return None


def _stands_alone(place: Place, groups: list[tuple[int, int]], first: int, end: int, separators: set[str]) -> bool:
    """Return whether the groups are a number of their own: what parts them from their neighbours is no separator of theirs.

    `2013 416-55-1234` gives the second number, `1-416-55-1234` none.
    """
    left = place.body[groups[first - 1][1] : groups[first][0]] if first else place.before[-1:]
    right = place.body[groups[end - 1][1] : groups[end][0]] if end < len(groups) else place.after[:1]
    is_inside = first > 0 or end < len(groups)
    if is_inside and (left in separators or right in separators):
        return False
    touches = left in ("-", ".", "_", "/", "%") or right in ("-", "_", "%") or right.isalnum()
    return not touches


def _persons_numbers(place: Place, groups: list[tuple[int, int]], kinds: Collection[str]) -> list[Found]:
    """Return British and Spanish numbers, whose letters stand outside the digits."""
    digits = "".join(place.body[start:stop] for start, stop in groups)
    if len(digits) == 6 and "uk_nino" in kinds:
        letters, end = _NINO_LETTERS.search(place.before), _NINO_END.match(place.after)
        if letters and end and pii_checks.is_uk_nino(letters[0].strip() + digits + end[0].strip()):
            return [("uk_nino", -len(letters[0]), len(place.body) + end.end())]
    if len(groups) == 1 and len(digits) in (7, 8) and "es_nif" in kinds:
        start, end = _NIE_START.search(place.before), _NIF_END.match(place.after)
        first = start[1] if start and len(digits) == 7 else ""
        if end and len(first + digits) == 8 and pii_checks.is_es_nif(first + digits + end[1]):
            return [("es_nif", -len(start[0]) if start and first else 0, len(place.body) + end.end())]
    return []
