"""The partition sets: one dynamic set of snapshots a dataset, and one of mixtures.

A snapshot is a folder below a dataset's source: a crawl, a release, an edition. Styles and languages of synthesized data
are a static dimension over the same snapshots, which Dagster maps by itself.
"""

from collections.abc import Sequence

import dagster as dg

MIXTURES = dg.DynamicPartitionsDefinition(name="mixtures")


def snapshots(dataset: str) -> dg.DynamicPartitionsDefinition:
    """Return the set of a dataset's snapshots."""
    return dg.DynamicPartitionsDefinition(name=snapshots_name(dataset))


def snapshots_name(dataset: str) -> str:
    return f"{dataset}_snapshots"


def variants(dimension: str, names: Sequence[str], *, dataset: str) -> dg.MultiPartitionsDefinition:
    """Return variant x snapshot: every style or language of every snapshot of `dataset`."""
    return dg.MultiPartitionsDefinition(
        {dimension: dg.StaticPartitionsDefinition(list(names)), "snapshot": snapshots(dataset)}
    )


def dynamic_set(definition: dg.PartitionsDefinition | None) -> str | None:
    """Return the name of the dynamic set that partitions are of, or that a dimension of them is of; None without one."""
    if isinstance(definition, dg.MultiPartitionsDefinition):
        names = [dynamic_set(dimension.partitions_def) for dimension in definition.partitions_defs]
        return next((name for name in names if name), None)
    return definition.name if isinstance(definition, dg.DynamicPartitionsDefinition) else None
