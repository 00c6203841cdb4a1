"""Budgets and routes in the completions task: what is begun no more, which queue a document took, the same after a kill."""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.synthesis import synthesized_assets
from benchmarks.synthesis_lake import DATASET, PARTITION, RECIPE, SEEDS, add_seeds
from corpusmill.counts import Counts
from corpusmill.engines.inference import EngineDeadError
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.generators.routes import Entry, Queue, RoutesGenerator
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import open_requests
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.supervise.budget import Budget
from corpusmill.tasks import completions
from corpusmill.tasks.task import execute
from tests.tasks import toy_decline, toy_routes
from tests.tasks.test_supervision import NUM_SEEDS, decisions, documents, lake_of

TOKENS = 77
"""Of a prompt and its answer together, by the scripted engine's count of words."""


def prompt(system: str) -> PromptGenerator:
    return PromptGenerator(system=system, user="$document", sampling=Sampling(max_tokens=200))


def routed(*queues: Queue) -> Recipe:
    return Recipe(
        name="said_anew/plain", seeds=RECIPE.seeds, generator=RoutesGenerator(queues=queues), verifiers=RECIPE.verifiers
    )


def run(settings: Settings, task: str, recipe: Recipe = RECIPE, **more: Any) -> dict[str, Any]:
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": recipe.to_json(), **more}
    arguments = {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION, "parameters": parameters}
    result = execute(task, arguments, lambda message, numbers: None)
    Counts.from_json(result["counts"]).check()
    return result


def answer(settings: Settings, recipe: Recipe = RECIPE, **more: Any) -> dict[str, Any]:
    run(settings, "requests", recipe)
    return run(settings, "completions", recipe, **more)


def decision_rows(settings: Settings) -> list[dict[str, Any]]:
    return Lake(settings.lake).read(f"synthesized/{DATASET}/decisions", partitions=[PARTITION]).to_pylist()


def verdicts(settings: Settings) -> dict[str, tuple[str, str | None]]:
    return {name: (row["text"], row["reject_reason"]) for name, row in documents(settings).items()}


def asked(settings: Settings) -> dict[str, int]:
    """Return how many questions were answered, by step."""
    rows = Lake(settings.lake).read(f"synthesized/{DATASET}/completions", partitions=[PARTITION]).to_pylist()
    steps = [row["step"] for row in rows if row["failure"] is None]
    return {step: steps.count(step) for step in sorted(set(steps))}


def test_a_budget_of_documents_is_met_exactly_and_a_larger_one_asks_the_rest(tmp_path):
    settings = lake_of(tmp_path, "good")
    first = answer(settings, budgets={"": {"documents": 70}})
    assert first["counts"] == {"rows_in": NUM_SEEDS, "kept": 70, "dropped": {}, "failed": {"budget_spent": 130}}
    (row,) = decisions(settings)
    assert (row["rule"], row["action"], row["num_seeds"]) == ("budget_documents", "stop", 70)
    assert row["followed"] == "70 of 70 documents are spent: no further document is begun"
    assert json.loads(row["numbers"])["spent"]["documents"] == 70
    judged = run(settings, "accept")["counts"]
    assert (judged["kept"], judged["failed"]) == (70, {"budget_spent": 130})
    second = answer(settings, budgets={"": {"documents": 100}})
    assert (second["metrics"]["requests_asked"], second["counts"]["kept"]) == (30, 100)
    third = answer(settings)
    assert (third["metrics"]["requests_asked"], third["counts"]["failed"]) == (100, {})


@pytest.mark.parametrize("limit", ["tokens", "device_seconds"])
def test_what_is_under_way_when_a_budget_is_spent_is_finished(tmp_path, limit):
    settings = lake_of(tmp_path, "good")
    budgets = {"": {"tokens": 40 * TOKENS} if limit == "tokens" else {"device_seconds": 1e-9}}
    first = answer(settings, budgets=budgets)
    kept = first["counts"]["kept"]
    wave = settings.inference.chunk_requests
    assert kept % wave == 0 and 0 < kept < 100
    assert first["counts"]["failed"] == {"budget_spent": NUM_SEEDS - kept}
    (row,) = decisions(settings)
    spent = json.loads(row["numbers"])["spent"]
    assert spent["documents"] == kept and spent[limit] >= budgets[""][limit]
    if limit == "tokens":
        metrics = first["metrics"]
        assert spent["tokens"] == metrics["prompt_tokens"] + metrics["completion_tokens"] < 60 * TOKENS
    run(settings, "accept")
    again = answer(settings, budgets=budgets)
    assert (again["metrics"]["requests_asked"], again["counts"]) == (
        first["metrics"]["requests_asked"],
        first["counts"],
    )


def test_what_earlier_runs_committed_counts_and_its_documents_are_kept(tmp_path):
    settings = lake_of(tmp_path, "good")
    answer(settings, budgets={"": {"documents": 50}})
    smaller = answer(settings, budgets={"": {"tokens": 10}})
    assert (smaller["metrics"]["requests_asked"], smaller["counts"]["kept"]) == (0, 50)


@pytest.mark.parametrize("page", [30, 70])
def test_a_run_that_dies_spends_its_budget_on_the_same_documents(tmp_path, monkeypatch, page):
    budgets = {"": {"tokens": 70 * TOKENS}}
    whole = lake_of(tmp_path / "whole", "good")
    first = answer(whole, budgets=budgets)
    settings = lake_of(tmp_path / "killed", "good")
    monkeypatch.setattr(toy_decline, "dies_at", page)
    with pytest.raises(EngineDeadError, match="as planned"):
        answer(settings, budgets=budgets)
    monkeypatch.setattr(toy_decline, "dies_at", None)
    assert answer(settings, budgets=budgets)["counts"] == first["counts"]
    assert decisions(settings) == decisions(whole)
    for one in (whole, settings):
        run(one, "accept")
    assert verdicts(settings) == verdicts(whole)


NUM_ROUTED, WAVE = 60, 6
HARD = Queue(
    name="hard",
    generator=prompt("Say it, the hard way."),
    checks=(check("no_assistant_talk"),),
    next="polish",
    simpler="easy",
    too_hard=("assistant_talk", "budget_spent"),
)
EASY = Queue(name="easy", generator=prompt("Say it, the easy way."), is_open=False, next="polish")
POLISH = Queue(name="polish", generator=prompt("Polish it."), is_open=False)
ROUTED = routed(HARD, EASY, POLISH)


def routed_lake(folder: Path) -> Settings:
    inference = {"engine": "scripted", "script": f"{toy_routes.__name__}:answers", "chunk_requests": WAVE}
    table = {"state_folder": str(folder), "spark": {"engine": "plain"}, "inference": inference}
    settings = settings_from_table(table, base=folder)
    add_seeds(settings, NUM_ROUTED)
    return settings


def routes(settings: Settings) -> dict[str, int]:
    """Return how many documents went each way; those that have none, by the reason."""
    found = [dict(row["meta"]).get("route", row["reject_reason"]) for row in documents(settings).values()]
    return {name: found.count(name) for name in sorted(set(found))}


def test_documents_go_on_to_the_next_queue_and_what_is_too_hard_to_the_simpler_one(tmp_path):
    settings = routed_lake(tmp_path)
    answer(settings, ROUTED)
    assert run(settings, "accept", ROUTED)["counts"]["kept"] == NUM_ROUTED
    assert routes(settings) == {"hard>easy>polish": 20, "hard>polish": 40}
    assert asked(settings) == {"easy/answer": 20, "hard/answer": 60, "polish/answer": 60}


@pytest.mark.parametrize("page", [None, 7, 40])
def test_a_queue_whose_budget_is_spent_leaves_its_documents_to_the_simpler_one(tmp_path, monkeypatch, page):
    settings = routed_lake(tmp_path)
    budgets = {"hard": {"documents": 15}, "polish": {"documents": 30}}
    if page is not None:
        monkeypatch.setattr(toy_decline, "dies_at", page)
        with pytest.raises(EngineDeadError, match="as planned"):
            answer(settings, ROUTED, budgets=budgets)
        monkeypatch.setattr(toy_decline, "dies_at", None)
    answer(settings, ROUTED, budgets=budgets)
    assert sorted(row["recipe"] for row in decision_rows(settings)) == [
        "said_anew/plain/hard",
        "said_anew/plain/polish",
    ]
    counts = run(settings, "accept", ROUTED)["counts"]
    assert (counts["kept"], counts["failed"]) == (30, {"budget_spent": 30})
    assert routes(settings) == {"failed/budget_spent": 30, "hard>easy>polish": 20, "hard>polish": 10}
    assert asked(settings) == {"easy/answer": 50, "hard/answer": 15, "polish/answer": 30}


def test_the_highest_priority_is_asked_first_and_rates_share_what_several_queues_admit(tmp_path):
    settings = routed_lake(tmp_path / "first")
    urgent = Queue(name="urgent", generator=prompt("Now."), entry=Entry(min_characters=236), priority=1)
    recipe = routed(
        Queue(name="often", generator=prompt("Often."), rate=3),
        Queue(name="seldom", generator=prompt("Seldom.")),
        urgent,
    )
    answer(settings, recipe)
    run(settings, "accept", recipe)
    taken = routes(settings)
    assert taken == {"often": 32, "seldom": 16, "urgent": 12}
    second = routed_lake(tmp_path / "second")
    answer(second, recipe, budgets={"": {"documents": taken["urgent"]}})
    run(second, "accept", recipe)
    assert routes(second) == {"urgent": taken["urgent"], "failed/budget_spent": NUM_ROUTED - taken["urgent"]}


def test_a_run_that_only_replays_says_how_many_answers_stand_and_opens_each_seed_once_more(tmp_path, monkeypatch):
    """Once to see what was spent, once to go on: not once for each of three priorities."""
    settings = routed_lake(tmp_path)
    queues = [
        Queue(name=name, generator=prompt(name), entry=Entry(min_characters=size), priority=level)
        for name, size, level in (("low", 1, 0), ("middle", 230, 1), ("high", 236, 2))
    ]
    answer(settings, routed(*queues))
    opened: list[str] = []

    def spy(requests, *more):
        opened.extend(requests["request_id"].to_pylist())
        return open_requests(requests, *more)

    monkeypatch.setattr(completions, "open_requests", spy)
    told: list[tuple[str, Any]] = []
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": routed(*queues).to_json()}
    arguments = {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION}
    budgets = {"": {"documents": NUM_ROUTED}}
    execute(
        "completions", {**arguments, "parameters": {**parameters, "budgets": budgets}}, lambda *said: told.append(said)
    )
    [numbers] = [numbers for message, numbers in told if message.endswith(f": {NUM_ROUTED} answers stand, 0 asked")]
    assert numbers == {"reused": NUM_ROUTED, "asked": 0}
    high = sum(asked(settings)[f"{name}/answer"] for name in ("high",))
    middle = asked(settings)["middle/answer"]
    # The first pass opens all, the two others their own; then each is opened once more, among its own.
    assert len(opened) == NUM_ROUTED + (NUM_ROUTED - high) + NUM_ROUTED and middle > 0


def test_each_queue_is_supervised_for_itself(tmp_path):
    settings = lake_of(tmp_path, "refuses")
    picky, easy = (Queue(name=name, generator=prompt(f"The {name} way.")) for name in ("picky", "easy"))
    recipe = routed(picky, easy)
    supervision = {"chunk_seeds": 10, "rules": {"min_reference_outputs": 10}}
    first = answer(settings, recipe, supervision=supervision)
    acted = [row for row in decision_rows(settings) if row["action"] != "continue"]
    assert [(row["recipe"], row["action"]) for row in acted] == [("said_anew/plain/picky", "stop")]
    assert {row["recipe"] for row in decision_rows(settings)} == {"said_anew/plain/picky", "said_anew/plain/easy"}
    counts = run(settings, "accept", recipe)["counts"]
    begun = acted[0]["from_seed"]
    assert (
        counts["failed"]
        == first["counts"]["failed"]
        == {"stopped_by_supervisor": counts["failed"]["stopped_by_supervisor"]}
    )
    taken = routes(settings)
    assert taken["picky"] == begun and taken["easy"] + begun + counts["failed"]["stopped_by_supervisor"] == NUM_SEEDS
    assert counts["kept"] > taken["easy"] > 80


def test_an_asset_bounds_a_variant_and_its_queues_and_nothing_else_moves():
    budgets = {"plain": Budget(tokens=100), "plain/hard": Budget(documents=2)}
    bounded = parameters_of(budgets=budgets)
    assert bounded["completions"]["variants"]["plain"]["budgets"] == {"": {"tokens": 100}, "hard": {"documents": 2}}
    free = parameters_of()
    del bounded["completions"]["variants"]["plain"]["budgets"]
    assert bounded == free


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        (lambda: {"other": Budget(tokens=1)}, "got 'other'; there are: plain, plain/hard, plain/easy, plain/polish"),
        (lambda: {"plain/soft": Budget(tokens=1)}, "got 'plain/soft'"),
        (lambda: {"plain": Budget()}, "needs a limit above 0 of documents, tokens, device_seconds, got none"),
        (lambda: {"plain": Budget(tokens=0)}, "got {'tokens': 0}"),
        (lambda: {"plain": Budget.from_json({"dollars": 1})}, "got dollars as well"),
    ],
)
def test_a_budget_of_nothing_is_refused_when_the_project_loads(budgets, message):
    with pytest.raises(ValueError, match=message):
        parameters_of(budgets=budgets())


def parameters_of(**more: Any) -> dict[str, Any]:
    made = synthesized_assets("said_anew", seeds="web", dimension="style", recipes={"plain": ROUTED}, **more)
    return {asset.key.path[-1]: asset.metadata_by_key[asset.key]["parameters"].value for asset in made}
