"""The licence gate: may a text under this SPDX expression be trained on, and how strict is it?

Of `A OR B` one licence is enough, of `A AND B` both are needed, `A WITH exception` is judged as A (an exception only ever
gives more freedom), `A+` as A or later. What cannot be read is not allowed, and nothing is stricter.
"""

import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from importlib.resources import files
from typing import Any

from license_expression import ExpressionError, LicenseWithExceptionSymbol, Licensing, get_spdx_licensing

PERMISSIVE = (
    *("0BSD", "Apache-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-2-Clause-Patent", "BSD-3-Clause"),
    *("BSD-3-Clause-Clear", "BSD-4-Clause", "BSL-1.0", "BlueOak-1.0.0", "CC-BY-4.0", "CC0-1.0", "FTL", "HPND", "ICU"),
    *("ISC", "LicenseRef-BSD", "LicenseRef-PublicDomain", "MIT", "MIT-0", "MIT-CMU", "MIT-Modern-Variant"),
    *("MulanPSL-2.0", "NCSA", "OpenSSL", "PHP-3.01", "PSF-2.0", "PostgreSQL", "Python-2.0", "Python-2.0.1", "UPL-1.0"),
    *("Unicode-3.0", "Unlicense", "W3C", "WTFPL", "X11", "Zlib", "libpng-2.0"),
)
"""Licences that ask for attribution at most: SPDX identifiers from the Blue Oak Council's list (as The Stack does,
Kocetkov et al. 2022, section 3), less those that ScanCode counts as copyleft (Artistic-2.0), with Creative Commons
attribution and public domain. `LicenseRef-BSD` is a BSD licence that
names no version; all versions are permissive."""

UNKNOWN = "LicenseRef-Unknown"
"""Stands for a licence text that nobody recognised."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9.+:-]+")
_MAX_CHARACTERS = 4000
_MAX_DEPTH = 50
_PARSE_ERRORS = (ExpressionError, IndexError, AssertionError)
"""The last two are how boolean.py 5.0 ends at `()` and at `(or MIT`."""


class Strictness(IntEnum):
    """How much a licence asks, in the order in which conflicts are resolved."""

    PERMISSIVE = 0
    WEAK_COPYLEFT = 1
    STRONG_COPYLEFT = 2
    RESTRICTED = 3
    """Proprietary, non-commercial, source-available, or unknown."""


_CATEGORIES = {
    "Permissive": Strictness.PERMISSIVE,
    "Public Domain": Strictness.PERMISSIVE,
    "Copyleft Limited": Strictness.WEAK_COPYLEFT,
    "Copyleft": Strictness.STRONG_COPYLEFT,
}
"""ScanCode's categories of licences (`license-expression` carries them); all others are restricted."""
_VAGUE = {
    "LicenseRef-BSD": Strictness.PERMISSIVE,
    "LicenseRef-PublicDomain": Strictness.PERMISSIVE,
    "LicenseRef-LGPL": Strictness.WEAK_COPYLEFT,
    "LicenseRef-MPL": Strictness.WEAK_COPYLEFT,
    "LicenseRef-EPL": Strictness.WEAK_COPYLEFT,
    "LicenseRef-CDDL": Strictness.WEAK_COPYLEFT,
    "LicenseRef-EUPL": Strictness.WEAK_COPYLEFT,
    "LicenseRef-CC-BY-SA": Strictness.WEAK_COPYLEFT,
    "LicenseRef-GPL": Strictness.STRONG_COPYLEFT,
    "LicenseRef-AGPL": Strictness.STRONG_COPYLEFT,
}
"""Families named without a version."""


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Return whether an SPDX expression is met by the allowed licences; one that cannot be read is not."""
    tree = _parsed(expression)
    wanted = {spelling.lower() for license in allowed for spelling in (license, normal_form(license))}
    return tree is not None and bool(_fold(tree, lambda key: _is_in(key, wanted), any, all))


def check_allowed(allowed: Collection[str]) -> None:
    """Raise ValueError where no licence is allowed, and for what is no SPDX identifier: no file would have it."""
    if not allowed:
        raise ValueError("allowed_licenses is empty, which would drop every file: name SPDX identifiers, such as 'MIT'")
    for name in allowed:
        if name.lower().startswith("licenseref-") or name.lower().removesuffix("+") in _known_licenses():
            continue
        near = difflib.get_close_matches(name.lower(), _known_licenses(), n=1, cutoff=0.75)
        hint = f"; did you mean {normal_form(near[0])!r}?" if near else ""
        raise ValueError(f"allowed_licenses takes SPDX identifiers, one each, got {name!r}{hint}")


def strictness(expression: str) -> Strictness:
    """Return the strictness of an SPDX expression: the least of `OR`, the greatest of `AND`."""
    tree = _parsed(expression)
    return Strictness.RESTRICTED if tree is None else _fold(tree, _license_strictness, min, max)


def normal_form(expression: str) -> str:
    """Return an expression with SPDX's spelling of its identifiers, or UNKNOWN when it cannot be read."""
    tree = _parsed(expression)
    return UNKNOWN if tree is None else str(tree.render())


def is_known(expression: str) -> bool:
    """Return whether an expression can be read and has only licences of SPDX's list."""
    tree = _parsed(expression)
    return tree is not None and all(key.lower() in _known_licenses() for key in _licensing().license_keys(tree))


def without_vague(names: Iterable[str]) -> list[str]:
    """Return the names, each once, without the families (`LicenseRef-BSD`) of which a member is there (`BSD-3-Clause`)."""
    distinct = list(dict.fromkeys(names))
    vague = {f"LicenseRef-{name.partition('-')[0]}" for name in distinct}
    return [name for name in distinct if name not in vague]


def _is_in(key: str, wanted: Collection[str]) -> bool:
    return key.lower() in wanted or key.lower().removesuffix("+") in wanted


def all_of(expressions: Iterable[str]) -> str:
    """Return the SPDX expression in which all of these hold; empty for none."""
    return " AND ".join(f"({one})" if " OR " in one else one for one in expressions)


def _license_strictness(key: str) -> Strictness:
    known = _known_licenses()
    return known.get(key.lower(), known.get(key.lower().removesuffix("+"), Strictness.RESTRICTED))


@lru_cache(maxsize=1)
def _licensing() -> Licensing:
    """Return the parser that knows SPDX's identifiers; making one takes 40 ms."""
    return get_spdx_licensing()


@lru_cache(maxsize=4096)
def _parsed(expression: str) -> Any:
    """Return the tree of an expression, or None when it is empty, too long, too deep or no expression."""
    if len(expression) > _MAX_CHARACTERS or expression.count("(") > _MAX_DEPTH:
        return None
    try:
        tree = _licensing().parse(expression)
    except _PARSE_ERRORS:
        return None
    is_spelled_right = all(map(_IDENTIFIER.fullmatch, _licensing().license_keys(tree)))
    return tree if is_spelled_right else None


def _fold(tree: Any, of_license: Any, of_either: Any, of_both: Any) -> Any:
    if isinstance(tree, LicenseWithExceptionSymbol):
        return of_license(tree.license_symbol.key)
    if not tree.args:
        return of_license(tree.key)
    values = [_fold(part, of_license, of_either, of_both) for part in tree.args]
    return of_either(values) if "OR" in tree.operator else of_both(values)


@lru_cache(maxsize=1)
def _known_licenses() -> Mapping[str, Strictness]:
    """Return the strictness of every SPDX identifier, in lower case."""
    content = (files("license_expression") / "data" / "scancode-licensedb-index.json").read_text(encoding="utf-8")
    known = {name.lower(): value for name, value in _VAGUE.items()}
    for entry in json.loads(content):
        value = _CATEGORIES.get(entry.get("category"), Strictness.RESTRICTED)
        for name in (entry.get("spdx_license_key"), *entry.get("other_spdx_license_keys", ())):
            if name:
                known.setdefault(name.lower(), value)
    return known
