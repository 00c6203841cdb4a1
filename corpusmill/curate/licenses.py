"""The licence gate: may a text under this SPDX expression be trained on?

Of `A OR B` one allowed licence is enough, of `A AND B` both are needed, `A WITH exception` is judged as A (an exception
only ever gives more freedom), `A+` as A or later.
"""

import re
from collections.abc import Collection

PERMISSIVE = (
    *("0BSD", "Apache-2.0", "Artistic-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-2-Clause-Patent", "BSD-3-Clause"),
    *("BSD-3-Clause-Clear", "BSD-4-Clause", "BSL-1.0", "BlueOak-1.0.0", "CC-BY-4.0", "CC0-1.0", "FTL", "HPND", "ICU"),
    *(
        "ISC",
        "LicenseRef-BSD",
        "LicenseRef-PublicDomain",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "MIT-Modern-Variant",
        "MulanPSL-2.0",
    ),
    *("NCSA", "OpenSSL", "PHP-3.01", "PSF-2.0", "PostgreSQL", "Python-2.0", "Ruby", "UPL-1.0", "Unicode-3.0"),
    *("Unlicense", "Vim", "W3C", "WTFPL", "X11", "Zlib", "libpng-2.0"),
)
"""Licences that ask for attribution at most: SPDX identifiers from the Blue Oak Council's list (as The Stack does,
Kocetkov et al. 2022, section 3), Creative Commons attribution and public domain. `LicenseRef-BSD` is a BSD licence that
names no version; all versions are permissive."""

_TOKEN = re.compile(r"\(|\)|[^\s()]+")


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Return whether an SPDX expression is met by the allowed licences; one that cannot be read is not."""
    parser = _Parser(_TOKEN.findall(expression), {license.lower() for license in allowed})
    try:
        found = parser.either()
    except _UnreadableError:
        return False
    return found and parser.is_at_end


class _UnreadableError(Exception):
    pass


class _Parser:
    """Recursive descent over `either: both (OR both)*`, `both: one (AND one)*`, `one: id [WITH id] | ( either )`."""

    def __init__(self, tokens: list[str], allowed: set[str]) -> None:
        self._tokens = tokens[:_MAX_TOKENS]
        self._allowed = allowed
        self._next = 0
        self._depth = 0

    @property
    def is_at_end(self) -> bool:
        return self._next == len(self._tokens)

    def either(self) -> bool:
        found = self._both()
        while self._accept("or"):
            found = self._both() or found
        return found

    def _both(self) -> bool:
        found = self._one()
        while self._accept("and"):
            found = self._one() and found
        return found

    def _one(self) -> bool:
        if self._accept("("):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise _UnreadableError
            found = self.either()
            if not self._accept(")"):
                raise _UnreadableError
            self._depth -= 1
            return found
        license = self._take().lower()
        if self._accept("with"):
            self._take()
        return license in self._allowed or license.removesuffix("+") in self._allowed

    def _take(self) -> str:
        if self.is_at_end or self._tokens[self._next].lower() in ("and", "or", "with", ")"):
            raise _UnreadableError
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, token: str) -> bool:
        is_there = not self.is_at_end and self._tokens[self._next].lower() == token
        self._next += is_there
        return is_there


_MAX_TOKENS = 1000
_MAX_DEPTH = 50
