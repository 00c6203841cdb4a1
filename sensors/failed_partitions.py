"""Failed partitions: runs the assets of a failed run again, under a cap, and leaves what keeps failing to people.

What counts is the runs of a partition since its last success that share an asset with the failed one, whoever started
them: a job, the backfill command or a person. A backfill's run may span several jobs, so a retry names assets, no job.
An asset without partitions has one that no run names; assets with partitions in a run that names none are left to people.
"""

from collections.abc import Iterator, Set
from datetime import UTC, datetime

import dagster as dg
from dagster import AssetKey, DagsterInstance, DagsterRun, DagsterRunStatus, RepositoryDefinition, RunsFilter

MAX_ATTEMPTS = 3
"""Runs of one partition, the first included, before a person is needed."""
PARTITION_TAG = "dagster/partition"
WILL_RETRY_TAG = "dagster/will_retry"
"""On runs whose worker died: Dagster's own run retries start them again."""
LOOK_BACK_RUNS = 200
"""Failed runs that are looked at in a tick, and earlier ones of the same partition that are read at a time."""
LOOK_BACK_PAGES = 10


def failed_partitions(*, max_attempts: int = MAX_ATTEMPTS, interval_seconds: int = 60) -> dg.SensorDefinition:
    """Return the sensor that re-runs failed partitions until they had `max_attempts` runs since their last success."""

    @dg.sensor(
        name="failed_partitions",
        asset_selection=dg.AssetSelection.all(),
        minimum_interval_seconds=interval_seconds,
        description=f"Runs a failed partition again, up to {max_attempts} runs since its last success.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        repository = context.repository_def
        assert repository is not None
        since = datetime.fromisoformat(context.cursor) if context.cursor else None
        failed = RunsFilter(statuses=[DagsterRunStatus.FAILURE], updated_after=since)
        records = context.instance.get_run_records(failed, limit=LOOK_BACK_RUNS)
        runs = [record.dagster_run for record in records]
        due = [run for run in runs if may_retry(context.instance, repository, run, max_attempts)]
        newest = max((record.update_timestamp for record in records), default=since)
        return dg.SensorResult(
            cursor=newest.astimezone(UTC).isoformat() if newest else None,
            run_requests=[retry_request(run, assets_of(run, repository)) for run in due],
            skip_reason=None if due else f"{len(runs)} newly failed runs, none to run again",
        )

    return sensor


def may_retry(instance: DagsterInstance, repository: RepositoryDefinition, run: DagsterRun, max_attempts: int) -> bool:
    """Return whether a failed run's partition may run again: nothing ran it since, and it is under the cap."""
    assets = assets_of(run, repository)
    if not assets or run.tags.get(WILL_RETRY_TAG) == "true" or not _has_whole_partition(run, assets, repository):
        return False
    failures = 0
    for other in _runs_of(instance, run.tags.get(PARTITION_TAG)):
        if not assets & assets_of(other, repository):
            continue
        if failures == 0 and other.run_id != run.run_id:
            return False
        if other.status != DagsterRunStatus.FAILURE:
            return True
        failures += 1
        if failures >= max_attempts:
            return False
    return failures > 0


def _has_whole_partition(run: DagsterRun, assets: Set[AssetKey], repository: RepositoryDefinition) -> bool:
    """Return whether a run names its partition, or makes nothing that has partitions."""
    if run.tags.get(PARTITION_TAG):
        return True
    graph = repository.asset_graph
    return all(graph.has(key) and graph.get(key).partitions_def is None for key in assets)


def _runs_of(instance: DagsterInstance, partition: str | None) -> Iterator[DagsterRun]:
    """Yield the last runs of a partition, or those that name none, newest first."""
    tags = {PARTITION_TAG: partition} if partition else {}
    cursor = None
    for _ in range(LOOK_BACK_PAGES):
        page = instance.get_runs(RunsFilter(tags=tags), cursor=cursor, limit=LOOK_BACK_RUNS)
        if not page:
            return
        yield from (run for run in page if partition or PARTITION_TAG not in run.tags)
        cursor = page[-1].run_id


def assets_of(run: DagsterRun, repository: RepositoryDefinition) -> Set[AssetKey]:
    """Return the assets that a run makes: those it was asked for, else all of its job; none of a job that is gone."""
    if run.asset_selection:
        return run.asset_selection
    if not repository.has_job(run.job_name):
        return frozenset()
    return repository.get_job(run.job_name).asset_layer.selected_asset_keys


def retry_request(run: DagsterRun, assets: Set[AssetKey]) -> dg.RunRequest:
    """Return the request for the same assets and partition; asking twice for one failed run starts one."""
    return dg.RunRequest(
        run_key=f"retry:{run.run_id}",
        asset_selection=sorted(assets),
        partition_key=run.tags.get(PARTITION_TAG),
        tags={"corpusmill/retry_of": run.run_id},
    )
