"""The synthesized stage of one dataset: what to ask, what was answered, what passed every verifier."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from assets.curation import ITEMS
from assets.partitions import variants
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.dedup.parameters import FINEWEB
from corpusmill.synthesize.generators.registry import queue_names
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.supervise.budget import Budget
from corpusmill.synthesize.supervise.rules import SupervisionRules

DESCRIPTIONS = {
    "requests": "What to ask the model, by reference: seed document and span, recipe and prompt version.",
    "completions": "What the engine answered, once a request: the first committed answer stands.",
    "documents": "Answers that parsed and passed every verifier; the others stay with the reason of their rejection.",
    "duplicates": "The accepted documents that repeat their seed or one another; nothing later reads them.",
}
REPEATS: Mapping[str, Any] = {"dedup": FINEWEB.to_json(), "seed_threshold": 0.7}
"""Near-duplicates are one too many, and so is a document whose Jaccard to its seed reaches `seed_threshold`; None says that
documents are meant to be like their seeds."""

SUPERVISED: Mapping[str, Any] = {}
"""Rules and chunks as they are by default."""
UNBOUNDED: Mapping[str, Budget] = {}


def synthesized_assets(
    dataset: str,
    *,
    seeds: str,
    dimension: str,
    recipes: Mapping[str, Recipe],
    contamination: Mapping[str, Any] | None = None,
    repeats: Mapping[str, Any] = REPEATS,
    supervision: Mapping[str, Any] | None = SUPERVISED,
    budgets: Mapping[str, Budget] = UNBOUNDED,
) -> list[dg.AssetsDefinition]:
    """Return synthesized/<dataset>/requests, completions, documents and duplicates.

    A partition is a variant of `recipes` and a snapshot. `seeds` is the curated dataset that they start from, `dimension`
    what the variants are: style or language. With `contamination` (under `rules`, fields of ContaminationRules; an empty
    one takes all defaults) answers that hold an item of curated/benchmarks/items are rejected. With `supervision`
    (`rules`: fields of SupervisionRules; `chunk_seeds`: how many seeds are judged together) a supervisor slows, pauses,
    demotes or stops a recipe that goes wrong; None asks all seeds whatever comes back. `budgets` bound what is spent on a
    partition, by variant, or by variant and queue as `mixed/hard`; what they leave out a later run with more asks.
    """
    for name, recipe in recipes.items():
        if recipe.name != f"{dataset}/{name}":
            raise ValueError(
                f"the recipe {name!r} of {dataset} must have the name '{dataset}/{name}', got {recipe.name!r}"
            )
    documents, bounds = ("curated", seeds, "documents"), _bounds(budgets, recipes)
    searched, watched = _searched(contamination), _watched(supervision)
    key = {table: ("synthesized", dataset, table) for table in DESCRIPTIONS}
    said = {name: {"recipe": recipe.to_json()} for name, recipe in recipes.items()}
    asked = {"seeds": seeds, "variants": said}
    bounded = {"variants": {name: {**said[name], **bounds.get(name, {})} for name in recipes}}
    compared = {"seeds": seeds, "variants": {name: {} for name in recipes}, **repeats}
    judged = [key["requests"], key["completions"], documents, *([ITEMS] if searched else [])]
    steps: list[tuple[str, str, list[tuple[str, str, str]], Mapping[str, Any]]] = [
        ("requests", "requests", [documents], asked),
        ("completions", "completions", [key["requests"], documents], asked | watched | bounded),
        ("documents", "accept", judged, asked | searched),
        ("duplicates", "synthesized_duplicates", [key["documents"], documents], compared),
    ]
    return [
        lake_asset(
            key[table],
            task=task,
            description=DESCRIPTIONS[table],
            deps=deps,
            partitions_def=variants(dimension, list(recipes), dataset=seeds),
            parameters=parameters,
        )
        for table, task, deps, parameters in steps
    ]


def _watched(supervision: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameter of the completions task, none where nobody watches. Raises ValueError for what cannot be."""
    if supervision is None:
        return {}
    if unknown := sorted(set(supervision) - {"rules", "chunk_seeds"}):
        raise ValueError(f"supervision takes rules and chunk_seeds, got {', '.join(unknown)} as well")
    if supervision.get("chunk_seeds", 1) < 1:
        raise ValueError(
            f"supervision judges at least one seed at a time, got chunk_seeds {supervision['chunk_seeds']}"
        )
    SupervisionRules.from_json(supervision.get("rules", {}))
    return {"supervision": dict(supervision)}


def _bounds(budgets: Mapping[str, Budget], recipes: Mapping[str, Recipe]) -> dict[str, dict[str, Any]]:
    """Return the parameter of the completions task by variant. Raises ValueError for a budget of nothing."""
    found: dict[str, dict[str, Any]] = {}
    for name, budget in budgets.items():
        variant, _, queue = name.partition("/")
        queues = queue_names(recipes[variant].generator) if variant in recipes else ()
        if variant not in recipes or (queue and queue not in queues):
            known = [
                *recipes,
                *(f"{one}/{of}" for one, recipe in recipes.items() for of in queue_names(recipe.generator)),
            ]
            raise ValueError(
                f"a budget is for a variant or a queue of one, got {name!r}; there are: {', '.join(known)}"
            )
        found.setdefault(variant, {"budgets": {}})["budgets"][queue] = budget.to_json()
    return found


def _searched(contamination: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameter of the accept task, none where nothing is asked. Raises ValueError for rules that cannot be."""
    if contamination is None:
        return {}
    if unknown := sorted(set(contamination) - {"rules"}):
        raise ValueError(
            f"contamination of synthesized documents takes rules, got {', '.join(unknown)} as well; an answer that holds "
            "an item is always rejected"
        )
    ContaminationRules.from_json(contamination.get("rules", {}))
    return {"contamination": dict(contamination)}
