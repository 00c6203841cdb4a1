"""New snapshots: watches the folder or prefix of each source and adds a partition for every folder that has settled.

A snapshot counts as settled when two ticks in a row see the same files, so that one that is still being copied is not
taken. Lists folders only, and the files of unknown snapshots; never opens a file.
"""

import json

import dagster as dg

from assets.partitions import snapshots, snapshots_name


def new_snapshots(dataset: str, *, interval_seconds: int = 60) -> dg.SensorDefinition:
    """Return the sensor that registers the snapshots of one dataset and runs their sources job."""

    @dg.sensor(
        name=f"new_snapshots_{dataset}",
        job_name=f"sources_{dataset}",
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={"mill"},
        description=f"Adds a partition for each new folder below the source of {dataset}, once its files have settled.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        from corpusmill.read.folders import unseen_snapshots

        known = set(context.instance.get_dynamic_partitions(snapshots_name(dataset)))
        try:
            found = unseen_snapshots(context.resources.mill.source_store(dataset), seen=known)
        except (OSError, ValueError) as error:
            return dg.SkipReason(f"the source of {dataset} cannot be listed: {error}")
        seen = json.loads(context.cursor or "{}")
        settled = sorted(name for name, files in found.items() if seen.get(name) == files)
        waiting = {name: files for name, files in found.items() if name not in settled}
        return dg.SensorResult(
            cursor=json.dumps(waiting),
            dynamic_partitions_requests=[snapshots(dataset).build_add_request(settled)] if settled else [],
            run_requests=[dg.RunRequest(run_key=f"{dataset}:{name}", partition_key=name) for name in settled],
            skip_reason=None if settled else f"nothing new; {len(waiting)} snapshots have not settled yet",
        )

    return sensor
