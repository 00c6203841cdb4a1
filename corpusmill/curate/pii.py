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

_LOCAL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_%+-])?$")
_LOCAL_CHARACTERS = 64
_DOMAIN = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[0-9A-Fa-f:]{6,45}(?![\w:]))[0-9A-Fa-f]{1,4}(?::{1,2}[0-9A-Fa-f]{1,4}){2,7}(?![\w:])"
)
_RESERVED_DOMAINS = ("example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".localhost")


def find_pii(text: str, *, has_ip_addresses: bool = True) -> list[Edit]:
    """Return the edits that mask addresses, in order. Reserved example domains and private addresses are nobody's."""
    edits = list(_emails(text)) if "@" in text else []
    if has_ip_addresses:
        edits += _ip_addresses(text, _IPV4, IPV4_REPLACEMENT)
        if text.count(":") > 2:
            edits += _ip_addresses(text, _IPV6, IPV6_REPLACEMENT)
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


def _ip_addresses(text: str, pattern: re.Pattern[str], replacement: str) -> list[Edit]:
    return [
        Edit(start=found.start(), end=found.end(), kind="ip_address", replacement=replacement)
        for found in pattern.finditer(text)
        if _is_public(found[0])
    ]


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_global
    except ValueError:
        return False
