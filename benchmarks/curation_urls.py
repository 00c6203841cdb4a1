"""Canonical URLs and block lists beside courlan and a plain set in Python, on the addresses that real pages link to.

courlan is what trafilatura cleans addresses with. The plain way is FineWeb's: parse the URL, look up its host and the
domains above it in a set, its words in another, and every listed part in turn.
"""

import random
import re
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pyarrow as pa
from courlan import normalize_url
from fastwarc.warc import ArchiveIterator, WarcRecordType

from benchmarks.harness import Measure, at_least, print_measures
from corpusmill.curate.urls import canonical_urls
from corpusmill.curate.urls_lists import build_url_lists, url_checks

DATA = Path(__file__).parents[2] / "shared" / "data"
NUM_URLS = 500_000
NUM_DOMAINS = 1_000_000
NUM_WORDS = 1_000
PEER_URLS = 20_000


def measures() -> list[Measure]:
    """Return the measures; none, with a line that says why, where the data is absent."""
    if not DATA.exists():
        print(f"no URL measures: {DATA} is absent")
        return []
    linked = _linked_urls()
    urls = [linked[number % len(linked)] for number in range(NUM_URLS)]
    print(f"{len(linked):,} different addresses")
    return [_canonical(urls), _checks(urls)]


def _canonical(urls: list[str]) -> Measure:
    column, few = pa.array(urls), urls[:PEER_URLS]
    return Measure(
        measure="canonical URLs (per second, one core)",
        ours=len(urls) / _seconds(lambda: canonical_urls(column)),
        other=len(few) / _seconds(lambda: [normalize_url(url, strict=True) for url in few]),
        other_name=f"courlan {version('courlan')}",
        bar=at_least(10.0, of="ratio"),
    )


def _checks(urls: list[str]) -> Measure:
    rng = random.Random(0)
    domains = [f"{rng.getrandbits(40):x}.example{number % 99}.com" for number in range(NUM_DOMAINS)]
    words = [f"{rng.getrandbits(32):x}z" for _ in range(NUM_WORDS)]
    kinds = [("anywhere", "word", "soft")[number % 3] for number in range(NUM_WORDS)]
    lists = build_url_lists(
        blocked_domains=pa.table({"domain": domains}), blocked_words=pa.table({"word": words, "kind": kinds})
    )
    column, few = pa.array(urls), urls[:PEER_URLS]
    blocked, parts, whole = set(domains), words[::3], {*words[1::3], *words[2::3]}
    return Measure(
        measure=f"URLs against {NUM_DOMAINS:,} domains and {NUM_WORDS:,} words (per second, one core)",
        ours=len(urls) / _seconds(lambda: url_checks(column, lists)),
        other=len(few) / _seconds(lambda: [_plain_check(url, blocked, parts, whole) for url in few]),
        other_name="sets in Python",
        bar=at_least(5.0, of="ratio"),
    )


def _plain_check(url: str, domains: set[str], parts: list[str], words: set[str]) -> bool:
    labels = (urlsplit(url).hostname or "").split(".")
    if any(".".join(labels[first:]) in domains for first in range(len(labels))):
        return True
    lower = url.lower()
    if any(word in words for word in re.split(r"[^a-z0-9]+", lower)):
        return True
    squeezed = re.sub(r"[^a-z0-9]+", "", lower)
    return any(part in squeezed for part in parts)


def _linked_urls() -> list[str]:
    """Return the different addresses in the links of all pages in the WARC files, in order."""
    found: dict[str, None] = {}
    for name in ("resiliparse/warcfile.warc.gz", "whirlwind/whirlwind.warc.gz"):
        with (DATA / "warc_real" / name).open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response):
                page = record.headers.get("WARC-Target-URI") or ""
                for link in re.findall(rb"href=[\"']([^\"']*)", record.reader.read()):
                    found.setdefault(_joined(page, link.decode("utf-8", "replace")))
    return list(found)


def _joined(page: str, link: str) -> str:
    """Return the address that a link leads to, the link itself where it makes none."""
    try:
        return urljoin(page, link)
    except ValueError:
        return link


def _seconds(work: Callable[[], object]) -> float:
    """Return the median processor time of three runs, after one that does not count."""
    times = []
    for _ in range(4):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times[1:])


if __name__ == "__main__":
    print_measures(measures())
