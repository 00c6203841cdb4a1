"""URL lists from a folder, and what they and earlier pages take away: the tasks on the plain engine."""

import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute, is_current


def settings_for(folder: Path) -> Settings:
    sources = {
        "web": {"uri": "web", "format": "jsonl", "options": {"url_column": "url"}},
        "url_lists": {"uri": "lists", "format": "jsonl"},
    }
    return settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=folder)


def put(folder: Path, name: str, content: str | bytes) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def put_lists(folder: Path) -> None:
    put(folder, "lists/blocked_domains.txt", "# bad ones\nBad.com\n\n*.evil.org\n")
    put(folder, "lists/ut1/blocked_domains_2.txt.gz", gzip.compress(b"worse.com\r\n"))
    put(folder, "lists/blocked_words_anywhere.txt", "poker\n")
    put(folder, "lists/blocked_words.ndjson", '{"word": "win", "kind": "soft"}\n')
    since = pa.array([None, datetime.date(2030, 1, 1)], pa.date32())
    outs = pa.table({"domain": ["out.net", "later.net"], "path_prefix": ["/private/", None], "since": since})
    pq.write_table(outs, folder / "lists" / "opt_outs.parquet")


def arguments(settings: Settings, dataset: str, partition: str, **parameters: Any) -> dict[str, Any]:
    return {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}


def run(task: str, given: dict[str, Any]) -> dict[str, Any]:
    return execute(task, given, lambda message, numbers: None)


def test_lists_are_read_from_text_jsonl_and_parquet(tmp_path: Path) -> None:
    put_lists(tmp_path)
    settings = settings_for(tmp_path)
    result = run("url_lists", arguments(settings, "url_lists", "all"))
    assert result["counts"]["kept"] == 7
    rows = Lake(settings.lake).read("curated/url_lists/entries").to_pylist()
    assert [[value for value in list(row.values())[1:] if value is not None] for row in rows] == [
        ["blocked_domains", "Bad.com"],
        ["blocked_domains", "*.evil.org"],
        ["blocked_words", "win", "soft"],
        ["blocked_words", "poker", "anywhere"],
        ["opt_outs", "out.net", "/private/"],
        ["opt_outs", "later.net", datetime.date(2030, 1, 1)],
        ["blocked_domains", "worse.com"],
    ]


WRONG = {
    "no file": ({}, "wanted files whose names begin with blocked_domains, .*, got none"),
    "another name": ({"domains.txt": "a.com"}, "wanted files whose names begin with .*, got domains.txt"),
    "another ending": ({"opt_outs.csv": "a.com"}, "and end with .jsonl, .*, got opt_outs.csv"),
    "not JSON": (
        {"opt_outs.jsonl": '{"domain": "a.com"}\nx\n'},
        r"opt_outs.jsonl: line 2 cannot be read \(invalid_json\)",
    ),
    "not UTF-8": ({"blocked_domains.txt": b"a.com\n\xff\n"}, "blocked_domains.txt: line 2 is not UTF-8"),
    "no bytes": (
        {"blocked_domains.txt": "", "opt_outs.txt": "a.com"},
        "blocked_domains.txt is empty: write its entries",
    ),
    "no Parquet": ({"opt_outs.parquet": "PAR1 but not"}, "opt_outs.parquet cannot be read: .*; write it anew"),
    "a lone surrogate": (
        {"opt_outs.jsonl": '{"domain": "a\\ud800.com"}\n'},
        "opt_outs.jsonl cannot be read: .*surrogates not allowed; write it anew",
    ),
    "another kind": ({"opt_outs.jsonl": '{"domain": ["a.com"]}\n'}, "opt_outs.jsonl cannot be read: .*; write it anew"),
    "a name that is not UTF-8": ({"opt_outs\udce9.txt": "a.com"}, r"the name of 'opt_outs\\\\xe9.txt' is not UTF-8"),
    "no domain": ({"blocked_domains.txt": "a.com\ncom\n"}, "row 1 of blocked_domains: wanted a domain .*, got 'com'"),
}


@pytest.mark.parametrize(("files", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_list_fails_the_task(tmp_path: Path, files: dict[str, str | bytes], message: str) -> None:
    for name, content in files.items():
        put(tmp_path, f"lists/{name}", content)
    with pytest.raises(ValueError, match=message):
        run("url_lists", arguments(settings_for(tmp_path), "url_lists", "all"))


KEEPS_ALL = {"languages": [], "min_formulas": 0, "min_words": 1}
PAGES = {
    "a.jsonl": [
        ("https://www.example.com/a/index.html?utm_source=x", "http://example.com/a", None),
        ("http://sub.bad.com/", "http://sub.bad.com/", "url_blocked_domain"),
        ("http://example.com/mega-poker", "http://example.com/mega-poker", "url_blocked_word"),
        ("http://out.net/private/x", "http://out.net/private/x", "url_opted_out"),
        ("http://later.net/", "http://later.net/", None),
        (None, None, None),
    ],
    "b.jsonl": [
        ("http://example.com/a/#part", "http://example.com/a", "url_duplicate"),
        ("http://bad.com/", "http://bad.com/", "url_blocked_domain"),
        (None, None, None),
        ("data:text/plain,x", None, None),
    ],
}


def test_each_document_has_its_canonical_url_and_the_first_reason(tmp_path: Path) -> None:
    put_lists(tmp_path)
    for name, pages in PAGES.items():
        lines = [json.dumps({"text": "hello", "url": url}) for url, _, _ in pages]
        put(tmp_path, f"web/2024/{name}", "\n".join(lines))
    settings = settings_for(tmp_path)
    for task, given in (
        ("url_lists", arguments(settings, "url_lists", "all")),
        ("records", arguments(settings, "web", "2024")),
        ("extract", arguments(settings, "web", "2024", method="plain")),
        ("judge", arguments(settings, "web", "2024", judge="stem", rules=KEEPS_ALL)),
    ):
        run(task, given)
    judged = arguments(settings, "web", "2024", as_of="2024-06-01")
    result = run("urls", judged)
    dropped = {"url_blocked_domain": 2, "url_blocked_word": 1, "url_duplicate": 1, "url_opted_out": 1}
    assert result["counts"] == {"rows_in": 10, "kept": 5, "dropped": dropped, "failed": {}}
    rows = Lake(settings.lake).read("curated/web/urls").to_pylist()
    expected = [(canonical, reason) for pages in PAGES.values() for _, canonical, reason in pages]
    assert [(row["canonical_url"], row["drop_reason"]) for row in rows] == expected
    assert is_current("urls", judged)
    kept = run("urls", arguments(settings, "web", "2024", duplicates="keep", as_of="2030-01-01"))
    assert kept["counts"]["dropped"] == {"url_blocked_domain": 2, "url_blocked_word": 1, "url_opted_out": 2}
    with pytest.raises(ValueError, match="the parameter duplicates is drop, keep, got 'no'"):
        run("urls", arguments(settings, "web", "2024", duplicates="no"))
    with pytest.raises(
        ValueError, match="unknown parameter duplicate of URLs; known are duplicates, versions, agents, as_of"
    ):
        run("urls", arguments(settings, "web", "2024", duplicate="keep"))
