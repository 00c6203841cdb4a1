"""Repeated spans from texts of two snapshots to documents, with the tasks of the whole way."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from corpusmill.document import REMOVALS
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import repeated_spans
from corpusmill.tasks.removals import add_removals
from corpusmill.tasks.stored_filter import read_filter, write_filter
from corpusmill.tasks.task import execute, is_current

RULES = {"languages": [], "min_formulas": 0, "min_words": 1}


def prose(num_words: int, *, seed: int) -> str:
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(num_words))


PLANTED = prose(100, seed=0)
FOOTER = prose(120, seed=1)
# Digits stand around what is planted: letters there might agree by chance.
SNAPSHOTS = {
    "2024": [f"{prose(200, seed=2)}1{PLANTED}", f"{prose(80, seed=3)}2{FOOTER}"],
    "2025": [
        f"{prose(150, seed=4)}3{PLANTED}4{prose(150, seed=5)}",
        f"{prose(90, seed=6)}5{FOOTER}",
        f"tiny 6{PLANTED}",
        prose(300, seed=7),
    ],
}


def write_sources(folder: Path, snapshots: Mapping[str, Sequence[str]] = SNAPSHOTS) -> Settings:
    for name, texts in snapshots.items():
        (folder / "stem" / name).mkdir(parents=True)
        for number, text in enumerate(texts):
            (folder / "stem" / name / f"{number}.jsonl").write_text(json.dumps({"text": text}), encoding="utf-8")
    sources = {"stem": {"uri": "stem", "format": "jsonl"}}
    return settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=folder)


def arguments(settings: Settings, partition: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"settings": settings.to_json(), "dataset": "stem", "partition": partition, "parameters": parameters}


def run(settings: Settings, task: str, partition: str, **parameters: Any) -> dict[str, Any]:
    return execute(task, arguments(settings, partition, parameters), lambda message, numbers: None)


def make_anchors(settings: Settings, partition: str) -> None:
    run(settings, "records", partition)
    run(settings, "extract", partition, method="plain")
    run(settings, "judge", partition, judge="stem", rules=RULES)
    run(settings, "sign", partition)
    run(settings, "resolve", "all")
    run(settings, "duplicates", partition, max_removed_share=1.0)
    run(settings, "span_anchors", partition)


def make_spans(settings: Settings) -> dict[str, dict[str, Any]]:
    for partition in SNAPSHOTS:
        make_anchors(settings, partition)
    run(settings, "span_index", "all")
    return {partition: run(settings, "repeated_spans", partition) for partition in SNAPSHOTS}


def texts_of(settings: Settings, partition: str) -> dict[str, str]:
    rows = Lake(settings.lake).read("curated/stem/documents", partitions=[partition]).to_pylist()
    return {row["doc_id"]: row["text"] for row in rows}


def extracted(settings: Settings) -> dict[str, str]:
    return {row["doc_id"]: row["text"] for row in Lake(settings.lake).read("curated/stem/extracted").to_pylist()}


def test_later_copies_are_found_and_name_the_first_one(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    results = make_spans(settings)
    texts = extracted(settings)
    spans = Lake(settings.lake).read("curated/stem/repeated_spans").to_pylist()
    found = {(texts[row["doc_id"]][row["start"] : row["end"]], row["kept_snapshot"]) for row in spans}
    assert found == {(PLANTED, "2024"), (FOOTER, "2024")}
    for row in spans:
        copy = texts[row["kept_doc_id"]][row["kept_start"] :][: row["kept_characters"]]
        assert copy == texts[row["doc_id"]][row["start"] : row["end"]]
    assert results["2024"]["metrics"]["spans"] == 0
    assert results["2025"]["metrics"]["documents_with_repeats"] == 3


def test_copies_are_cut_and_what_is_too_short_then_is_dropped(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    make_spans(settings)
    result = run(settings, "documents", "2025", repeated_spans={})
    assert result["counts"]["dropped"] == {"too_short_without_repeats": 1}
    assert sorted(texts_of(settings, "2025").values()) == sorted(
        [f"{prose(150, seed=4)}34{prose(150, seed=5)}", f"{prose(90, seed=6)}5", prose(300, seed=7)]
    )
    run(settings, "documents", "2024", repeated_spans={})
    assert sorted(texts_of(settings, "2024").values()) == sorted(SNAPSHOTS["2024"])


def test_copies_may_be_counted_only(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    make_spans(settings)
    result = run(settings, "documents", "2025", repeated_spans={"action": "flag"})
    assert result["counts"]["dropped"] == {}
    rows = Lake(settings.lake).read("curated/stem/documents").to_pylist()
    counts = {row["text"]: dict(row["meta"] or ()).get("repeated_characters") for row in rows}
    assert counts[SNAPSHOTS["2025"][3]] is None
    assert counts[SNAPSHOTS["2025"][2]] == str(len(PLANTED))


def test_the_cut_into_shards_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = write_sources(tmp_path)
    whole = make_spans(settings)
    monkeypatch.setattr(repeated_spans, "CONTEXTS_PER_SHARD", 3)
    monkeypatch.setattr(repeated_spans, "FRAGMENTS_PER_SHARD", 3)
    given = arguments(settings, "2025", {})
    again = execute("repeated_spans", {**given, "again": True}, lambda message, numbers: None)
    assert again["metrics"]["shards"] > whole["2025"]["metrics"]["shards"]
    assert again["content_hash"] == whole["2025"]["content_hash"]


def test_what_finished_before_a_stop_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = write_sources(tmp_path)
    for partition in SNAPSHOTS:
        make_anchors(settings, partition)
    run(settings, "span_index", "all")

    class StoppedError(Exception):
        """In place of the end of the process."""

    def stop(*_: Any) -> None:
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(Store, "delete", stop)
        with pytest.raises(StoppedError):
            run(settings, "repeated_spans", "2025")
    stopped = run(settings, "repeated_spans", "2025")
    assert stopped["metrics"]["shards_reused"] == stopped["metrics"]["shards"]
    folder = tmp_path / ".corpusmill"
    assert not list(folder.rglob("*.filter"))
    files = [file for file in folder.rglob("*.parquet") if "repeated_spans" in str(file)]
    assert len(files) == 1


def test_a_later_snapshot_leaves_an_earlier_one_current_and_an_earlier_one_does_not(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    make_anchors(settings, "2025")
    run(settings, "span_index", "all")
    assert run(settings, "repeated_spans", "2025")["metrics"]["spans"] == 1  # of its own
    make_anchors(settings, "2024")
    run(settings, "span_index", "all")
    assert not is_current("repeated_spans", arguments(settings, "2025", {}))
    run(settings, "repeated_spans", "2024")
    assert run(settings, "repeated_spans", "2025")["metrics"]["spans"] == 3
    assert is_current("repeated_spans", arguments(settings, "2024", {}))


def test_anchors_that_the_index_did_not_see_are_named(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    make_spans(settings)
    (tmp_path / "stem" / "2024" / "0.jsonl").write_text(json.dumps({"text": prose(200, seed=8)}), encoding="utf-8")
    make_anchors(settings, "2024")
    message = r"does not know this version of snapshot '2024' .* materialize curated/stem/span_index first"
    with pytest.raises(ValueError, match=message):
        run(settings, "repeated_spans", "2025")
    run(settings, "span_index", "all")
    run(settings, "repeated_spans", "2024")
    assert run(settings, "repeated_spans", "2025")["metrics"]["spans"] == 2


def test_anchors_for_spans_of_another_length_are_refused(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    make_spans(settings)
    message = r"wanted spans of at least 400 bytes, but the anchors of snapshot '2024' are for 500; materialize"
    with pytest.raises(ValueError, match=message):
        run(settings, "repeated_spans", "2025", min_bytes=400)


def test_a_snapshot_of_which_nothing_stays_repeats_nothing(tmp_path: Path) -> None:
    settings = write_sources(tmp_path, {"2024": SNAPSHOTS["2024"], "2025": [SNAPSHOTS["2024"][0]]})
    for partition in SNAPSHOTS:
        make_anchors(settings, partition)
    run(settings, "span_index", "all")
    result = run(settings, "repeated_spans", "2025")
    assert (result["num_rows"], result["counts"]["rows_in"]) == (0, 0)
    documents = run(settings, "documents", "2025", repeated_spans={})
    assert documents["counts"]["dropped"] == {"exact_duplicate": 1}


def test_a_garbled_filter_is_refused(tmp_path: Path) -> None:
    store = Store(StoreSettings(root=str(tmp_path)))
    words = np.arange(16, dtype=np.uint64)
    key = write_filter(store, "staging", words)
    assert read_filter(store, key).tolist() == words.tolist()
    other = write_filter(store, "staging", words[::-1])
    store.write(other, store.read(key))
    with pytest.raises(ValueError, match="does not hold what was written"):
        read_filter(store, other)


def test_a_copy_stays_where_a_removal_names_the_first_one(tmp_path: Path) -> None:
    settings = write_sources(tmp_path)
    make_spans(settings)
    lake = Lake(settings.lake)
    first = next(key for key, text in extracted(settings).items() if text == SNAPSHOTS["2024"][1])
    named = {"doc_id": first, "text_hash": None, "reason": "asked"}
    add_removals(lake, "stem", pa.Table.from_pylist([named], schema=REMOVALS))
    for partition in SNAPSHOTS:
        run(settings, "span_anchors", partition)
    run(settings, "span_index", "all")
    for partition in SNAPSHOTS:
        run(settings, "repeated_spans", partition)
        run(settings, "documents", partition, repeated_spans={})
    assert list(texts_of(settings, "2024").values()) == [SNAPSHOTS["2024"][0]]
    assert SNAPSHOTS["2025"][1] in texts_of(settings, "2025").values()
