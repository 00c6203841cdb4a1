"""Synthesized documents searched for benchmark items, where their asset asks for it: the tasks with a scripted model."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.curation import ITEMS
from assets.synthesis import synthesized_assets
from corpusmill.document import SYNTHESIZED
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute, is_current
from tests.synthesize.rows import recipe
from tests.tasks import toy_leak

RIVERS = "A clean page about rivers and the boats that travel on them all day."
EXAM = "What the pupils of the village had to do in the last exam before summer."
RULES = {"languages": [], "min_formulas": 0, "min_words": 1}
PARAMETERS = {"seeds": "web", "variant": "plain", "recipe": recipe().to_json()}
WAY: list[tuple[str, str, str, dict[str, Any]]] = [
    ("records", "web", "2024", {}),
    ("extract", "web", "2024", {"method": "plain"}),
    ("judge", "web", "2024", {"judge": "stem", "rules": RULES}),
    ("sign", "web", "2024", {}),
    ("resolve", "web", "all", {}),
    ("duplicates", "web", "2024", {"max_removed_share": 1.0}),
    ("documents", "web", "2024", {}),
    ("requests", "said_anew", "plain|2024", PARAMETERS),
    ("completions", "said_anew", "plain|2024", PARAMETERS),
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake in which the model was shown both pages."""
    put(tmp_path, "web/2024/a.jsonl", {"text": RIVERS}, {"text": EXAM})
    put(tmp_path, "benchmarks/mbpp.jsonl", {"text": toy_leak.ITEM, "task_id": 7})
    table = {
        "spark": {"engine": "plain"},
        "inference": {"engine": "scripted", "script": "tests.tasks.toy_leak:answer"},
        "sources": {name: {"uri": name, "format": "jsonl"} for name in ("web", "benchmarks")},
    }
    made = settings_from_table(table, base=tmp_path)
    for task, dataset, partition, parameters in WAY:
        run(task, arguments(made, dataset, partition, **parameters))
    return made


def put(folder: Path, name: str, *rows: Any) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def arguments(settings: Settings, dataset: str, partition: str, **parameters: Any) -> dict[str, Any]:
    return {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}


def run(task: str, given: dict[str, Any]) -> dict[str, Any]:
    return execute(task, given, lambda message, numbers: None)


def test_an_answer_that_holds_an_item_is_rejected_and_names_it(settings: Settings, tmp_path: Path) -> None:
    run("benchmark_items", arguments(settings, "benchmarks", "all"))
    asked = arguments(settings, "said_anew", "plain|2024", **PARAMETERS, contamination={})
    result = run("accept", asked)
    assert result["counts"] == {"rows_in": 2, "kept": 1, "dropped": {"contaminated": 1}, "failed": {}}
    assert result["tables"]["found"] == [{"benchmark": "mbpp", "matches": 1}]
    assert [(row["stage"], row["left"]) for row in result["tables"]["accept_funnel"]] == [
        ("asked", 2),
        ("after not answered", 2),
        ("after contaminated", 1),
        ("accepted", 1),
    ]
    metrics = result["metrics"]
    assert len(RIVERS.split()) <= metrics["accepted_tokens"] < metrics["completion_tokens"]
    assert metrics["accepted_tokens_per_device_hour"] > 0
    accepted, rejected = result["samples"]
    assert (accepted["verdict"], accepted["seed"], accepted["output"]) == ("accepted", RIVERS, RIVERS)
    assert (rejected["verdict"], rejected["seed"]) == ("contaminated", EXAM)
    rows = Lake(settings.lake).read("synthesized/said_anew/documents").select(SYNTHESIZED.names).to_pylist()
    kept, rejected = sorted(rows, key=lambda row: row["reject_reason"] is not None)
    assert (kept["text"], kept["reject_reason"], kept["meta"]) == (RIVERS, None, [("num_chunks", "1")])
    assert (rejected["text"], rejected["reject_reason"]) == (
        f"A pupil was told: {toy_leak.ITEM.upper()}",
        "contaminated",
    )
    assert dict(rejected["meta"]) == {"num_chunks": "1", "benchmark": "mbpp", "benchmark_item": "7"}
    assert is_current("accept", asked)

    put(tmp_path, "benchmarks/new.jsonl", {"text": RIVERS})
    run("benchmark_items", arguments(settings, "benchmarks", "all"))
    assert not is_current("accept", asked)
    assert run("accept", asked)["counts"]["dropped"] == {"contaminated": 2}


def test_who_does_not_ask_needs_no_benchmarks(settings: Settings) -> None:
    assert run("accept", arguments(settings, "said_anew", "plain|2024", **PARAMETERS))["counts"]["kept"] == 2


def test_only_the_documents_of_an_asset_that_asks_read_the_items() -> None:
    assert readers_of_items(contamination={"rules": {}}) == ["documents"]
    assert readers_of_items() == []


def readers_of_items(**asked: Any) -> list[str]:
    made = synthesized_assets(
        "said_anew", seeds="web", dimension="style", recipes={"plain": recipe(name="said_anew/plain")}, **asked
    )
    return [asset.key.path[-1] for asset in made if dg.AssetKey(ITEMS) in asset.dependency_keys]


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"action": "cut"}, "takes rules, got action as well"), ({"rules": {"ngrams": 3}}, "unknown setting ngrams")],
)
def test_a_search_that_cannot_be_is_refused_when_the_project_loads(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        readers_of_items(contamination=asked)
