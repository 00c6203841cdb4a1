"""Failed partitions: runs the job of a failed partition again, under a cap, and leaves what keeps failing to people.

What counts is the runs since the partition's last success, whoever started them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

MAX_ATTEMPTS = 3
"""Runs of one partition, the first included, before a person is needed."""
PARTITION_TAG = "dagster/partition"
LOOK_BACK_RUNS = 200


def failed_partitions(
    jobs: Sequence[UnresolvedAssetJobDefinition], *, max_attempts: int = MAX_ATTEMPTS, interval_seconds: int = 60
) -> dg.SensorDefinition:
    """Return the sensor that re-runs failed partitions until they had `max_attempts` runs since their last success."""

    @dg.sensor(
        name="failed_partitions",
        jobs=list(jobs),
        minimum_interval_seconds=interval_seconds,
        description=f"Runs a failed partition again, up to {max_attempts} runs since its last success.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        since = datetime.fromisoformat(context.cursor) if context.cursor else None
        records = context.instance.get_run_records(
            RunsFilter(statuses=[DagsterRunStatus.FAILURE], updated_after=since), limit=LOOK_BACK_RUNS
        )
        due = [run for run in (it.dagster_run for it in records) if may_retry(context.instance, run, max_attempts)]
        newest = max((it.update_timestamp for it in records), default=since)
        return dg.SensorResult(
            cursor=newest.astimezone(UTC).isoformat() if newest else None,
            run_requests=[retry_request(run) for run in due],
            skip_reason=None if due else f"{len(records)} newly failed runs, none to run again",
        )

    return sensor


def may_retry(instance: DagsterInstance, run: DagsterRun, max_attempts: int) -> bool:
    """Return whether a failed run's partition may run again: nothing ran it since, and it is under the cap."""
    partition = run.tags.get(PARTITION_TAG)
    if not partition or stage_job(run) is None:
        return False
    runs = instance.get_runs(RunsFilter(tags={PARTITION_TAG: partition}), limit=LOOK_BACK_RUNS)
    same = [other for other in runs if stage_job(other) == stage_job(run)]
    if not same or same[0].run_id != run.run_id:
        return False
    statuses = [other.status for other in same]
    failures = next((i for i, status in enumerate(statuses) if status != DagsterRunStatus.FAILURE), len(statuses))
    return failures < max_attempts


def stage_job(run: DagsterRun) -> str | None:
    """Return the stage job that a run belongs to, also when a backfill launched its assets without naming the job."""
    if run.asset_selection:
        stage, dataset, *_ = min(run.asset_selection).path
        return f"{stage}_{dataset}"
    return None if run.job_name.startswith("__") else run.job_name


def retry_request(run: DagsterRun) -> dg.RunRequest:
    """Return the request for the same assets and partition; asking twice for one failed run starts one."""
    return dg.RunRequest(
        run_key=f"retry:{run.run_id}",
        job_name=stage_job(run),
        asset_selection=sorted(run.asset_selection) if run.asset_selection else None,
        partition_key=run.tags[PARTITION_TAG],
        tags={"corpusmill/retry_of": run.run_id},
    )
