"""What other thresholds would do to a committed partition of verdicts."""

import json
from pathlib import Path

import pytest

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.redecide import preview
from corpusmill.tasks.task import execute

SHORT, OTHER_LANGUAGE = "Too short to be kept by any rule.", "Dies ist ein Satz in deutscher Sprache. " * 20
JUDGED_WITH = {"judge": "web", "rules": {"min_words": 20}}


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Lake:
    folder = tmp_path_factory.mktemp("lake")
    settings = _settings(folder)
    steps = {"records": {}, "extract": {"method": "plain", "records_per_shard": 2}, "judge": JUDGED_WITH}
    for task, parameters in steps.items():
        arguments = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": parameters}
        execute(task, arguments, lambda message, numbers: None)
    return Lake(settings.lake)


def _settings(folder: Path) -> Settings:
    texts = [SHORT, SHORT + " But how short?", OTHER_LANGUAGE]
    (folder / "web" / "2024").mkdir(parents=True)
    lines = "\n".join(json.dumps({"text": text}) for text in texts)
    (folder / "web" / "2024" / "a.jsonl").write_text(lines, encoding="utf-8")
    source = {"uri": "web", "format": "jsonl"}
    return settings_from_table({"spark": {"engine": "plain"}, "sources": {"web": source}}, base=folder)


def test_what_would_change_is_counted_before_anything_is_written(lake):
    rules = {"min_words": 5, "min_sentences": 2, "min_punctuated_line_share": 0, "max_short_line_share": 1}
    found = preview(lake, "web", "2024", judged_with=JUDGED_WITH, parameters={"judge": "web", "rules": rules})
    assert (found.documents, found.kept_before) == (3, 0)
    assert found.dropped_after["language_not_wanted"] == 1
    assert found.changes["before"].to_pylist() == ["too_few_words"] * len(found.changes)
    assert sum(found.changes["documents"].to_pylist()) == 2
    assert found.kept_after == 3 - sum(found.dropped_after.values())


def test_same_rules_change_nothing(lake):
    found = preview(lake, "web", "2024", judged_with=JUDGED_WITH, parameters=JUDGED_WITH)
    assert found.changes.num_rows == 0
    assert found.kept_after == found.kept_before


def test_rules_that_need_the_texts_are_refused(lake):
    parameters = {"judge": "web", "rules": {"min_line_words": 7}}
    with pytest.raises(
        ValueError,
        match="min_line_words cannot be decided from verdicts that were made with another: materialize curated/web/verdicts",
    ):
        preview(lake, "web", "2024", judged_with=JUDGED_WITH, parameters=parameters)


def test_verdicts_of_other_rules_than_said_are_refused(lake):
    other = {"judge": "web", "rules": {"min_words": 1}}
    with pytest.raises(ValueError, match="were decided with other rules than those given as `judged_with`"):
        preview(lake, "web", "2024", judged_with=other, parameters=other)
