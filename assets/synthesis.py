"""The synthesized stage of one dataset: what to ask, what was answered, what passed every verifier."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from assets.partitions import variants
from corpusmill.synthesize.recipe import Recipe

DESCRIPTIONS = {
    "requests": "What to ask the model, by reference: seed document and span, recipe and prompt version.",
    "completions": "What the engine answered, once a request: the first committed answer stands.",
    "documents": "Answers that parsed and passed every verifier; the others stay with the reason of their rejection.",
}


def synthesized_assets(
    dataset: str, *, seeds: str, dimension: str, recipes: Mapping[str, Recipe]
) -> list[dg.AssetsDefinition]:
    """Return synthesized/<dataset>/requests, completions and documents, a partition a variant of `recipes` and snapshot.

    `seeds` is the curated dataset that they start from, `dimension` what the variants are: style or language.
    """
    documents = ("curated", seeds, "documents")
    key = {table: ("synthesized", dataset, table) for table in DESCRIPTIONS}
    steps = [
        ("requests", "requests", [documents]),
        ("completions", "completions", [key["requests"], documents]),
        ("documents", "accept", [key["requests"], key["completions"], documents]),
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
            parameters=parameters,
        )
        for table, task, deps in steps
    ]
