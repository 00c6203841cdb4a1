"""mixed/mixtures: what a training run reads. A partition is a mixture; its weights, caps, groups and phases stand here.

Weights are shares of tokens. A mixture writes no tokens: its plan pins versions of tokenized tables, and the order of its
stream is a function of plan, seed and position.
"""

import dagster as dg

from assets.asset import lake_asset
from assets.partitions import MIXTURES as PARTITIONS
from assets.tokenization import SEQUENCE_LENGTH
from corpusmill.mix.mixture import Component, Mixture


def _component(dataset: str, weight: float, *, max_epochs: float = 1.0, is_synthetic: bool = False) -> Component:
    return Component(
        name=dataset,
        table=f"tokenized/{dataset}/sequences",
        weight=weight,
        max_epochs=max_epochs,
        is_synthetic=is_synthetic,
    )


MIXTURES = {
    "main": Mixture(
        name="main",
        sequence_length=SEQUENCE_LENGTH,
        seed=0,
        components=(
            _component("web", 0.45, max_epochs=4),
            _component("code", 0.348, max_epochs=1),
            _component("stem", 0.20, max_epochs=4),
            _component("web_rephrased", 0.002, max_epochs=8, is_synthetic=True),
        ),
    ),
}
"""By name. The weight of rewrites fits what the small model gets accepted; its translations and code stay out until any are."""


def mixture_inputs(name: str) -> list[dg.AssetKey]:
    """Return the tokenized assets that a mixture's components read."""
    return [dg.AssetKey(table.split("/")) for table in MIXTURES[name].tables]


def _mixture_asset(table: str, *, task: str, description: str, deps: list[dg.AssetDep]) -> dg.AssetsDefinition:
    return lake_asset(
        ("mixed", "mixtures", table),
        task=task,
        description=description,
        deps=deps,
        partitions_def=PARTITIONS,
        parameters={"variants": {name: {"mixture": mixture.to_json()} for name, mixture in MIXTURES.items()}},
    )


_SEQUENCES = [
    dg.AssetDep(dg.AssetKey(table.split("/")), partition_mapping=dg.AllPartitionMapping())
    for table in sorted({table for mixture in MIXTURES.values() for table in mixture.tables})
]

ASSETS = [
    _mixture_asset(
        "plan",
        task="plan",
        description="Components with weights in tokens, epoch caps and the exact versions that they pin.",
        deps=_SEQUENCES,
    ),
    _mixture_asset(
        "report",
        task="report",
        description="What the stream really holds: realised against planned shares of tokens, component by component.",
        deps=[dg.AssetDep(dg.AssetKey(["mixed", "mixtures", "plan"])), *_SEQUENCES],
    ),
]
