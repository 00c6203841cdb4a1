"""A classifier from two partitions of texts: one row, evaluated, gated, made once."""

import json
from pathlib import Path
from typing import Any

import pytest

from corpusmill.curate.quality import classifier_from_row
from corpusmill.lake.errors import GateFailedError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute

TABLE = "curated/lessons/classifier"
WORDS = {"lessons": ("proof", "theorem", "lemma", "energy"), "adverts": ("casino", "coupon", "bonus", "discount")}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    base = tmp_path_factory.mktemp("mill")
    for name, words in WORDS.items():
        folder = base / name / "2024"
        folder.mkdir(parents=True)
        texts = [f"The {words[number % 4]} of page {number} is what we know best." for number in range(60)]
        (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    sources = {name: {"uri": name, "format": "jsonl"} for name in WORDS}
    settings = settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=Path(base))
    for name in WORDS:
        for task, parameters in (("records", {}), ("extract", {"method": "plain"})):
            given = {"settings": settings.to_json(), "dataset": name, "partition": "2024", "parameters": parameters}
            execute(task, given, lambda message, numbers: None)
    return settings


def run(settings: Settings, **more: Any) -> dict[str, Any]:
    parameters = {
        "examples": [
            {"table": "curated/lessons/extracted", "partition": "2024", "label": "lesson"},
            {"table": "curated/adverts/extracted", "partition": "2024", "label": "advert"},
        ],
        "reference": {"table": "curated/adverts/extracted", "partition": "2024"},
        "training": {"positive": "lesson", "labels_license": "CC0-1.0", "weights_log2": 14},
        **more,
    }
    given = {"settings": settings.to_json(), "dataset": "lessons", "partition": "all", "parameters": parameters}
    return execute("train_classifier", given, lambda message, numbers: None)


def test_a_classifier_is_one_row_with_its_card_and_tiers(settings: Settings) -> None:
    result = run(settings)
    (row,) = Lake(settings.lake).read(TABLE).to_pylist()
    card = json.loads(row["card"])
    counts = result["counts"]
    assert (counts["rows_in"], counts["kept"] + counts["dropped"]["held_out"]) == (120, 120)
    assert card["labels"]["lesson"] + card["labels"]["advert"] == counts["kept"]
    assert card["labels_license"] == "CC0-1.0"
    assert (card["evaluation"]["auc"], result["metrics"]["auc"]) == (1.0, 1.0)
    assert row["version"] == card["version"] == result["metrics"]["version"]
    assert len(row["edges"]) == 19 and row["edges"] == sorted(row["edges"])
    assert dict(classifier_from_row("lessons", row).model.card) == card


def test_the_same_work_is_done_once_and_gives_the_same_bytes(settings: Settings) -> None:
    first = run(settings)
    assert run(settings)["reused"] is True
    other = run(settings, max_texts=50)
    assert other["content_hash"] != first["content_hash"] and other["counts"]["rows_in"] == 100
    assert run(settings)["content_hash"] == first["content_hash"]


def test_a_classifier_no_better_than_asked_is_refused_to_readers(settings: Settings) -> None:
    result = run(settings, min_auc=1.1)
    assert result["gates"]["auc"]["passed"] is False
    with pytest.raises(GateFailedError, match=r"at least 1\.1 is wanted"):
        Lake(settings.lake).read(TABLE)


def test_a_partition_that_is_not_there_is_named(settings: Settings) -> None:
    with pytest.raises(ValueError, match="curated/nothing/extracted"):
        run(settings, reference={"table": "curated/nothing/extracted", "partition": "2024"})
