"""Snapshots of web pages that a test can count: topics of the Python language reference, which Python itself carries."""

import json
from pathlib import Path
from pydoc_data.topics import topics

PAGES = [text for _, text in sorted(topics.items()) if len(text.split()) > 60]
"""About 70 pages of prose, each of them long enough for every rule about length."""


def write_snapshot(source: Path, name: str, pages: list[str], *, column: str = "text") -> None:
    """Write a snapshot of one JSONL file, a page a line, with the text in `column`; it appears at once."""
    folder = source / name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({column: page, "url": f"https://docs.example/{hash_of(page)}"}) for page in pages]
    temporary = folder / ".pages.jsonl"
    temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    temporary.replace(folder / "pages.jsonl")


def hash_of(page: str) -> str:
    return f"{PAGES.index(page):03d}" if page in PAGES else "other"
