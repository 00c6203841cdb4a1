"""The licence that a URL stands for: a Creative Commons deed, or a page of SPDX's or the Open Source Initiative's list."""

import re

from corpusmill.curate.licenses import is_known, normal_form

_CREATIVE_COMMONS = re.compile(
    r"creativecommons\.org/(?:licenses/(by(?:-nc)?(?:-nd|-sa)?)/(\d\.\d)|(publicdomain/zero)/1\.0)", re.IGNORECASE
)
_LISTED = re.compile(
    r"(?:spdx\.org/licenses|opensource\.org/licenses?)/([a-z0-9][a-z0-9.+-]*?)(?:\.html|\.txt)?/?", re.IGNORECASE
)
_SCHEME = re.compile(r"(?:https?:)?//(?:www\.)?", re.IGNORECASE)


def license_of_url(url: str) -> str | None:
    """Return the SPDX identifier that a URL stands for, or None when it stands for none that is known."""
    place = _SCHEME.sub("", url.strip(), count=1)
    if named := creative_commons_at(place, 0):
        return named
    listed = _LISTED.fullmatch(re.split(r"[?#]", place)[0])
    return normal_form(listed[1]) if listed and is_known(listed[1]) else None


def creative_commons_at(text: str, position: int) -> str | None:
    """Return the licence whose deed's address stands at a position of a text, from `creativecommons.org/` on."""
    named = _CREATIVE_COMMONS.match(text, position)
    if named is None:
        return None
    return "CC0-1.0" if named[3] else f"CC-{named[1].upper()}-{named[2]}"
