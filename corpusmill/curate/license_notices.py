"""The licence that a source file names itself: its SPDX line, a licence text, or a sentence that names one.

Looked at are the first and last lines of a file (Perl states its licence at the end), wherever these hold a word about
licences. A mention in passing counts as well: what names the GPL is judged as GPL, as no grammar tells a notice from a remark.
"""

import re
from functools import lru_cache

from corpusmill.curate.license_texts import license_words, split_license_texts
from corpusmill.curate.licenses import UNKNOWN, all_of, normal_form, without_vague

HEAD_CHARACTERS = 8000
TAIL_CHARACTERS = 4000
_MIN_LICENSE_WORDS = 40
_SPDX = re.compile(r"SPDX-License-Identifier:[ \t]*([A-Za-z0-9.+() -]{2,200})")
_HINTS = ("licen", "copying", "gpl", "warrant", "public domain", "same terms", "confidential", "unauthori")

_GNU = re.compile(r"\bgnu (affero |lesser |library )?(?:general )?public licen[sc]e")
_GNU_SHORT = re.compile(
    r"\b(a|l)?gpl(?: ?v? ?([123](?:\.[01])?)\b( or later| or newer| or any later)?)?(?! ?compatible|[a-z])"
)
_REMARKS = re.compile(
    r"\b(?:distributing python under|unlike|(?:in)?compatible with|conditions of) the gpl(?:v2)?\b"
    r"|\bsoftware that is (?:released|licensed) under the gpl(?:v2)?\b|\bgpl (?:from )?compatible\b"
)
"""What CPython's licence and LLVM's exception, which are permissive, say about the GPL."""
_GNU_VERSION = re.compile(r"\bv(?:ersion)? ?([123](?:\.[01])?)\b")
_LATER = re.compile(r"\b(?:any|or) (?:later|newer)(?: version)?\b|\bor at your option\b")
_GNU_REACH_CHARACTERS = 400
_SENTENCES = tuple(
    (needle, re.compile(pattern), name)
    for needle, pattern, name in (
        ("as perl", r"\bsame (?:terms|licen[sc]e) as perl\b", "Artistic-1.0-Perl OR GPL-1.0-or-later"),
        ("artistic", r"\bartistic licen[sc]e 2(?:\.0)?\b", "Artistic-2.0"),
        ("artistic", r"\bartistic licen[sc]e\b(?! 2)", "Artistic-1.0-Perl"),
        ("apache", r"\bapache(?: software)? licen[sc]e\b|\blicen[sc]ed? (?:under )?(?:the )?apache 2", "Apache-2.0"),
        ("apache 2", r"\bapache 2(?:\.0)? licen[sc]e", "Apache-2.0"),
        ("mit", r"\bmit licen[sc]ed?\b|\blicen[sc]ed? (?:under |is )?(?:the )?(?:terms of the )?mit\b", "MIT"),
        ("isc", r"\bisc licen[sc]ed?\b|\blicen[sc]e isc\b", "ISC"),
        ("bsd", r"\bbsd (?:style )?licen[sc]ed?\b|\bbsd [234] clause\b|\blicen[sc]e (?:new )?bsd\b", "LicenseRef-BSD"),
        ("boost", r"\bboost software licen[sc]e\b", "BSL-1.0"),
        ("zlib", r"\bzlib licen[sc]e\b", "Zlib"),
        ("mozilla", r"\bmozilla public licen[sc]e(?: v| version)? ?2(?:\.0)?\b", "MPL-2.0"),
        ("mozilla", r"\bmozilla public licen[sc]e\b(?!(?: v| version)? ?2)", "LicenseRef-MPL"),
        ("mpl", r"\bmpl ?2(?:\.0)?\b", "MPL-2.0"),
        ("eclipse", r"\beclipse public licen[sc]e\b", "LicenseRef-EPL"),
        ("common dev", r"\bcommon development and distribution licen[sc]e\b", "LicenseRef-CDDL"),
        ("european", r"\beuropean union public licen[sc]e\b", "LicenseRef-EUPL"),
        ("server side", r"\bserver side public licen[sc]e\b", "SSPL-1.0"),
        ("business", r"\bbusiness source licen[sc]e\b", "BUSL-1.1"),
        ("creative", r"\bcreative commons attribution share ?alike\b", "LicenseRef-CC-BY-SA"),
        ("cc by sa", r"\bcc by sa\b", "LicenseRef-CC-BY-SA"),
        ("creative", r"\bcreative commons attribution non ?commercial\b", "LicenseRef-CC-BY-NC"),
        ("cc by nc", r"\bcc by nc\b", "LicenseRef-CC-BY-NC"),
        ("unlicense", r"\bunlicense\b", "Unlicense"),
        ("unencumbered", r"\bfree and unencumbered software\b", "Unlicense"),
        ("public domain", r"\b(?:in|into|to|of) the public domain\b", "LicenseRef-PublicDomain"),
        ("public domain", r"\bpublic domain software\b", "LicenseRef-PublicDomain"),
        ("confidential", r"\bproprietary and confidential\b|\bconfidential and proprietary\b", UNKNOWN),
        ("copying", r"\bunauthori[sz]ed copying\b", UNKNOWN),
    )
)
"""A needle that is cheap to look for, the sentence around it in normalised words, and the licence that it names."""


def find_notice(text: str) -> str | None:
    """Return the licences that a source file names, as an expression in which all hold, or None when it names none."""
    parts = text[:HEAD_CHARACTERS], text[max(HEAD_CHARACTERS, len(text) - TAIL_CHARACTERS) :]
    found = [license for part in parts if _has_hint(part.lower()) for license in _named_licenses(part)]
    return all_of(without_vague(found)) or None


def find_license_file(text: str) -> str | None:
    """Return the licences of a licence file, UNKNOWN when it has words enough for a licence that nobody recognises, or None.

    A few words (`YEAR: 2015`) are no licence.
    """
    found = _named_licenses(text)
    if found:
        return all_of(found)
    return UNKNOWN if len(license_words(text[:HEAD_CHARACTERS])) >= _MIN_LICENSE_WORDS else None


def _has_hint(lowered: str) -> bool:
    return any(hint in lowered for hint in _HINTS)


@lru_cache(maxsize=4096)
def _named_licenses(part: str) -> list[str]:
    """Return what a part of a file names: SPDX lines if there are any, else texts, and sentences outside of these."""
    if tags := _SPDX.findall(part):
        return [normal_form(tag.strip(" -")) for tag in tags]
    texts, words = split_license_texts(part)
    words = _REMARKS.sub("|", words)
    sentences = (name for needle, pattern, name in _SENTENCES if needle in words and pattern.search(words))
    return without_vague([*texts, *_gnu_licenses(words), *sentences])


def _gnu_licenses(words: str) -> list[str]:
    """Return the GNU licences that normalised words name, each with the version that stands near it."""
    found = []
    for mention in _GNU.finditer(words):
        family = {"a": "AGPL", "l": "LGPL", "": "GPL"}[(mention[1] or "")[:1]]
        near = words[mention.start() : mention.start() + _GNU_REACH_CHARACTERS]
        version = _GNU_VERSION.search(near)
        found.append(_gnu_name(family, version[1] if version else None, bool(_LATER.search(near))))
    for mention in _GNU_SHORT.finditer(words):
        family = {"a": "AGPL", "l": "LGPL", "": "GPL"}[mention[1] or ""]
        found.append(_gnu_name(family, mention[2], bool(mention[3])))
    return found


def _gnu_name(family: str, version: str | None, has_later: bool) -> str:
    if version is None or (family == "AGPL" and version[0] != "3") or (family == "LGPL" and version[0] == "1"):
        return f"LicenseRef-{family}"
    default = "2.1" if family == "LGPL" and version == "2.1" else f"{version[0]}.0"
    return f"{family}-{default}-{'or-later' if has_later else 'only'}"
