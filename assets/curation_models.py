"""The quality classifiers of the curated stage: one table each, trained from partitions of other tables."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.asset import lake_asset


def classifier_asset(name: str, *, parameters: Mapping[str, Any]) -> dg.AssetsDefinition:
    """Return curated/<name>/classifier; `parameters` are those of corpusmill.tasks.train_classifier.

    The partitions that it learns from are named in its parameters, so that a newer snapshot does not change a
    classifier that decisions were made with.
    """
    sources = [*parameters["examples"], parameters["reference"]]
    tables = sorted({source["table"] for source in sources})
    return lake_asset(
        ("curated", name, "classifier"),
        task="train_classifier",
        description="A quality classifier: model, card with its evaluation and licence, and the edges of its tiers.",
        deps=[tuple(table.split("/")) for table in tables],
        partitions_def=None,
        parameters=parameters,
    )
