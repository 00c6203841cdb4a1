"""Bank accounts, persons' numbers with letters and coin addresses: runs of letters and digits that a check digit confirms."""

import re
from collections.abc import Collection

from corpusmill.curate import pii_checks
from corpusmill.curate.pii_place import Found, Place

_NINO = re.compile(r"[A-Z]{2}\d{6}[A-D]")
_NIF = re.compile(r"(?:\d{8}|[XYZ]\d{7})[A-Z]")
_NIR = re.compile(r"[12]\d{4}(?:\d\d|2[AB])\d{8}")
_FISCAL_CODE = re.compile(r"[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]")


def find_tokens(place: Place, kinds: Collection[str]) -> list[Found]:
    """Return what the run of letters and digits is; an account in groups of four goes on behind it."""
    token = place.body
    if len(token) == 4:
        end = _grouped_account_end(place)
        return [("iban", 0, end)] if end and "iban" in kinds else []
    for kind, is_kind in _TESTS:
        if kind in kinds and is_kind(token):
            return [(kind, 0, len(token))]
    return []


def _grouped_account_end(place: Place) -> int:
    """Return the end of an account written as `GB82 WEST 1234 5698 7654 32`, or 0."""
    length = pii_checks.IBAN_LENGTHS.get(place.body[:2].upper(), 0)
    if place.after[5:6] != " ":
        return 0
    rest = place.after[: length - 4 + (length - 1) // 4]
    is_grouped = all(character == " " for character in rest[::5]) and rest.replace(" ", "").isalnum()
    if not length or not rest.isascii() or not is_grouped or place.after[len(rest) : len(rest) + 1].isalnum():
        return 0
    return 4 + len(rest) if pii_checks.is_iban(place.body + rest.replace(" ", "")) else 0


_TESTS = (
    ("iban", lambda token: token[:2].isalpha() and token[2:4].isdigit() and pii_checks.is_iban(token)),
    ("uk_nino", lambda token: bool(_NINO.fullmatch(token)) and pii_checks.is_uk_nino(token)),
    ("es_nif", lambda token: bool(_NIF.fullmatch(token)) and pii_checks.is_es_nif(token)),
    ("fr_nir", lambda token: bool(_NIR.fullmatch(token)) and pii_checks.is_fr_nir(token)),
    (
        "it_fiscal_code",
        lambda token: bool(_FISCAL_CODE.fullmatch(token.upper())) and pii_checks.is_it_fiscal_code(token.upper()),
    ),
    ("crypto_address", lambda token: token[0] in "13" and len(token) <= 35 and pii_checks.is_base58_coin(token)),
    ("crypto_address", lambda token: token[0] in "bB" and pii_checks.is_bech32_coin(token)),
)
