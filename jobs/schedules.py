"""One schedule a job: every night, a run for each partition that is due. Off until someone turns it on.

A job without partitions is due until it ran once, and when one of its inputs is newer.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from jobs.due import JobAssets, due_partitions

CRON = "0 2 * * *"
MAX_RUNS_PER_TICK = 100


def nightly(job: JobAssets, *, cron: str = CRON) -> dg.ScheduleDefinition:
    """Return the nightly schedule of one job; `cron` gives it another time."""

    @dg.schedule(
        name=f"{job.name}_nightly",
        job_name=job.name,
        cron_schedule=cron,
        description=f"Runs {job.name} for each partition whose inputs are newer than what was made from them.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest | dg.SkipReason]:
        due = due_partitions(context.instance, job)
        if not due:
            yield dg.SkipReason(f"no partition of {job.name} is due")
        for partition in due[:MAX_RUNS_PER_TICK]:
            yield dg.RunRequest(
                partition_key=partition or None, run_key=f"{partition}@{context.scheduled_execution_time}"
            )

    return schedule


def nightly_schedules(jobs: Sequence[JobAssets]) -> list[dg.ScheduleDefinition]:
    return [nightly(job) for job in jobs]
