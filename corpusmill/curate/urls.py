"""Canonical URLs: one spelling for addresses that lead to the same page, as a key to find duplicates by.

After RFC 3986, section 6.2.2 (always safe): host in lower case, percent-encoding in its one form, no dot segments. After
6.2.3 and what crawlers do, safe in nearly all cases: no fragment, no port 80 or 443, no user or password, `http` for
`https`, no `www` label and no dot behind the host (Internet Archive's URL canonicalizers), parameters sorted and those
that only track a visitor left out, no session, no index page and no slash at the end (Bar-Yossef, Keidar and Schonfeld,
"Do Not Crawl in the DUST", WWW 2007). International hosts are spelled in ASCII (UTS 46, by the package idna).

Null for what is no http or https URL with a host. Blanks around a URL, and tabs and line ends in it, are dropped and
backslashes turned, as browsers do (WHATWG URL standard).
"""

import functools
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import idna
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.urls_kernels import CANONICAL, ODD, character_kinds, write_canonical
from corpusmill.document import text_hash

_AUTHORITY = re.compile(r"(?is)((?:https?:)?//)([^/?#]*@)?([^/?#]*?)(:\d*)?(?=[/?#]|$)")

_NO_HOST = frozenset("/?#@:\\[]% ")


@dataclass(frozen=True, kw_only=True)
class UrlRules:
    """What a canonical URL leaves out; names in lower-case ASCII, `utm_*` for all that begin so."""

    tracking_parameters: tuple[str, ...] = (
        *("utm_*", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl"),
        *("fbclid", "msclkid", "yclid", "ymclid", "twclid", "ttclid", "igshid", "li_fat_id", "mc_cid", "mc_eid"),
        *("_hsenc", "_hsmi", "__hssc", "__hstc", "hsctatracking", "mkt_tok", "oly_anon_id", "oly_enc_id", "vero_id"),
        *("__s", "wickedid", "_openstat", "phpsessid", "jsessionid", "aspsessionid*"),
    )
    """What Firefox and Brave strip from links, the campaign tags of Google Analytics, and sessions of web servers."""
    index_pages: tuple[str, ...] = (
        *("index.html", "index.htm", "index.php", "index.shtml", "index.asp", "index.aspx", "index.jsp"),
        *("default.html", "default.htm", "default.asp", "default.aspx"),
    )
    """What web servers (Apache, nginx, IIS, Tomcat) deliver for a folder."""

    def __post_init__(self) -> None:
        for name in (*self.tracking_parameters, *self.index_pages):
            if not name.strip("*") or not name.isascii() or name != name.lower():
                raise ValueError(f"wanted a name in lower-case ASCII, got {name!r}")


DEFAULT_RULES = UrlRules()


def canonical_urls(urls: pa.ChunkedArray | pa.Array, rules: UrlRules = DEFAULT_RULES) -> pa.LargeStringArray:
    """Return the canonical form of each URL, null where it has none. A canonical URL is its own canonical form."""
    written, states = _write(urls, rules, is_clean=False)
    odd = np.flatnonzero(states == ODD)
    if not len(odd):
        return written
    cleaned = pa.array([_clean(url) for url in urls.take(pa.array(odd)).to_pylist()], pa.large_string())
    again, _ = _write(cleaned, rules, is_clean=True)
    replaced = np.zeros(len(written), np.bool_)
    replaced[odd] = True
    return pc.replace_with_mask(written, pa.array(replaced), again)


def url_hashes(urls: pa.ChunkedArray | pa.Array) -> pa.StringArray:
    """Return the text_hash of each canonical URL, of the URL itself where it has none; about a microsecond each."""
    named = pc.coalesce(canonical_urls(urls), urls.cast(pa.large_string()))
    return pa.array([url and text_hash(url) for url in named.to_pylist()], pa.string())


def _write(
    urls: pa.ChunkedArray | pa.Array, rules: UrlRules, *, is_clean: bool
) -> tuple[pa.LargeStringArray, np.ndarray]:
    data, offsets = text_buffers(urls)
    out = np.empty(3 * int(offsets[-1] - offsets[0]) + 16 * len(offsets), np.uint8)
    ends, states = write_canonical(data, offsets, is_clean, _packed(rules), out)
    is_valid = pa.array(states == CANONICAL).buffers()[1]
    values = pa.py_buffer(out[: ends[-1]].copy())
    return pa.LargeStringArray.from_buffers(len(states), pa.py_buffer(ends), values, is_valid), states


@functools.lru_cache(maxsize=8)
def _packed(rules: UrlRules) -> tuple[np.ndarray, ...]:
    """Return the rules as the kernels take them."""
    is_prefix = np.array([name.endswith("*") for name in rules.tracking_parameters], np.bool_)
    parameters = _joined([name.removesuffix("*") for name in rules.tracking_parameters])
    return (character_kinds(), *parameters, is_prefix, *_joined(rules.index_pages))


def _joined(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of all names and where each ends."""
    return np.frombuffer("".join(names).encode(), np.uint8), np.cumsum([0, *map(len, names)])[1:].astype(np.int64)


def _clean(url: str) -> str | None:
    """Return an odd URL as a plain one, None where its host is none."""
    turned = re.sub(r"[\t\r\n]", "", url).strip()
    head, mark, tail = re.split(r"([?#]|$)", turned, maxsplit=1)
    found = _AUTHORITY.match(head.replace("\\", "/"))
    host = _plain_host(unquote(found[3])) if found else None
    if found is None or host is None:
        return None
    return f"{found[1]}{host}{found[4] or ''}{head.replace(chr(92), '/')[found.end() :]}{mark}{tail}"


def _plain_host(host: str) -> str | None:
    try:
        if host.startswith("["):
            return f"[{ipaddress.IPv6Address(host.strip('[]'))}]"
        if any(character in _NO_HOST for character in host):
            return None
        return host if host.isascii() else idna.encode(host.rstrip("."), uts46=True).decode()
    except ValueError:
        return None
