"""What URLs and benchmarks take away from a dataset's documents, where its asset asks for it."""

import json
from pathlib import Path
from typing import Any

from corpusmill.lake.tables import Lake
from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import execute

ITEM = "Write a function to swap two numbers without a third one in between."
PAGES = [
    ("http://example.com/clean", "A clean page about rivers and the boats on them."),
    ("http://bad.com/", "A page of a domain that nobody wants to read."),
    ("http://example.com/short", f"# {ITEM}"),
    ("http://example.com/long", f"{'A river flows by. ' * 40}{ITEM}{' Another river flows by.' * 40}"),
]


def kept(
    folder: Path, drops: dict[str, Any] | None = None, *, pages: list[tuple[str, str]] = PAGES, min_words: int = 1
) -> dict[str, Any]:
    files = {
        "web/2024/a.jsonl": [{"url": url, "text": text} for url, text in pages],
        "benchmarks/mbpp.jsonl": [{"text": ITEM}],
        "lists/blocked_domains.jsonl": [{"domain": "bad.com"}],
    }
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    sources = {
        "web": {"uri": "web", "format": "jsonl", "options": {"url_column": "url"}},
        "benchmarks": {"uri": "benchmarks", "format": "jsonl"},
        "url_lists": {"uri": "lists", "format": "jsonl"},
    }
    settings = settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=folder)
    rules = {"languages": [], "min_formulas": 0, "min_words": min_words}
    asked = {} if drops is None else {"drops": drops}
    result: dict[str, Any] = {}
    for task, dataset, partition, parameters in (
        ("benchmark_items", "benchmarks", "all", {}),
        ("url_lists", "url_lists", "all", {}),
        ("records", "web", "2024", {}),
        ("extract", "web", "2024", {"method": "plain"}),
        ("judge", "web", "2024", {"judge": "stem", "rules": rules}),
        ("urls", "web", "2024", {}),
        ("contamination", "web", "2024", {}),
        ("sign", "web", "2024", asked),
        ("resolve", "web", "all", {}),
        ("duplicates", "web", "2024", {"max_removed_share": 1.0}),
        ("documents", "web", "2024", asked),
    ):
        given = {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}
        result = execute(task, given, lambda message, numbers: None)
    rows = Lake(settings.lake).read("curated/web/documents").to_pylist()
    return {"dropped": result["counts"]["dropped"], "texts": {row["url"]: row["text"] for row in rows}}


def test_an_asset_that_does_not_ask_loses_nothing(tmp_path: Path) -> None:
    assert kept(tmp_path) == {"dropped": {}, "texts": dict(PAGES)}


def test_an_asset_that_asks_loses_what_was_found(tmp_path: Path) -> None:
    found = kept(tmp_path, {"urls": {}, "contamination": {}})
    assert found == {"dropped": {"contaminated": 2, "url_blocked_domain": 1}, "texts": dict(PAGES[:1])}


def test_long_documents_are_cut(tmp_path: Path) -> None:
    found = kept(tmp_path, {"contamination": {"action": "cut"}})
    assert found["dropped"] == {"contaminated": 1}
    text = found["texts"]["http://example.com/long"]
    assert "swap" not in text
    assert len(text) == len(PAGES[3][1]) - len(ITEM[:-1]) - 400


def test_of_one_page_under_two_spellings_of_its_url_one_stays(tmp_path: Path) -> None:
    """Whichever deduplication would keep: what the URL takes away is no candidate to be kept."""
    first = [(f"http://example.com/{number}", f"Page {number}.") for number in range(8)]
    pages = [page for url, text in first for page in ((url, text), (f"{url}?utm_source=mail", text))]
    assert kept(tmp_path, {"urls": {}}, pages=pages) == {"dropped": {"url_duplicate": 8}, "texts": dict(first)}


def test_a_page_that_its_text_condemns_takes_no_other_away(tmp_path: Path) -> None:
    pages = [("http://example.com/a", "Try later."), ("http://example.com/a/", "A page about rivers.")]
    found = kept(tmp_path, {"urls": {}}, pages=pages, min_words=3)
    assert found == {"dropped": {"too_few_words": 1}, "texts": dict(pages[1:])}


def test_a_contaminated_document_is_no_reason_to_drop_its_copy_of_another_wording(tmp_path: Path) -> None:
    rivers = "".join(
        f"River number {number} flows to the sea by town number {number + 1}. " for number in range(40)
    ).strip()
    pages = [("http://example.com/a", f"{rivers} {ITEM}"), ("http://example.com/b", rivers)]
    found = kept(tmp_path, {"contamination": {}}, pages=pages)
    assert found == {"dropped": {"contaminated": 1}, "texts": dict(pages[1:])}
