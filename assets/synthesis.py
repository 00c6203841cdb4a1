"""The synthesized stage of one dataset: what to ask, what was answered, what passed every verifier."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from assets.curation import ITEMS
from assets.partitions import variants
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.synthesize.recipe import Recipe

DESCRIPTIONS = {
    "requests": "What to ask the model, by reference: seed document and span, recipe and prompt version.",
    "completions": "What the engine answered, once a request: the first committed answer stands.",
    "documents": "Answers that parsed and passed every verifier; the others stay with the reason of their rejection.",
}


def synthesized_assets(
    dataset: str,
    *,
    seeds: str,
    dimension: str,
    recipes: Mapping[str, Recipe],
    contamination: Mapping[str, Any] | None = None,
) -> list[dg.AssetsDefinition]:
    """Return synthesized/<dataset>/requests, completions and documents, a partition a variant of `recipes` and snapshot.

    `seeds` is the curated dataset that they start from, `dimension` what the variants are: style or language. With
    `contamination` (under `rules`, fields of ContaminationRules; an empty one takes all defaults) answers that hold an
    item of curated/benchmarks/items are rejected.
    """
    documents = ("curated", seeds, "documents")
    searched = _searched(contamination)
    key = {table: ("synthesized", dataset, table) for table in DESCRIPTIONS}
    steps = [
        ("requests", "requests", [documents], {}),
        ("completions", "completions", [key["requests"], documents], {}),
        (
            "documents",
            "accept",
            [key["requests"], key["completions"], documents, *([ITEMS] if searched else [])],
            searched,
        ),
    ]
    parameters: dict[str, Any] = {
        "seeds": seeds,
        "variants": {name: {"recipe": recipe.to_json()} for name, recipe in recipes.items()},
    }
    return [
        lake_asset(
            key[table],
            task=task,
            description=DESCRIPTIONS[table],
            deps=deps,
            partitions_def=variants(dimension, list(recipes), dataset=seeds),
            parameters=parameters | more,
        )
        for table, task, deps, more in steps
    ]


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
