"""The whole way as a list of steps: every job on every partition, in the order of the stages and of who reads whom.

A step is current when the lake holds, for each of its assets, the work that the asset's code, parameters and inputs name,
and Dagster knows of it: a run that was killed right after a commit told nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from assets.asset import UNPARTITIONED, partition_parameters
from corpusmill.settings import Settings
from jobs.stages import job_name


@dataclass(frozen=True, kw_only=True)
class Work:
    """One asset of a step: the task that makes it, and the task's JSON arguments."""

    key: dg.AssetKey
    task: str
    arguments: Mapping[str, Any]

    def is_known(self, instance: dg.DagsterInstance) -> bool:
        """Return whether the last materialization that Dagster recorded is what the lake holds."""
        from corpusmill.lake.tables import Lake

        partition = self.arguments["partition"]
        lake = Lake(Settings.from_json(self.arguments["settings"]).lake)
        committed = lake.partition("/".join(self.key.path), partition)
        lake.close()
        recorded = _data_version(instance, self.key, None if partition == UNPARTITIONED else partition)
        return committed is not None and committed.content_hash == recorded


@dataclass(frozen=True, kw_only=True)
class Step:
    """One run: a job on one of its partitions."""

    job: str
    partition: str
    """UNPARTITIONED of a job whose assets all have no partitions."""
    work: Sequence[Work]

    def is_current(self, instance: dg.DagsterInstance) -> bool:
        """Return whether nothing is to be done; false also when an input is missing."""
        from corpusmill.lake.errors import GateFailedError, PartitionMissingError, TableMissingError
        from corpusmill.tasks.task import is_current

        try:
            return all(is_current(work.task, work.arguments) and work.is_known(instance) for work in self.work)
        except (GateFailedError, PartitionMissingError, TableMissingError):
            return False


def way_steps(assets: Sequence[dg.AssetsDefinition], *, settings: Settings, instance: dg.DagsterInstance) -> list[Step]:
    """Return the steps of `assets` over all partitions that `instance` knows, inputs before what reads them."""
    return [
        _step(job, partition, members, settings)
        for job in job_order(assets)
        for members in [[asset for asset in assets if job_name(asset.key) == job]]
        for partition in _partition_keys(members, instance)
    ]


def job_order(assets: Sequence[dg.AssetsDefinition]) -> list[str]:
    """Return the jobs of `assets` in their order, but each after the jobs whose assets it reads."""
    reads: dict[str, list[str]] = {}
    for asset in assets:
        reads.setdefault(job_name(asset.key), []).extend(job_name(key) for key in asset.dependency_keys)
    seen: set[str] = set()
    order: list[str] = []

    def visit(job: str) -> None:
        if job in reads and job not in seen:
            seen.add(job)
            for other in reads[job]:
                visit(other)
            order.append(job)

    for job in reads:
        visit(job)
    return order


def task_arguments(
    key: Sequence[str], partition: str, parameters: Mapping[str, Any], settings: Settings
) -> dict[str, Any]:
    """Return the JSON arguments of the task of an asset on one of its partitions."""
    return {
        "settings": settings.to_json(),
        "dataset": key[1],
        "partition": partition,
        "parameters": partition_parameters(parameters, partition),
    }


def _partition_keys(members: Sequence[dg.AssetsDefinition], instance: dg.DagsterInstance) -> list[str]:
    definition = next((asset.partitions_def for asset in members if asset.partitions_def is not None), None)
    if definition is None:
        return [UNPARTITIONED]
    return list(definition.get_partition_keys(dynamic_partitions_store=instance))


def _step(job: str, partition: str, members: Sequence[dg.AssetsDefinition], settings: Settings) -> Step:
    return Step(job=job, partition=partition, work=[_work(asset, partition, settings) for asset in members])


def _work(asset: dg.AssetsDefinition, partition: str, settings: Settings) -> Work:
    metadata = asset.metadata_by_key[asset.key]
    own = UNPARTITIONED if asset.partitions_def is None else str(partition)
    return Work(
        key=asset.key,
        task=metadata["task"],
        arguments=task_arguments(asset.key.path, own, metadata["parameters"].value, settings),
    )


def _data_version(instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None) -> str | None:
    wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=None if partition is None else [partition])
    for record in instance.fetch_materializations(wanted, limit=1).records:
        materialization = record.asset_materialization
        return (materialization.tags or {}).get("dagster/data_version") if materialization else None
    return None
