"""Keys, tokens and passwords in code: by the form that their issuer gives them, or by the name that they are assigned to."""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Collection

from corpusmill.curate.pii_place import Found, Place

_FORMS = (
    ("aws_key", re.compile(r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![\w-])")),
    ("github_token", re.compile(r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?!\w)")),
    ("slack_token", re.compile(r"xox[abeprs]-(?=[A-Za-z-]*\d)[A-Za-z0-9-]{10,}")),
    ("google_api_key", re.compile(r"AIza[\w-]{35}(?![\w-])")),
    ("stripe_key", re.compile(r"[rs]k_(?:live|test)_[A-Za-z0-9]{24,}(?!\w)")),
    ("package_token", re.compile(r"(?:glpat-[\w-]{20,}|npm_[A-Za-z0-9]{36}(?!\w))")),
)
"""As the issuers document them (GitHub secret scanning, supported patterns)."""
_JWT = re.compile(r"(eyJ[\w-]{10,})\.eyJ[\w-]{5,}\.[\w-]*")
_NAME = re.compile(
    r"(?:passw(?:or)?d|passwd|pwd|secret|token|api_?key|access_?key|auth_?key|private_?key|credential)s?[\w-]{0,16}"
    r"[\"'\]]?\s{0,4}(?::=|=>|[:=])\s{0,4}[\"']?\Z",
    re.IGNORECASE,
)
_NOBODYS = re.compile(r"example|sample|change|your|dummy|placeholder|x{4}|test|fake|mock|1234", re.IGNORECASE)
_BARE = re.compile(r"(?=(?:[^\d]*\d){3})[\w+/=-]{16,}")
_MIN_ENTROPY = 3.0
"""Bits a character: detect-secrets 1.5's limit for hexadecimal values, here for all, as the name is evidence too."""


def find_keys(place: Place, kinds: Collection[str]) -> list[Found]:
    """Return the key that the run begins with; keys that their issuer uses in examples are nobody's."""
    for kind, form in _FORMS:
        found = form.match(place.body)
        if found and kind in kinds and "EXAMPLE" not in found[0]:
            return [(kind, 0, found.end())]
    token = _JWT.match(place.body)
    return [("jwt", 0, token.end())] if token and "jwt" in kinds and _is_jwt_header(token[1]) else []


def find_assigned_secrets(place: Place) -> list[Found]:
    """Return the value when it is assigned to the name of a secret and looks random."""
    value = place.body
    if not _NAME.search(place.before) or _NOBODYS.search(value) or not any(map(str.isalpha, value)):
        return []
    is_quoted = place.before[-1:] in ("'", '"')
    if not is_quoted and not _BARE.fullmatch(value):
        return []
    return [("secret", 0, len(value))] if _entropy(value) >= _MIN_ENTROPY else []


def _is_jwt_header(part: str) -> bool:
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error):
        return False
    return isinstance(header, dict) and "alg" in header


def _entropy(value: str) -> float:
    """Return Shannon's entropy in bits a character."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
