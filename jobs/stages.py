"""One job a stage and dataset: the assets that belong together for one partition, in one run.

A job's assets share one partition set; an asset of all partitions (resolution) may stand between them. The whole way is
the backfill command, level by level.
"""

from collections import defaultdict
from collections.abc import Sequence

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition


def stage_jobs(assets: Sequence[dg.AssetsDefinition]) -> list[UnresolvedAssetJobDefinition]:
    """Return a job for every (stage, dataset) of `assets`, named stage_dataset."""
    keys: dict[str, list[dg.AssetKey]] = defaultdict(list)
    for asset in assets:
        keys[job_name(asset.key)].append(asset.key)
    return [
        dg.define_asset_job(
            name,
            selection=dg.AssetSelection.assets(*members),
            description=f"Materializes {', '.join(key.to_user_string() for key in members)} for one partition.",
        )
        for name, members in sorted(keys.items())
    ]


def job_name(key: dg.AssetKey) -> str:
    """Return the name of the job that makes an asset."""
    stage, dataset, _ = key.path
    return f"{stage}_{dataset}"
