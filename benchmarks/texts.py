"""Real texts to measure curation on: help pages in five languages, books, manuals, crawled pages, package documentation.

Where the data folder is absent only the documentation of installed Python packages is left, which is English.
"""

import gzip
import io
import itertools
import json
import random
import site
import textwrap
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpusmill.curate.html import read_html

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
LANGUAGES = ("en", "de", "fr", "es", "ru")
_MIN_CHARACTERS = 200
_BLOCKS = ("}title", "}para", "}item", "}caption", "}entry")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One real document."""

    source: str
    language: str
    text: str


def real_samples(languages: tuple[str, ...] = LANGUAGES) -> list[Sample]:
    """Return all documents at hand in these languages, in a fixed order, each text once."""
    everything = itertools.chain(_help_pages(), _textbook(), _manuals(), _crawled(), _packages())
    found = {sample.text: sample for sample in everything if sample.language in languages}
    return [sample for text, sample in found.items() if len(text) >= _MIN_CHARACTERS]


def worse_samples(samples: list[Sample], *, seed: int = 0) -> list[Sample]:
    """Return each document made worse in one of six ways, more or less: what bad extraction and bad pages do."""
    ways = (_cut_short, _repeated, _only_short_lines, _full_of_numbers, _unpunctuated, _broken_lines)
    worse = []
    for number, sample in enumerate(samples):
        chance = random.Random(f"{seed} {number}")
        text = ways[number % len(ways)](_an_excerpt(sample.text, chance), chance)
        if text.strip():
            worse.append(Sample(source=f"worse {sample.source}", language=sample.language, text=text))
    return worse


def _an_excerpt(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    start = chance.randrange(max(1, len(lines) - 20))
    return "\n".join(lines[start:])[: chance.randrange(500, 8000)]


def _cut_short(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(100, 900)]


def _repeated(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(chance.randrange(1, 6)):
        start = chance.randrange(len(lines))
        lines += lines[start : start + chance.randrange(1, 8)]
    return "\n".join(lines)


def _only_short_lines(text: str, chance: random.Random) -> str:
    longest = chance.randrange(20, 120)
    return "\n".join(line for line in text.split("\n") if len(line) <= longest)


def _full_of_numbers(text: str, chance: random.Random) -> str:
    share = chance.random() * 0.25
    return " ".join(str(chance.randrange(5000)) if chance.random() < share else word for word in text.split(" "))


def _unpunctuated(text: str, chance: random.Random) -> str:
    share = chance.random()
    return "\n".join(line.rstrip(".!?:") if chance.random() < share else line for line in text.split("\n"))


def _broken_lines(text: str, chance: random.Random) -> str:
    return "\n".join(textwrap.fill(line, chance.randrange(10, 60)) for line in text.split("\n"))


def joined_texts(texts: list[str], num_bytes: int) -> list[str]:
    """Return texts of about `num_bytes`, each of several whole ones; none is used twice."""
    joined, parts, size = [], [], 0
    for text in texts:
        parts.append(text)
        size += len(text.encode())
        if size >= num_bytes:
            joined.append("\n\n".join(parts))
            parts, size = [], 0
    return joined


def _help_pages() -> Iterator[Sample]:
    for name in ("general", "stem"):
        for page in _json_lines(DATA / "html_parallel_lohelp" / f"{name}.jsonl.gz"):
            text = read_html(page["html"], "resiliparse").text
            yield Sample(source="help page", language=page["lang"].split("-")[0], text=text)
            yield Sample(
                source="help page with menus", language=page["lang"].split("-")[0], text=_all_text(page["html"])
            )


def help_page_versions() -> dict[str, dict[str, str]]:
    """Return the help pages by language and by name; those of one name say the same."""
    found: dict[str, dict[str, str]] = {}
    for name in ("general", "stem"):
        for page in _json_lines(DATA / "html_parallel_lohelp" / f"{name}.jsonl.gz"):
            text = read_html(page["html"], "resiliparse").text
            found.setdefault(page["lang"].split("-")[0], {})[f"{name}/{page['page']}"] = text
    return found


def _all_text(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=False, alt_texts=True) or "")


def _textbook() -> Iterator[Sample]:
    for pair in _json_lines(DATA / "stem_openstax_physics" / "pairs_vol1.jsonl.gz"):
        for language in ("en", "es"):
            parts = ElementTree.fromstring(pair[f"cnxml_{language}"]).iter()
            lines = (" ".join("".join(part.itertext()).split()) for part in parts if part.tag.endswith(_BLOCKS))
            yield Sample(source="textbook", language=language, text="\n".join(filter(None, lines)))


def _manuals() -> Iterator[Sample]:
    for page in _json_lines(DATA / "neardup_text_pydoc" / "docs.jsonl.gz"):
        yield Sample(source="manual", language="en", text=page["text"])


def _crawled() -> Iterator[Sample]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for file in sorted((DATA / "warc_real").rglob("*.warc.gz")):
        if "clipped" in file.name:
            continue
        for record in ArchiveIterator(io.BytesIO(file.read_bytes()), record_types=WarcRecordType.response):
            text = read_html(record.reader.read().decode("utf-8", "replace"), "resiliparse").text
            yield Sample(source="crawled page", language="en", text=text)


def _packages() -> Iterator[Sample]:
    for folder in map(Path, site.getsitepackages()):
        for file in sorted(itertools.chain(folder.rglob("*.rst"), folder.rglob("*.md"), folder.rglob("METADATA"))):
            text = unicodedata.normalize("NFC", file.read_text(encoding="utf-8", errors="replace"))
            yield Sample(source="package documentation", language="en", text=text)


def _json_lines(file: Path) -> Iterator[dict[str, str]]:
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def declaration(language: str) -> list[str]:
    """Return the Universal Declaration of Human Rights in a language (ISO 639-1), a text for five paragraphs.

    Of several variants the first standard one; empty where there is none.
    """
    rows = _json_lines(DATA / "langid_udhr" / "udhr_iso639-1.jsonl.gz")
    own = [row for row in rows if row["bcp47"].partition("-")[0] == language and row["code"].startswith(row["iso6393"])]
    paragraphs = [row["text"] for row in own if row["code"] == own[0]["code"]]
    return ["\n".join(paragraphs[start : start + 5]) for start in range(0, len(paragraphs), 5)]
