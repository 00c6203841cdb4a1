"""What the page of a verdicts partition shows people: where rows went, and what was measured of them."""

import json
from pathlib import Path
from typing import Any

from assets.asset import materialize_result
from corpusmill.engines.shard import MAX_EXAMPLES
from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import execute

GOOD = (
    "The old mill by the river turns slowly, and the miller says that it will turn for another hundred years. His father "
    "built the wheel of oak, which the water has made as hard as iron. When the snow melts in spring, the farmers of the "
    "valley bring what is left of their wheat, and they stay until evening. They talk about the roads. Most of them have "
    "known each other since they were children."
)


def test_funnel_reasons_languages_spreads_and_samples_of_every_reason(tmp_path: Path) -> None:
    shown = materialize_result(judged(tmp_path)).metadata
    assert shown is not None
    assert (shown["rows_in"], shown["rows_kept"], shown["drop/too_few_words"]) == (26, 1, 24)
    funnel = shown["funnel"].value
    assert "| too\\_few\\_words | 24 |" in funnel.replace("too_few_words", "too\\_few\\_words") and "█" in funnel
    reasons = shown["drop_reasons"].value.splitlines()
    assert [line.split("|")[2].strip() for line in reasons[2:]] == ["24", "1"]
    assert any(line.startswith("| en | 25 ") for line in shown["languages"].value.splitlines())
    statistics = {row.data["statistic"]: row.data for row in shown["statistics"].records}
    assert statistics["words"]["median"] == 2.0 and {"language_score", "mean_word_length"} <= statistics.keys()
    dropped = [row.data["drop_reason"] for row in shown["dropped"].records]
    assert {reason: dropped.count(reason) for reason in set(dropped)} == {
        "too_few_words": MAX_EXAMPLES,
        "language_not_wanted": 1,
    }


def judged(folder: Path) -> dict[str, Any]:
    """Return the result of judging a good page, one in German and 24 that are too short."""
    texts = [GOOD, "Dies ist ein Satz in deutscher Sprache. " * 20, *(f"Short page{n}" for n in range(24))]
    (folder / "web" / "2024").mkdir(parents=True)
    lines = [json.dumps({"text": text}) for text in texts]
    (folder / "web" / "2024" / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    sources = {"web": {"uri": "web", "format": "jsonl"}}
    settings = settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=folder)
    steps: dict[str, dict[str, Any]] = {
        "records": {},
        "extract": {"method": "plain"},
        "judge": {"judge": "web", "rules": {"max_duplicate_ngram_shares": [1.0] * 6}},
    }
    result: dict[str, Any] = {}
    for task, parameters in steps.items():
        given = {"settings": settings.to_json(), "dataset": "web", "partition": "2024", "parameters": parameters}
        result = execute(task, given, lambda message, numbers: None)
    return result
