"""The supervisor in the completions task: what is asked no more, what is kept of why, and the same after a kill."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthesis_lake import DATASET, PARTITION, RECIPE, SEEDS, add_seeds
from corpusmill.document import DECISIONS, SYNTHESIZED
from corpusmill.engines.inference import EngineDeadError
from corpusmill.lake.errors import GateFailedError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.generators.fallback import FallbackGenerator
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.sampling import Sampling
from corpusmill.tasks.task import execute
from tests.tasks import toy_decline
from tests.tasks.toy_decline import BAD_FROM

NUM_SEEDS, CHUNK = 200, 20
TEXT_RULES = ("grew_alike", "too_many_alike", "spread_fell", "left_seeds", "drifted", "lengths_shifted", "same_edges")
EASY = PromptGenerator(system="Say it anew, the easy way.", user="$document", sampling=Sampling(max_tokens=200))
FALLBACK = Recipe(
    name="said_anew/plain",
    seeds=RECIPE.seeds,
    generator=FallbackGenerator(first=RECIPE.generator, second=EASY),
    verifiers=RECIPE.verifiers,
)


def lake_of(folder: Path, script: str) -> Settings:
    inference = {"engine": "scripted", "script": f"tests.tasks.toy_decline:{script}", "chunk_requests": 16}
    table = {"state_folder": str(folder), "spark": {"engine": "plain"}, "inference": inference}
    settings = settings_from_table(table, base=folder)
    add_seeds(settings, NUM_SEEDS)
    return settings


def arguments(settings: Settings, task: str, recipe: Recipe = RECIPE, **rules: Any) -> dict[str, Any]:
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": recipe.to_json()}
    if task == "completions":
        parameters["supervision"] = {"chunk_seeds": CHUNK, "rules": {"min_reference_outputs": CHUNK, **rules}}
    return {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION, "parameters": parameters}


def run(settings: Settings, task: str, recipe: Recipe = RECIPE, **rules: Any) -> dict[str, Any]:
    return execute(task, arguments(settings, task, recipe, **rules), lambda message, numbers: None)


def answer(settings: Settings, recipe: Recipe = RECIPE, **rules: Any) -> dict[str, Any]:
    run(settings, "requests", recipe)
    return run(settings, "completions", recipe, **rules)


def decisions(settings: Settings) -> list[dict[str, Any]]:
    rows = Lake(settings.lake).read(f"synthesized/{DATASET}/decisions", partitions=[PARTITION])
    return sorted(rows.select(DECISIONS.names).to_pylist(), key=lambda row: row["chunk"])


def documents(settings: Settings) -> dict[str, dict[str, Any]]:
    rows = Lake(settings.lake).read(f"synthesized/{DATASET}/documents", partitions=[PARTITION])
    return {row["parent_ids"][0]: row for row in rows.select(SYNTHESIZED.names).to_pylist()}


def test_a_good_recipe_is_asked_to_the_end_and_every_chunk_has_its_row(tmp_path):
    settings = lake_of(tmp_path, "good")
    assert answer(settings)["counts"]["kept"] == NUM_SEEDS
    rows = decisions(settings)
    assert [row["action"] for row in rows] == ["continue"] * (NUM_SEEDS // CHUNK)
    assert sum(row["num_seeds"] for row in rows) == sum(row["accepted"] for row in rows) == NUM_SEEDS
    assert json.loads(rows[-1]["numbers"])["so_far"]["outputs"] == NUM_SEEDS


def test_a_recipe_that_collapses_is_stopped_and_the_rest_is_failed_with_the_reason(tmp_path):
    settings = lake_of(tmp_path, "collapses")
    counts = answer(settings)["counts"]
    stop = decisions(settings)[-1]
    assert (stop["action"], stop["followed"]) == ("stop", f"nothing is asked from seed {stop['from_seed']} on")
    assert BAD_FROM // CHUNK <= stop["chunk"] < BAD_FROM // CHUNK + 3
    numbers = json.loads(stop["numbers"])
    assert numbers["p_value"] < numbers["level"]
    left = NUM_SEEDS - stop["from_seed"]
    assert left > 0
    assert counts == {
        "rows_in": NUM_SEEDS,
        "kept": stop["from_seed"],
        "dropped": {},
        "failed": {"stopped_by_supervisor": left},
    }
    judged = run(settings, "accept")["counts"]
    assert judged["rows_in"] == NUM_SEEDS
    assert judged["failed"] == {"stopped_by_supervisor": left}


@pytest.mark.parametrize("page", [30, 110])
def test_a_run_that_dies_goes_on_to_the_same_decisions(tmp_path, monkeypatch, page):
    whole = lake_of(tmp_path / "whole", "collapses")
    answer(whole)
    settings = lake_of(tmp_path / "killed", "collapses")
    monkeypatch.setattr(toy_decline, "dies_at", page)
    with pytest.raises(EngineDeadError, match="as planned"):
        answer(settings)
    monkeypatch.setattr(toy_decline, "dies_at", None)
    counts = answer(settings)["counts"]
    assert decisions(settings) == decisions(whole)
    assert counts["failed"] == {"stopped_by_supervisor": NUM_SEEDS - decisions(whole)[-1]["from_seed"]}


def test_a_rerun_decides_nothing_anew_and_asks_nothing(tmp_path):
    settings = lake_of(tmp_path, "collapses")
    first = answer(settings)
    before = decisions(settings)
    monkeyed = {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION, "again": True}
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": RECIPE.to_json()}
    supervision = {"chunk_seeds": CHUNK, "rules": {"min_reference_outputs": CHUNK}}
    again = execute(
        "completions",
        {**monkeyed, "parameters": {**parameters, "supervision": supervision}},
        lambda line, numbers: None,
    )
    assert (again["metrics"]["requests_asked"], again["reused"]) == (0, False)
    assert again["counts"] == first["counts"]
    assert decisions(settings) == before


def test_a_paused_run_is_refused_by_readers_until_its_rules_let_it_go_on(tmp_path):
    settings = lake_of(tmp_path, "collapses")
    pauses = dict.fromkeys(TEXT_RULES, "pause")
    result = answer(settings, actions=pauses)
    gate = result["gates"]["supervisor"]
    assert (gate["passed"], "to go on" in gate["message"]) == (False, True)
    assert decisions(settings)[-1]["action"] == "pause"
    assert list(result["counts"]["failed"]) == ["paused_by_supervisor"]
    with pytest.raises(GateFailedError):
        run(settings, "accept")
    asked = result["counts"]["kept"]
    goes_on = answer(settings, actions=dict.fromkeys(pauses, "continue"))
    assert goes_on["counts"] == {"rows_in": NUM_SEEDS, "kept": NUM_SEEDS, "dropped": {}, "failed": {}}
    assert goes_on["metrics"]["requests_asked"] == NUM_SEEDS - asked
    assert goes_on["gates"]["supervisor"]["passed"]


def test_a_lowered_share_leaves_out_seeds_by_hash(tmp_path):
    settings = lake_of(tmp_path, "refuses")
    lowers = dict.fromkeys(("accept_fell", "accept_waned", "reason_rose"), "lower_share")
    lowers |= dict.fromkeys(TEXT_RULES, "continue")
    failed = answer(settings, actions=lowers)["counts"]["failed"]
    rows = [row for row in decisions(settings) if row["action"] == "lower_share"]
    assert rows and rows[0]["share"] == 0.5
    assert 0 < failed["share_lowered"] < NUM_SEEDS - rows[0]["from_seed"]
    run(settings, "accept")
    left_out = [row for row in documents(settings).values() if row["reject_reason"] == "failed/share_lowered"]
    assert len(left_out) == failed["share_lowered"]


def test_a_demoted_recipe_goes_on_in_its_simpler_way(tmp_path):
    settings = lake_of(tmp_path, "refuses")
    answer(settings, FALLBACK)
    (demoted,) = [row for row in decisions(settings) if row["action"] != "continue"]
    assert demoted["action"] == "demote"
    counts = run(settings, "accept", FALLBACK)["counts"]
    assert counts["failed"] == {}
    assert counts["kept"] == NUM_SEEDS - (demoted["from_seed"] - BAD_FROM)
    used = {name: dict(row["meta"]).get("generator_used") for name, row in documents(settings).items()}
    assert [used[f"d{place:05d}"] for place in range(NUM_SEEDS)] == ["first"] * demoted["from_seed"] + ["second"] * (
        NUM_SEEDS - demoted["from_seed"]
    )
