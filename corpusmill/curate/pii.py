"""E-mail and public IP addresses in a text, as edits that put a placeholder there (FineWeb, Penedo et al. 2024, section 3.1).

Linear in the text whatever it holds: an address is looked for around each `@`, a number only where four parts can stand.
"""

import ipaddress
import re

from corpusmill.curate.edits import Edit

EMAIL_REPLACEMENT = "email@example.com"
IPV4_REPLACEMENT = "192.0.2.1"
"""Of TEST-NET-1 (RFC 5737), so that nobody's machine is named."""
IPV6_REPLACEMENT = "2001:db8::1"

_LOCAL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9](?:[A-Za-z0-9._%+-]{0,62}[A-Za-z0-9_%+-])?$")
_LOCAL_CHARACTERS = 65  # one more than an address may have, to see that it begins there
_DOMAIN = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_IPV4 = re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?!\w|\.\d)")
_COLONS = re.compile(r":[0-9A-Fa-f]{0,4}:")
_IPV6_CHARACTERS = frozenset("0123456789abcdefABCDEF:")
_IPV6_LENGTH = 39
_ALLOCATED_IPV6 = ipaddress.ip_network("2000::/3")
_RESERVED_DOMAINS = ("example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".localhost")


def find_pii(text: str, *, has_ip_addresses: bool = True) -> list[Edit]:
    """Return the edits that mask addresses. Reserved example domains and private addresses are nobody's."""
    edits = list(_emails(text)) if "@" in text else []
    if has_ip_addresses:
        edits += _ipv4_addresses(text)
        edits += _ipv6_addresses(text)
    return edits


def _emails(text: str) -> list[Edit]:
    edits = []
    position = text.find("@")
    behind = 0
    while position >= 0:
        local = _LOCAL.search(text[max(behind, position - _LOCAL_CHARACTERS) : position])
        domain = _DOMAIN.match(text, position + 1)
        if local and domain and not domain[0].lower().endswith(_RESERVED_DOMAINS):
            behind = domain.end()
            start = position - len(local[0])
            edits.append(Edit(start=start, end=behind, kind="email", replacement=EMAIL_REPLACEMENT))
        position = text.find("@", position + 1)
    return edits


def _ipv4_addresses(text: str) -> list[Edit]:
    return [
        Edit(start=found.start(), end=found.end(), kind="ip_address", replacement=IPV4_REPLACEMENT)
        for found in _IPV4.finditer(text)
        # Asked here, as a pattern that begins by looking back is five times slower.
        if _begins_number(text, found.start()) and _is_public(found[0])
    ]


def _begins_number(text: str, start: int) -> bool:
    return start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "._")


def _ipv6_addresses(text: str) -> list[Edit]:
    """Look at the run of hexadecimal digits and colons around each pair of colons."""
    edits = []
    behind = 0
    for found in _COLONS.finditer(text):
        if found.start() < behind:
            continue
        start, end = _widened(text, found.start(), found.end())
        behind = end
        if _is_public(text[start:end]):
            edits.append(Edit(start=start, end=end, kind="ip_address", replacement=IPV6_REPLACEMENT))
    return edits


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span with the IPv6 characters at both sides; empty where it touches a word, which no address does."""
    first, last = max(0, start - _IPV6_LENGTH - 1), min(len(text), end + _IPV6_LENGTH + 1)
    while start > first and text[start - 1] in _IPV6_CHARACTERS:
        start -= 1
    while end < last and text[end] in _IPV6_CHARACTERS:
        end += 1
    touches = (start > 0 and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum())
    return (end, end) if touches else (start, end)


def _is_public(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    # `a::b` is C++ as well as an address: only what registries give out counts.
    return found.is_global and (found.version == 4 or found in _ALLOCATED_IPV6)
