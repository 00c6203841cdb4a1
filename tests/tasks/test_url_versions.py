"""One page in several snapshots: which version stays where a dataset asks for one, on the plain engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import url_versions
from corpusmill.tasks.task import execute, is_current

PAGES = {
    "2022": [("http://a.com/", "a of 2022"), ("http://b.com/", "b of 2022"), ("http://d.com/", "d of 2022")],
    "2023": [("https://www.a.com/?utm_source=x", "a of 2023"), ("http://c.com/", "c of 2023"), (None, "no address")],
    "2024": [("http://a.com/#top", "a of 2024"), ("http://b.com/", "gone"), (None, "no address either")],
}
"""The version of b of 2024 has too few words to be kept."""
RULES = {"languages": [], "min_formulas": 0, "min_words": 2}
KEPT = {
    "newest": {
        "2022": ["b of 2022", "d of 2022"],
        "2023": ["c of 2023", "no address"],
        "2024": ["a of 2024", "no address either"],
    },
    "oldest": {
        "2022": ["a of 2022", "b of 2022", "d of 2022"],
        "2023": ["c of 2023", "no address"],
        "2024": ["no address either"],
    },
}


def settings_for(folder: Path) -> Settings:
    put(folder, "lists/blocked_domains.txt", ["bad.com"])
    sources = {
        "web": {"uri": "web", "format": "jsonl", "options": {"url_column": "url"}},
        "url_lists": {"uri": "lists", "format": "jsonl"},
    }
    settings = settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=folder)
    run(settings, "url_lists", "all", dataset="url_lists")
    return settings


def put(folder: Path, name: str, lines: list[str]) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


def add(settings: Settings, folder: Path, snapshot: str) -> None:
    put(folder, f"web/{snapshot}/a.jsonl", [json.dumps({"url": url, "text": text}) for url, text in PAGES[snapshot]])
    run(settings, "records", snapshot)
    run(settings, "extract", snapshot, method="plain")
    run(settings, "judge", snapshot, judge="stem", rules=RULES)


def arguments(settings: Settings, partition: str, dataset: str = "web", **parameters: Any) -> dict[str, Any]:
    return {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}


def run(settings: Settings, task: str, partition: str, dataset: str = "web", **parameters: Any) -> dict[str, Any]:
    return execute(task, arguments(settings, partition, dataset, **parameters), lambda message, numbers: None)


def kept(settings: Settings, snapshots: list[str]) -> dict[str, list[str]]:
    """Return the texts that neither verdicts nor URLs drop, by snapshot."""
    lake = Lake(settings.lake)
    dropped = lake.read("curated/web/urls", partitions=snapshots).to_pylist()
    dropped += lake.read("curated/web/verdicts", partitions=snapshots).to_pylist()
    gone = {row["doc_id"] for row in dropped if row["drop_reason"]}
    rows = lake.read("curated/web/extracted", partitions=snapshots).to_pylist()
    return {
        name: [it["text"] for it in rows if it["snapshot"] == name and it["doc_id"] not in gone] for name in snapshots
    }


@pytest.mark.parametrize("rows_at_once", [1 << 26, 2])
@pytest.mark.parametrize("versions", ["newest", "oldest"])
def test_one_version_of_a_page_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: str, rows_at_once: int
) -> None:
    monkeypatch.setattr(url_versions, "ROWS_AT_ONCE", rows_at_once)
    settings = settings_for(tmp_path)
    for snapshot in PAGES:
        add(settings, tmp_path, snapshot)
    whole = run(settings, "url_versions", "all", versions=versions)
    reason = {"newest": "url_older_version", "oldest": "url_later_version"}[versions]
    assert whole["counts"] == {"rows_in": 9, "kept": 7, "dropped": {reason: 2}, "failed": {}}
    for snapshot in PAGES:
        run(settings, "urls", snapshot, versions=versions)
    assert kept(settings, list(PAGES)) == KEPT[versions]
    rows = Lake(settings.lake).read("curated/web/url_versions").to_pylist()
    better = {"newest": "2024", "oldest": "2022"}[versions]
    assert {(row["snapshot"], row["canonical_url"], row["kept_snapshot"]) for row in rows} == {
        (snapshot, "http://a.com/", better) for snapshot in PAGES if snapshot != better
    }


def test_a_new_snapshot_makes_only_those_due_of_which_it_has_a_newer_version(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    for snapshot in ("2022", "2023"):
        add(settings, tmp_path, snapshot)
    run(settings, "url_versions", "all", versions="newest")
    for snapshot in ("2022", "2023"):
        run(settings, "urls", snapshot, versions="newest")
    add(settings, tmp_path, "2024")
    with pytest.raises(ValueError, match="does not know this version of snapshot '2024'"):
        run(settings, "urls", "2024", versions="newest")
    whole = run(settings, "url_versions", "all", versions="newest")
    assert whole["listings"]["changed_snapshots"] == [{"snapshot": "2023"}]
    assert is_current("urls", arguments(settings, "2022", versions="newest")), "its page was gone already"
    assert not is_current("urls", arguments(settings, "2023", versions="newest"))
    whole = run(settings, "url_versions", "all", versions="oldest")
    assert whole["listings"]["changed_snapshots"] == [{"snapshot": "2022"}, {"snapshot": "2024"}]


def test_who_does_not_ask_reads_no_other_snapshot(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    for snapshot in PAGES:
        add(settings, tmp_path, snapshot)
        run(settings, "urls", snapshot)
    assert kept(settings, list(PAGES))["2023"] == [text for _, text in PAGES["2023"]]
    with pytest.raises(ValueError, match="the parameter versions is all, newest, oldest, got 'latest'"):
        run(settings, "urls", "2022", versions="latest")
