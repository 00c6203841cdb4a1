"""Verdicts as a task: what the asset's page is given."""

import json
from pathlib import Path
from typing import Any

from corpusmill.engines.shard import MAX_EXAMPLES
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute

SHORT, OTHER_LANGUAGE = "Too short to be kept by any rule.", "Dies ist ein Satz in deutscher Sprache. " * 20
NUM_SHORT = 2 * MAX_EXAMPLES


def settings_in(tmp_path: Path) -> Settings:
    lines = [json.dumps({"text": f"{SHORT} {number}"}) for number in range(NUM_SHORT)]
    lines += [json.dumps({"text": OTHER_LANGUAGE})] * 2
    folder = tmp_path / "web" / "2024"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    source = {"uri": "web", "format": "jsonl"}
    return settings_from_table({"spark": {"engine": "plain"}, "sources": {"web": source}}, base=tmp_path)


def judge(settings: Settings, *, records_per_shard: int = 1000, **rules: Any) -> dict[str, Any]:
    result: dict[str, Any] = {}
    steps = {
        "records": {},
        "extract": {"method": "plain", "records_per_shard": records_per_shard},
        "judge": {"judge": "web", "rules": rules},
    }
    for task, parameters in steps.items():
        arguments = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": parameters}
        result = execute(task, arguments, lambda message, numbers: None)
    return result


def test_every_reason_has_its_examples_the_same_however_the_rows_are_cut(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "whole")
    listed = judge(settings)["listings"]["dropped"]
    short = [row for row in listed if row["drop_reason"] == "too_few_words"]
    assert (len(short), len(listed)) == (MAX_EXAMPLES, MAX_EXAMPLES + 2)
    verdicts = Lake(settings.lake).read("curated/web/verdicts")
    dropped = verdicts.filter(verdicts["drop_reason"].to_numpy() == "too_few_words")["doc_id"].to_pylist()
    assert [row["doc_id"] for row in short] == sorted(dropped)[:MAX_EXAMPLES]
    assert all(row["text"].startswith(SHORT) for row in short)
    cut = judge(settings_in(tmp_path / "cut"), records_per_shard=7)
    assert (cut["metrics"]["shards"], cut["listings"]["dropped"]) == (6, listed)


def test_languages_and_the_spread_of_each_statistic_are_shown(tmp_path: Path) -> None:
    result = judge(settings_in(tmp_path))
    languages = {row["language"]: row for row in result["tables"]["languages"]}
    assert languages["en"] == {"language": "en", "documents": NUM_SHORT, "dropped": NUM_SHORT}
    assert languages["de"] == {"language": "de", "documents": 2, "dropped": 2}
    spreads = {row["statistic"]: row for row in result["listings"]["statistics"]}
    assert (spreads["words"]["documents"], spreads["words"]["median"]) == (NUM_SHORT + 2, 9.0)
    assert spreads["words"]["p95"] == 9.0


def test_changed_thresholds_are_decided_from_the_stored_verdicts(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "again")
    lenient = {"min_words": 5, "min_sentences": 1}
    assert "redecided" not in judge(settings)["metrics"]
    again = judge(settings, **lenient)
    anew = judge(settings_in(tmp_path / "anew"), **lenient)
    assert (again["metrics"]["redecided"], "redecided" in anew["metrics"]) == (NUM_SHORT + 2, False)
    assert (again["counts"], again["content_hash"]) == (anew["counts"], anew["content_hash"])
    shown = [[(row["drop_reason"], row["doc_id"]) for row in result["listings"]["dropped"]] for result in (again, anew)]
    assert shown[0] == shown[1] != []


def test_another_longest_text_gives_what_judging_anew_gives(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "again")
    judge(settings)
    for number, most in enumerate((100, 10_000_000)):
        again = judge(settings, max_characters=most)
        anew = judge(settings_in(tmp_path / f"anew{number}"), max_characters=most)
        assert (again["counts"], again["content_hash"]) == (anew["counts"], anew["content_hash"]), most


def test_case_4_verdicts_made_anew_do_not_come_from_the_damaged_ones(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    first = judge(settings)
    (file,) = Lake(settings.lake).files("curated/web/verdicts", ["2024"])
    Path(file.path).write_bytes(b"\0" * Path(file.path).stat().st_size)
    arguments = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "again": True}
    rules = {"min_words": 5, "min_sentences": 1}
    changed = execute(
        "judge", {**arguments, "parameters": {"judge": "web", "rules": rules}}, lambda message, numbers: None
    )
    assert "redecided" not in changed["metrics"]
    assert judge(settings)["content_hash"] == first["content_hash"]


def test_rules_that_change_what_is_measured_read_the_texts_again(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    judge(settings)
    for rules in ({"stop_words": ["too"]}, {"min_line_words": 0}, {"masks_pii": False}):
        assert "redecided" not in judge(settings, **rules)["metrics"], rules


def test_texts_that_changed_are_read_again(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    judge(settings)
    file = tmp_path / "web" / "2024" / "a.jsonl"
    file.write_text(file.read_text(encoding="utf-8") + "\n" + json.dumps({"text": "One more."}), encoding="utf-8")
    result = judge(settings, min_words=5)
    assert ("redecided" in result["metrics"], result["counts"]["rows_in"]) == (False, NUM_SHORT + 3)


def test_texts_that_changed_behind_the_same_records_are_read_again(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    judge(settings)
    before = Lake(settings.lake).read("curated/web/extracted")["text"].to_pylist()
    path = tmp_path / "web" / "2024" / "a.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("short", "SHORT"), encoding="utf-8")
    judge(settings)
    after = Lake(settings.lake).read("curated/web/extracted")["text"].to_pylist()
    assert after == [text.replace("short", "SHORT") for text in before] != before
