"""Which partitions of a job are due: their inputs are there, and newer than what was made from them.

Reads one number a partition and asset from Dagster's event log (the storage id of its last materialization), nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import AssetKey, DagsterEventType, DagsterInstance, PartitionsDefinition

from jobs.asset_graph import UNPARTITIONED


@dataclass(frozen=True, kw_only=True)
class JobAssets:
    """The assets of one job, as far as deciding what is due needs them."""

    name: str
    own: Sequence[AssetKey]
    """Its partitioned assets; of a job without partitions all."""
    inputs: Sequence[AssetKey]
    """Assets of other jobs that its assets read."""
    whole: frozenset[AssetKey]
    """Those of `own` and `inputs` that have no partitions."""
    partitions_def: PartitionsDefinition | None
    """None of a job whose assets all have no partitions."""


def job_assets(assets: Sequence[dg.AssetsDefinition], name: str, members: Sequence[AssetKey]) -> JobAssets:
    """Return what `due_partitions` needs of the job `name`, whose assets are `members`."""
    own = [asset for asset in assets if asset.key in set(members)]
    partitioned = [asset for asset in own if asset.partitions_def is not None]
    inputs = {dep for asset in own for dep in asset.dependency_keys} - set(members)
    return JobAssets(
        name=name,
        own=[asset.key for asset in partitioned or own],
        inputs=sorted(inputs),
        whole=frozenset(asset.key for asset in assets if asset.partitions_def is None),
        partitions_def=partitioned[0].partitions_def if partitioned else None,
    )


def due_partitions(instance: DagsterInstance, job: JobAssets) -> list[str]:
    """Return the partitions that have all inputs, and lack an asset or have one older than an input, in key order.

    A job without partitions has one, named UNPARTITIONED.
    """
    own = [_last_materialized(instance, key, is_whole=key in job.whole) for key in job.own]
    inputs = [_last_materialized(instance, key, is_whole=key in job.whole) for key in job.inputs]
    if job.partitions_def is None:
        keys = [UNPARTITIONED]
    else:
        keys = list(job.partitions_def.get_partition_keys(dynamic_partitions_store=instance))
    return [key for key in keys if _is_due(key, own, inputs)]


def _last_materialized(instance: DagsterInstance, key: AssetKey, *, is_whole: bool) -> Mapping[str, int]:
    if is_whole:
        newest = instance.fetch_materializations(key, limit=1).records
        return {UNPARTITIONED: newest[0].storage_id} if newest else {}
    return instance.get_latest_storage_id_by_partition(key, DagsterEventType.ASSET_MATERIALIZATION)


def _is_due(key: str, own: Sequence[Mapping[str, int]], inputs: Sequence[Mapping[str, int]]) -> bool:
    arrived = [_input_version(key, made) for made in inputs]
    present = [version for version in arrived if version is not None]
    if len(present) < len(arrived):
        return False
    made = [versions[key] for versions in own if key in versions]
    return len(made) < len(own) or min(made) < max(present, default=0)


def _input_version(key: str, made: Mapping[str, int]) -> int | None:
    """Return when the input of a partition was last made: the same key, the whole table, or the key's snapshot.

    A job without partitions reads every partition of its inputs.
    """
    if key in made:
        return made[key]
    if UNPARTITIONED in made:
        return made[UNPARTITIONED]
    if key == UNPARTITIONED:
        return max(made.values(), default=None)
    dimensions = set(key.split("|"))
    snapshot = [version for name, version in made.items() if name in dimensions]
    if snapshot:
        return max(snapshot)
    return None
