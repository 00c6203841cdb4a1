"""The whole way as a list of steps: every job on every partition, in the order of the stages.

A step is current when the lake holds, for each of its assets, the work that the asset's code, parameters and inputs name.
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


@dataclass(frozen=True, kw_only=True)
class Step:
    """One run: a job on one of its partitions."""

    job: str
    partition: str
    work: Sequence[Work]

    def is_current(self) -> bool:
        """Return whether nothing is to be done; false also when an input is missing."""
        from corpusmill.lake.errors import GateFailedError, PartitionMissingError, TableMissingError
        from corpusmill.tasks.task import is_current

        try:
            return all(is_current(work.task, work.arguments) for work in self.work)
        except (GateFailedError, PartitionMissingError, TableMissingError):
            return False


def way_steps(assets: Sequence[dg.AssetsDefinition], *, settings: Settings, instance: dg.DagsterInstance) -> list[Step]:
    """Return the steps of `assets` over all partitions that `instance` knows, inputs before what reads them."""
    order = list(dict.fromkeys(job_name(asset.key) for asset in assets))
    return [
        _step(job, partition, members, settings)
        for job in order
        for members in [[asset for asset in assets if job_name(asset.key) == job]]
        for partition in _partition_keys(members, instance)
    ]


def _partition_keys(members: Sequence[dg.AssetsDefinition], instance: dg.DagsterInstance) -> list[str]:
    definition = next(asset.partitions_def for asset in members if asset.partitions_def is not None)
    assert definition is not None
    return list(definition.get_partition_keys(dynamic_partitions_store=instance))


def _step(job: str, partition: str, members: Sequence[dg.AssetsDefinition], settings: Settings) -> Step:
    return Step(job=job, partition=partition, work=[_work(asset, partition, settings) for asset in members])


def _work(asset: dg.AssetsDefinition, partition: str, settings: Settings) -> Work:
    metadata = asset.metadata_by_key[asset.key]
    own = UNPARTITIONED if asset.partitions_def is None else str(partition)
    return Work(
        key=asset.key,
        task=metadata["task"],
        arguments={
            "settings": settings.to_json(),
            "dataset": asset.key.path[1],
            "partition": own,
            "parameters": partition_parameters(metadata["parameters"].value, own),
        },
    )
