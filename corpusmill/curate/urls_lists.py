"""Pages that must not be used, by their URL: blocked domains, blocked words, and owners who opted out. No list is bundled.

A domain stands for itself and all below it; `example.com` is also www.example.com. Words are those of RefinedWeb (Penedo et
al. 2023, arXiv 2306.01116, appendix G.1.2) and FineWeb: `anywhere` in the address, as a whole `word`, or `soft`, where one
alone says nothing. An opt-out is a domain and the path prefix that robots.txt (RFC 9309) or a register disallows.

URLs that are none of the web (`data:`, `javascript:`, null) break no rule.
"""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.hash_lookup import make_buckets
from corpusmill.curate.urls import UrlRules, canonical_urls
from corpusmill.curate.urls_match_kernels import ANYWHERE, HOST_START, hash_bytes, match_hosts, match_words
from corpusmill.fingerprint import fingerprint

BLOCKED_DOMAINS = pa.schema([pa.field("domain", pa.string(), nullable=False)])
BLOCKED_WORDS = pa.schema(
    [pa.field("word", pa.string(), nullable=False), pa.field("kind", pa.string(), nullable=False)]
)
OPT_OUTS = pa.schema(
    [
        pa.field("domain", pa.string(), nullable=False),
        pa.field("path_prefix", pa.string()),
        pa.field("agent", pa.string()),
        pa.field("since", pa.date32()),
    ]
)
"""A null prefix is the whole domain, a null agent is every one, a null date always."""

WORD_KINDS = ("anywhere", "word", "soft")
EVERY_AGENT = "*"
_AS_GIVEN = UrlRules(tracking_parameters=(), index_pages=())
"""What lists are compared with: nothing is left out that a path prefix may name."""


@dataclass(frozen=True, kw_only=True)
class HostList:
    """Hosts by their sorted hashes, each with path prefixes."""

    entries: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    first_path: np.ndarray
    paths: np.ndarray
    path_starts: np.ndarray


@dataclass(frozen=True, kw_only=True)
class WordList:
    """Words by their sorted hashes, each with its kind."""

    entries: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    kinds: np.ndarray
    lengths: np.ndarray
    pairs: np.ndarray


@dataclass(frozen=True, kw_only=True)
class UrlLists:
    """All lists, made ready by `build_url_lists`."""

    domains: HostList
    words: WordList
    opt_outs: HostList
    min_soft_words: int
    fingerprint: str
    """32 hex digits naming all that decides which URLs match."""


def build_url_lists(
    *,
    blocked_domains: pa.Table | None = None,
    blocked_words: pa.Table | None = None,
    opt_outs: pa.Table | None = None,
    agents: Sequence[str] = (),
    as_of: datetime.date | None = None,
    min_soft_words: int = 2,
) -> UrlLists:
    """Return the lists of BLOCKED_DOMAINS, BLOCKED_WORDS and OPT_OUTS, made ready.

    Opt-outs count for `agents` (names of robots, in any case) and where they name none or `*`; an empty `agents` takes all.
    With `as_of`, later ones do not count yet. `min_soft_words` is FineWeb's (datatrove, `soft_word_threshold`). Raises
    ValueError for wrong columns and for entries that are no domain, word or prefix.
    """
    domains = _table(blocked_domains, BLOCKED_DOMAINS)
    words = _table(blocked_words, BLOCKED_WORDS)
    outs = _chosen(_table(opt_outs, OPT_OUTS), agents, as_of)
    spelled = {"domains": domains.to_pydict(), "words": words.to_pydict(), "soft": min_soft_words}
    spelled["opt_outs"] = outs.select(["domain", "path_prefix"]).to_pydict()
    return UrlLists(
        domains=_host_list(domains["domain"], [""] * len(domains), "blocked_domains"),
        words=_word_list(words),
        opt_outs=_host_list(outs["domain"], outs["path_prefix"].to_pylist(), "opt_outs"),
        min_soft_words=min_soft_words,
        fingerprint=fingerprint(spelled),
    )


def url_checks(urls: pa.ChunkedArray | pa.Array, lists: UrlLists) -> dict[str, np.ndarray]:
    """Return for each drop reason whether it holds for each URL, in the order in which reasons name a document's."""
    data, offsets = text_buffers(canonical_urls(urls, _AS_GIVEN))
    words = lists.words
    packed_words = (words.entries, words.kinds, words.lengths, words.pairs)
    return {
        "url_opted_out": _match(data, offsets, lists.opt_outs),
        "url_blocked_domain": _match(data, offsets, lists.domains),
        "url_blocked_word": match_words(data, offsets, packed_words, lists.min_soft_words),
    }


def _match(data: np.ndarray, offsets: np.ndarray, hosts: HostList) -> np.ndarray:
    packed = (hosts.entries, hosts.first_path, hosts.paths, hosts.path_starts)
    found: np.ndarray = match_hosts(data, offsets, packed)
    return found


def _table(given: pa.Table | None, schema: pa.Schema) -> pa.Table:
    """Return a list in its schema; columns that may be null may be missing."""
    if given is None:
        return schema.empty_table()
    missing = [field.name for field in schema if not field.nullable and field.name not in given.column_names]
    unknown = [name for name in given.column_names if name not in schema.names]
    if missing or unknown:
        raise ValueError(f"a list has the columns {', '.join(schema.names)}, got {', '.join(given.column_names)}")
    columns = [
        given[field.name].cast(field.type) if field.name in given.column_names else pa.nulls(len(given), field.type)
        for field in schema
    ]
    return pa.table(columns, names=schema.names)


def _chosen(outs: pa.Table, agents: Sequence[str], as_of: datetime.date | None) -> pa.Table:
    if agents:
        wanted = pa.array([EVERY_AGENT, *(agent.lower() for agent in agents)])
        named = pc.fill_null(pc.utf8_lower(outs["agent"]), EVERY_AGENT)
        outs = outs.filter(pc.is_in(named, value_set=wanted))
    if as_of is not None:
        outs = outs.filter(pc.fill_null(pc.less_equal(outs["since"], pa.scalar(as_of)), True))
    return outs


def _host_list(domains: pa.ChunkedArray, prefixes: list[str | None], where: str) -> HostList:
    hosts = _hosts(domains, where)
    order = sorted(range(len(hosts)), key=lambda row: hosts[row])
    names = list(dict.fromkeys(hosts[row] for row in order))
    entries, places = _entries(names)
    number_of = dict(zip(names, places.tolist(), strict=True))
    by_host = sorted({(number_of[hosts[row]], _normal_prefix(prefixes[row], where, row)) for row in order})
    first_path = np.searchsorted([number for number, _ in by_host], np.arange(len(names) + 1)).astype(np.int64)
    paths, path_starts = _joined([prefix for _, prefix in by_host])
    return HostList(entries=entries, first_path=first_path, paths=paths, path_starts=path_starts)


def _hosts(domains: pa.ChunkedArray, where: str) -> list[bytes]:
    """Return the canonical hosts of listed domains; a ValueError for one that is none or has no dot, as `com`."""
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(domains), r"^(\*?\.)?", "")
    urls = canonical_urls(pc.binary_join_element_wise("http://", bare, "/", ""), _AS_GIVEN)
    hosts = [None if url is None else url[HOST_START:-1].encode() for url in urls.to_pylist()]
    for row, host in enumerate(hosts):
        if host is None or b"/" in host or not (b"." in host or host.startswith(b"[")):
            given = domains[row].as_py()
            raise ValueError(f"row {row} of {where}: wanted a domain such as example.com, got {given!r}")
    return [host for host in hosts if host is not None]


def _normal_prefix(prefix: str | None, where: str, row: int) -> bytes:
    if not prefix:
        return b""
    if not prefix.startswith("/") or "*" in prefix or "$" in prefix:
        raise ValueError(f"row {row} of {where}: wanted a path prefix such as /private/, got {prefix!r}")
    parts = re.split(r"(%[0-9A-Fa-f]{2})", prefix)
    return "".join(
        quote(unquote_to_bytes(part), safe="~") if number % 2 else quote(part, safe="!$&'()*+,;=:@/?[]~")
        for number, part in enumerate(parts)
    ).encode()


def _word_list(words: pa.Table) -> WordList:
    kind_of: dict[bytes, int] = {}
    for row, (word, kind) in enumerate(zip(words["word"].to_pylist(), words["kind"].to_pylist(), strict=True)):
        normal = _normal_word(word)
        if kind not in WORD_KINDS or len(normal) < (3 if kind == "anywhere" else 1):
            raise ValueError(
                f"row {row} of blocked_words: wanted letters and digits (3 and more for anywhere) and a kind of "
                f"{', '.join(WORD_KINDS)}, got {word!r} and {kind!r}"
            )
        kind_of[normal] = min(WORD_KINDS.index(kind), kind_of.get(normal, len(WORD_KINDS)))
    entries, places = _entries(list(kind_of))
    kinds = np.zeros(len(kind_of), np.uint8)
    kinds[places] = list(kind_of.values())
    parts = [word for word, kind in kind_of.items() if kind == ANYWHERE]
    lengths = np.zeros(max(map(len, parts), default=0) + 1, np.bool_)
    lengths[[len(part) for part in parts]] = True
    pairs = np.zeros(1 << 16, np.bool_)
    pairs[[part[0] << 8 | part[1] for part in parts]] = True
    return WordList(entries=entries, kinds=kinds, lengths=lengths, pairs=pairs)


def _normal_word(word: str | None) -> bytes:
    return b"" if word is None else re.sub(rb"[^a-z0-9\x80-\xff]", b"", word.lower().encode())


def _entries(names: list[bytes]) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return (keys, buckets, text, starts) of different names, sorted by hash, and the place of each name in it."""
    hashes = np.array([hash_bytes(np.frombuffer(name, np.uint8), 0, len(name)) for name in names], np.uint64)
    order = np.argsort(hashes, kind="stable")
    places = np.empty(len(names), np.int64)
    places[order] = np.arange(len(names))
    text, starts = _joined([names[number] for number in order.tolist()])
    return (hashes[order], make_buckets(hashes[order]), text, starts), places


def _joined(parts: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)]).astype(np.int64)
