"""Personal data, keys and tokens in texts, as edits that put a placeholder there.

A kernel passes over the bytes and names the few places worth a look (`pii_kernels`); these are judged by their form, their
check digits and the words before them. A text without candidates costs no Python at all.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from corpusmill.curate import pii_kernels
from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.edits import Edit
from corpusmill.curate.pii_keys import find_assigned_secrets, find_keys
from corpusmill.curate.pii_kinds import IPV6_PLACEHOLDER, KINDS, PLACEHOLDERS, PiiPolicy
from corpusmill.curate.pii_numbers import find_numbers
from corpusmill.curate.pii_place import Found, Place
from corpusmill.curate.pii_tokens import find_tokens

STATISTICS = tuple(f"pii_{kind}" for kind in KINDS)
"""Columns of `count_pii`."""

_AROUND_BYTES = 64
_FEW_CANDIDATES = 65_536
"""How many are Python objects at a time."""
_RESERVED_DOMAINS = ("example.com", "example.org", "example.net", ".example", ".test", ".invalid", ".localhost")
"""RFC 2606: nobody's."""
_VERSION = re.compile(
    r"(?:(?<!\w)(?:v|ver|version|versión|versione|release|rev|revision|section|sec|paragraph|chapter|clause|build)|§)"
    r"[.: `'\"]{0,3}\Z",
    re.IGNORECASE,
)
"""Before four numbers with full stops that are no address."""
_LOOKS = {
    pii_kernels.EMAIL: {"email"},
    pii_kernels.IPV4: {"ip_address"},
    pii_kernels.IPV6: {"ip_address"},
    pii_kernels.NUMBER: {
        *("card", "us_ssn", "us_itin", "us_passport", "uk_nino", "uk_nhs", "es_nif", "fr_nir", "de_tax_id"),
        *("pl_pesel", "br_cpf", "phone"),
    },
    pii_kernels.TOKEN: {"iban", "uk_nino", "es_nif", "fr_nir", "it_fiscal_code", "crypto_address"},
    pii_kernels.KEY: {"aws_key", "github_token", "slack_token", "google_api_key", "stripe_key", "package_token", "jwt"},
    pii_kernels.ASSIGNED: {"secret"},
    pii_kernels.PRIVATE_KEY: {"private_key"},
}


def find_pii(texts: pa.ChunkedArray, policy: PiiPolicy) -> list[list[Edit]]:
    """Return the edits of each text for the kinds that the policy does not leave; a null text has none.

    Spans are in characters, sorted by start, and may overlap: `merge_edits` makes one of those that do.
    """
    kinds = policy.kinds
    if not kinds:
        return [[] for _ in range(len(texts))]
    data, offsets = text_buffers(texts)
    wanted = sum(1 << look for look, its_kinds in _LOOKS.items() if its_kinds & kinds)
    candidates = pii_kernels.find_candidates(data, offsets, wanted)
    edits: list[list[Edit]] = [[] for _ in range(len(offsets) - 1)]
    for first in range(0, len(candidates), _FEW_CANDIDATES):
        for row, edit in _confirmed(candidates[first : first + _FEW_CANDIDATES], data, offsets, policy):
            edits[row].append(edit)
    return [sorted(set(found)) if len(found) > 1 else found for found in edits]


def count_pii(edits: Sequence[Sequence[Edit]], policy: PiiPolicy) -> dict[str, np.ndarray]:
    """Return the number of spans by kind, a float64 per text under each name of STATISTICS; NaN for kinds not looked for."""
    counts = {name: np.zeros(len(edits)) for name in STATISTICS}
    for row, found in enumerate(edits):
        for edit in found:
            if edit.kind in PLACEHOLDERS:
                counts[f"pii_{edit.kind}"][row] += 1
    for kind in set(KINDS) - policy.kinds:
        counts[f"pii_{kind}"][:] = np.nan
    return counts


def drops_for_pii(counts: Mapping[str, np.ndarray], policy: PiiPolicy) -> np.ndarray:
    """Return per text whether it holds a kind for which the policy drops the document; `counts` as `count_pii` gives them."""
    dropping = [counts[f"pii_{kind}"] > 0 for kind in KINDS if policy.drops(kind)]
    return np.any(dropping, axis=0) if dropping else np.zeros(len(counts[STATISTICS[0]]), bool)


def _confirmed(
    candidates: np.ndarray, data: np.ndarray, offsets: np.ndarray, policy: PiiPolicy
) -> Iterator[tuple[int, Edit]]:
    """Yield row and edit of what the candidates turn out to be."""
    kinds = policy.kinds
    view = memoryview(data)  # type: ignore[arg-type]
    rows, starts, ends, characters, looks = candidates.T.tolist()
    firsts, lasts = offsets[:-1][rows].tolist(), offsets[1:][rows].tolist()
    for index, row in enumerate(rows):
        start, end = starts[index], ends[index]
        place = Place(
            _text(view[max(firsts[index], start - _AROUND_BYTES) : start]),
            _text(view[start:end]),
            _text(view[end : min(lasts[index], end + _AROUND_BYTES)]),
        )
        for kind, first, last in _look(looks[index], place, kinds, policy.phone_regions):
            yield row, _edit(kind, characters[index] + first, characters[index] + last, place)


def _text(data: memoryview) -> str:
    # Windows may begin or end inside a character, whose rest is left out.
    return bytes(data).decode("utf-8", "ignore")


def _look(look: int, place: Place, kinds: frozenset[str], phone_regions: Sequence[str]) -> list[Found]:
    whole = (0, len(place.body))
    if look == pii_kernels.NUMBER:
        return find_numbers(place, kinds, phone_regions)
    if look == pii_kernels.EMAIL:
        return [] if place.body.lower().endswith(_RESERVED_DOMAINS) else [("email", *whole)]
    if look in (pii_kernels.IPV4, pii_kernels.IPV6):
        return [("ip_address", *whole)] if _is_public(place.body) and not _VERSION.search(place.before) else []
    if look == pii_kernels.TOKEN:
        return find_tokens(place, kinds)
    if look == pii_kernels.KEY:
        return find_keys(place, kinds)
    if look == pii_kernels.ASSIGNED:
        return find_assigned_secrets(place)
    return [("private_key", *whole)]


def _is_public(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_global
    except ValueError:
        return False


def _edit(kind: str, start: int, end: int, place: Place) -> Edit:
    is_ipv6 = kind == "ip_address" and ":" in place.body
    return Edit(start=start, end=end, kind=kind, replacement=IPV6_PLACEHOLDER if is_ipv6 else PLACEHOLDERS[kind])
