"""The supervisor in the completions task: what is asked no more, what is kept of why, and the same after a kill."""

import json
from dataclasses import replace
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
from corpusmill.synthesize.recipe import PrimaryInput, Recipe
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.supervise.rules import RULES
from corpusmill.tasks import completions
from corpusmill.tasks.task import execute
from tests.tasks import toy_decline
from tests.tasks.toy_decline import BAD_FROM

NUM_SEEDS, CHUNK = 200, 20
COUNT_RULES = {"accept_below_floor", "accept_fell", "accept_waned", "reason_rose", "cost_above_ceiling", "failing"}
TEXT_RULES = RULES.keys() - COUNT_RULES
EASY = PromptGenerator(system="Say it anew, the easy way.", user="$document", sampling=Sampling(max_tokens=200))
FALLBACK = Recipe(
    name="said_anew/plain",
    seeds=RECIPE.seeds,
    generator=FallbackGenerator(first=RECIPE.generator, second=EASY),
    verifiers=RECIPE.verifiers,
)


def lake_of(folder: Path, script: str, *, chunk_requests: int = 16) -> Settings:
    script = f"tests.tasks.toy_decline:{script}"
    inference = {"engine": "scripted", "script": script, "chunk_requests": chunk_requests}
    table = {"state_folder": str(folder), "spark": {"engine": "plain"}, "inference": inference}
    settings = settings_from_table(table, base=folder)
    add_seeds(settings, NUM_SEEDS)
    return settings


def arguments(settings: Settings, task: str, recipe: Recipe = RECIPE, **rules: Any) -> dict[str, Any]:
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": recipe.to_json()}
    if task == "completions":
        parameters["supervision"] = {"chunk_seeds": CHUNK, "rules": {"min_reference_outputs": CHUNK, **rules}}
    return {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION, "parameters": parameters}


def run(settings: Settings, task: str, recipe: Recipe = RECIPE, *, again: bool = False, **rules: Any) -> dict[str, Any]:
    asked = {**arguments(settings, task, recipe, **rules), **({"again": True} if again else {})}
    return execute(task, asked, lambda message, numbers: None)


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
    again = run(settings, "completions", again=True)
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


@pytest.mark.parametrize("page", [None, 130, 190])
def test_a_demoted_run_that_dies_or_is_repeated_comes_to_the_same_decisions(tmp_path, monkeypatch, page):
    settings = lake_of(tmp_path / "run", "refuses")
    if page is None:
        answer(settings, FALLBACK)
        before = decisions(settings)
        run(settings, "completions", FALLBACK, again=True)
    else:
        whole = lake_of(tmp_path / "whole", "refuses")
        answer(whole, FALLBACK)
        before = decisions(whole)
        monkeypatch.setattr(toy_decline, "dies_at", page)
        with pytest.raises(EngineDeadError, match="as planned"):
            answer(settings, FALLBACK)
        monkeypatch.setattr(toy_decline, "dies_at", None)
        answer(settings, FALLBACK)
    assert [row["action"] for row in before].count("demote") == 1
    assert before[-1]["action"] == "continue"
    assert decisions(settings) == before


def test_decisions_do_not_depend_on_the_order_in_which_waves_come_back(tmp_path, monkeypatch):
    in_turn, overlapping = lake_of(tmp_path / "turn", "collapses"), lake_of(tmp_path / "lanes", "collapses")
    answer(in_turn)
    monkeypatch.setattr(completions, "num_lanes", lambda settings: 3)
    monkeypatch.setattr(toy_decline, "held", {0: 45, 100: 118})
    toy_decline.forget()
    answer(overlapping)
    kept = decisions(overlapping)
    assert [judged(row) for row in kept] == [judged(row) for row in decisions(in_turn)]
    assert kept[0]["from_seed"] > decisions(in_turn)[0]["from_seed"]
    monkeypatch.setattr(completions, "num_lanes", lambda settings: 1)
    again = run(overlapping, "completions", again=True)
    assert (again["metrics"]["requests_asked"], decisions(overlapping)) == (0, kept)


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Return a decision without the seed from which it holds: that tells how far the run had come."""
    return {name: value for name, value in row.items() if name not in ("from_seed", "followed")}


def test_a_seed_whose_last_parts_come_in_a_later_wave_is_judged_with_all_of_them(tmp_path):
    recipe = replace(RECIPE, primary=PrimaryInput(max_characters=60))
    whole = lake_of(tmp_path / "whole", "says_parts", chunk_requests=10_000)
    answer(whole, recipe)
    parts = run(whole, "completions", recipe)["counts"]["rows_in"]
    assert parts > 2 * NUM_SEEDS
    cut = lake_of(tmp_path / "cut", "says_parts", chunk_requests=CHUNK * parts // NUM_SEEDS - 1)
    answer(cut, recipe)
    assert list(map(judged, decisions(cut))) == list(map(judged, decisions(whole)))
