"""A classifier trained on two tables and judged with: scores and tiers in the verdicts, shown, part of the work's name."""

import json
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from corpusmill.document import DUPLICATES
from corpusmill.lake.errors import GateFailedError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.recipe import SeedRule
from corpusmill.tasks.redecide import preview
from corpusmill.tasks.task import execute
from tests.synthesize.rows import recipe

WORDS = {
    "proofs": ("proof", "theorem", "lemma", "energy"),
    "adverts": ("casino", "coupon", "bonus", "discount"),
}
SENTENCE = (
    "The {word} of page {number} shows us what we have to know, and nobody here can say that it is not worth an hour "
    "of work. Think of that before you turn over one more leaf."
)
RULES = {"min_line_words": 0, "min_words": 20, "min_sentences": 1}
NUM_TEXTS = 60


def texts_of(name: str) -> list[str]:
    return [SENTENCE.format(word=WORDS[name][number % 4], number=number) for number in range(NUM_TEXTS)]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return a lake with proofs, adverts, and a web of both, extracted in shards of 40."""
    texts = {name: texts_of(name) for name in WORDS} | {"web": [*texts_of("proofs"), *texts_of("adverts")]}
    for name, lines in texts.items():
        folder = tmp_path / name / "2024"
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines), encoding="utf-8")
    sources = {name: {"uri": name, "format": "jsonl"} for name in texts}
    table = {
        "spark": {"engine": "plain"},
        "inference": {"engine": "scripted", "script": "tests.tasks.toy_leak:answer"},
        "sources": sources,
    }
    settings = settings_from_table(table, base=tmp_path)
    for name in texts:
        run(settings, "records", name)
        run(settings, "extract", name, method="plain", records_per_shard=40)
    return settings


def run(settings: Settings, task: str, dataset: str, partition: str = "2024", **parameters: Any) -> dict[str, Any]:
    given = {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}
    return execute(task, given, lambda message, numbers: None)


def train(settings: Settings, *, min_auc: float = 0.9, **training: Any) -> dict[str, Any]:
    return run(
        settings,
        "train_classifier",
        "lessons",
        "all",
        examples=[
            {"table": "curated/proofs/extracted", "partition": "2024", "label": "lesson"},
            {"table": "curated/adverts/extracted", "partition": "2024", "label": "advert"},
        ],
        reference={"table": "curated/web/extracted", "partition": "2024"},
        training={"positive": "lesson", "labels_license": "CC0-1.0", "weights_log2": 14, **training},
        min_auc=min_auc,
    )


def judge(settings: Settings, classifiers: list[str], **rules: Any) -> dict[str, Any]:
    return run(settings, "judge", "web", judge="web", rules=RULES | rules, classifiers=classifiers)


def test_scores_and_tiers_are_in_the_verdicts_and_shown(settings: Settings) -> None:
    train(settings)
    result = judge(settings, ["lessons"], min_quality_tier=10)
    verdicts = Lake(settings.lake).read("curated/web/verdicts")
    low = verdicts.filter(pc.equal(verdicts["drop_reason"], "low_quality_tier"))
    high = verdicts.filter(pc.is_null(verdicts["drop_reason"]))
    assert (len(low), len(high)) == (NUM_TEXTS, NUM_TEXTS)
    assert pc.max(low["lessons_score"]).as_py() < 0.5 < pc.min(high["lessons_score"]).as_py()
    assert pc.max(low["quality_tier"]).as_py() < 10 <= pc.min(high["quality_tier"]).as_py()
    assert verdicts["lessons_tier"].equals(verdicts["quality_tier"])
    tiers = result["tables"]["quality_tiers"]
    assert [row["tier"] for row in tiers] == sorted({row["tier"] for row in tiers}, reverse=True)
    assert sum(row["documents"] for row in tiers) == 2 * NUM_TEXTS
    assert all(row["dropped"] == (row["documents"] if row["tier"] < 10 else 0) for row in tiers)
    shown = {row["statistic"]: row for row in result["listings"]["statistics"]}
    assert shown["lessons_score"]["documents"] == shown["quality_tier"]["documents"] == 2 * NUM_TEXTS
    assert shown["lessons_score"]["p5"] < 0.5 < shown["lessons_score"]["p95"]


def test_documents_carry_their_tier_to_the_recipes_that_choose_by_it(settings: Settings) -> None:
    train(settings)
    judge(settings, ["lessons"])
    lake = Lake(settings.lake)
    lake.commit(lake.begin("curated/web/duplicates", "2024", DUPLICATES), [], {"gate_failures": []})
    run(settings, "documents", "web")
    verdicts = lake.read("curated/web/verdicts")
    tiers = dict(zip(verdicts["doc_id"].to_pylist(), verdicts["quality_tier"].to_pylist(), strict=True))
    rows = lake.read("curated/web/documents").to_pylist()
    assert rows and all(dict(row["meta"])["quality_tier"] == f"{tiers[row['doc_id']]:.0f}" for row in rows)
    asked = recipe(seeds=SeedRule(max_characters=1_000, quality_tiers=(10, 19)))
    given = {"seeds": "web", "variant": "plain", "recipe": asked.to_json()}
    counts = run(settings, "requests", "said_anew", "plain|2024", **given)["counts"]
    assert counts["kept"] == sum(tiers[row["doc_id"]] >= 10 for row in rows) > 0
    assert counts["dropped"] == {"other_quality_tier": len(rows) - counts["kept"]}


def test_tiers_are_decided_again_without_a_text(settings: Settings) -> None:
    train(settings)
    judge(settings, ["lessons"], min_words=50)
    rules_pair = ({"min_words": 50}, {"min_quality_tier": 10})
    old, new = ({"judge": "web", "rules": RULES | rules, "classifiers": ["lessons"]} for rules in rules_pair)
    found = preview(Lake(settings.lake), "web", "2024", judged_with=old, parameters=new)
    assert (found.kept_before, found.kept_after) == (0, NUM_TEXTS)
    assert found.changes.to_pylist() == [
        {"before": "too_few_words", "after": "low_quality_tier", "documents": NUM_TEXTS},
        {"before": "too_few_words", "after": None, "documents": NUM_TEXTS},
    ]
    with pytest.raises(ValueError, match="classifiers cannot be decided from verdicts"):
        preview(Lake(settings.lake), "web", "2024", judged_with=old, parameters={"judge": "web", "rules": RULES})


def test_a_changed_tier_decides_the_stored_verdicts_as_the_texts_would(settings: Settings) -> None:
    train(settings)
    judge(settings, ["lessons"], min_words=50)
    again = judge(settings, ["lessons"], min_quality_tier=10)
    assert again["metrics"]["redecided"] == 2 * NUM_TEXTS
    assert again["counts"]["dropped"] == {"low_quality_tier": NUM_TEXTS}
    judge(settings, [])
    anew = judge(settings, ["lessons"], min_quality_tier=10)
    assert "redecided" not in anew["metrics"]
    assert (anew["content_hash"], anew["tables"]) == (again["content_hash"], again["tables"])


def test_a_classifier_trained_anew_judges_anew_and_no_other_change_does(settings: Settings) -> None:
    train(settings)
    first = judge(settings, ["lessons"])
    assert judge(settings, ["lessons"])["reused"] is True
    train(settings, epochs=3)
    second = judge(settings, ["lessons"])
    assert (second["reused"], second["metrics"]["shards_reused"]) == (False, 0)
    assert second["content_hash"] != first["content_hash"]
    assert "quality_tiers" not in {name for name, rows in judge(settings, [])["tables"].items() if rows}


def test_classifiers_that_cannot_be_used_are_named(settings: Settings) -> None:
    with pytest.raises(ValueError, match="curated/lessons/classifier"):
        judge(settings, ["lessons"])
    with pytest.raises(ValueError, match="for the judge 'web', not for 'stem': take away lessons"):
        run(settings, "judge", "web", judge="stem", classifiers=["lessons"])
    with pytest.raises(ValueError, match="name trained classifiers in the judge's parameters"):
        judge(settings, [], min_quality_tier=3)
    train(settings, min_auc=1.1)
    with pytest.raises(GateFailedError, match=r"at least 1\.1 is wanted"):
        judge(settings, ["lessons"])
