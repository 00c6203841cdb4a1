"""Which licences a licence file holds, as an SPDX expression, by sentences that only they have.

A file with the text of several is under all of them, as far as a machine can tell. A text that is none of these is
`LicenseRef-unidentified`, which no gate lets through.
"""

import re

UNIDENTIFIED = "LicenseRef-unidentified"

_MOST_CHARACTERS = 200_000
_GRANT = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE = "above copyright notice and this permission notice"
_ISC_GRANT = r"permission to use copy modify and or distribute this software for any purpose"
_BSD = "redistribution and use in source and binary forms"
_ENDORSE = r"(?:neither the names? of|may not be used to endorse|used to endorse or promote)"
_ADVERTISING = "all advertising materials mentioning features"

_SENTENCES: tuple[tuple[str, str, str], ...] = (
    ("MIT", rf"{_GRANT}(?=.*{_MIT_NOTICE})", ""),
    ("MIT-0", _GRANT, _MIT_NOTICE),
    ("ISC", rf"{_ISC_GRANT}(?=.*above copyright notice)", ""),
    ("0BSD", _ISC_GRANT, "above copyright notice"),
    ("BSD-4-Clause", rf"{_BSD}(?=.*{_ADVERTISING})", ""),
    ("BSD-3-Clause", rf"{_BSD}(?=.*{_ENDORSE})", _ADVERTISING),
    ("BSD-2-Clause", _BSD, rf"{_ENDORSE}|{_ADVERTISING}"),
    ("Apache-2.0", r"apache license version 2 0(?: january 2004)?", ""),
    ("MPL-2.0", "mozilla public license version 2 0", ""),
    ("MPL-1.1", "mozilla public license version 1 1", ""),
    ("EPL-2.0", "eclipse public license v(?:ersion)? 2 0", ""),
    ("EPL-1.0", "eclipse public license v(?:ersion)? 1 0", ""),
    ("AGPL-3.0-only", "gnu affero general public license version 3", ""),
    ("LGPL-3.0-only", "gnu lesser general public license version 3 29 june 2007", ""),
    ("LGPL-2.1-only", "gnu lesser general public license version 2 1 february 1999", ""),
    ("LGPL-2.0-only", "gnu library general public license version 2 june 1991", ""),
    ("GPL-3.0-only", "gnu general public license version 3 29 june 2007", ""),
    ("GPL-2.0-only", "gnu general public license version 2 june 1991", ""),
    ("Unlicense", "this is free and unencumbered software released into the public domain", ""),
    ("CC0-1.0", "cc0 1 0 universal", ""),
    ("CC-BY-NC-SA-4.0", "attribution noncommercial sharealike 4 0 international", ""),
    ("CC-BY-NC-ND-4.0", "attribution noncommercial noderiv(?:ative)?s 4 0 international", ""),
    ("CC-BY-NC-4.0", "attribution noncommercial 4 0 international", ""),
    ("CC-BY-ND-4.0", "attribution noderiv(?:ative)?s 4 0 international", ""),
    ("CC-BY-SA-4.0", "attribution sharealike 4 0 international", ""),
    ("CC-BY-4.0", "attribution 4 0 international", ""),
    ("Zlib", "altered source versions must be plainly marked as such", ""),
    ("BSL-1.0", "boost software license version 1 0", ""),
    ("Artistic-2.0", "artistic license 2 0", ""),
    ("PSF-2.0", "python software foundation license version 2", ""),
    ("PostgreSQL", "postgresql license", ""),
    ("WTFPL", "do what the fuck you want to public license", ""),
)
"""SPDX identifier, a sentence of its text (SPDX License List), and what must not be there. Punctuation is left out."""

_COMPILED = [(name, re.compile(has), re.compile(lacks) if lacks else None) for name, has, lacks in _SENTENCES]
_TAG = re.compile(r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]{2,200}?)[ \t]*(?:\*/|-->|$)", re.MULTILINE)
_NAMES = re.compile(
    r"(?:un)?licen[cs]e(?:[-_.].*)?|copying(?:[-_.].*)?|.+[-_.]licen[cs]e(?:\.(?:txt|md|rst))?", re.IGNORECASE
)
_SOURCE = re.compile(r"\.(?:py|c|h|js|ts|go|rs|java|rb|json|ya?ml|html?)$", re.IGNORECASE)


def is_license_file(name: str) -> bool:
    """Return whether a file of this name (without folders) holds a licence: LICENSE, LICENCE.md, COPYING, LICENSE-MIT."""
    return _NAMES.fullmatch(name) is not None and _SOURCE.search(name) is None


def license_of_text(text: str) -> str:
    """Return the SPDX expression of a licence file's text."""
    if tagged := _TAG.search(text):
        return tagged[1].strip()
    words = " ".join(re.findall(r"[a-z0-9]+", text[:_MOST_CHARACTERS].lower()))
    found = [name for name, has, lacks in _COMPILED if has.search(words) and not (lacks and lacks.search(words))]
    return " AND ".join(found) or UNIDENTIFIED
