"""Retention: expires old versions and deletes what nothing needs any more. A job, with a nightly schedule that is off.

Versions that a mixture pins are spared; so is every file that a version still names, and everything young.
"""

from datetime import UTC, datetime

import dagster as dg

from corpusmill.lake.tables import Lake


class RetentionConfig(dg.Config):
    """How long to keep what."""

    keep_snapshots_days: float = 30.0
    """Versions older than this expire, unless they are current or tagged."""
    orphan_age_days: float = 3.0
    """Files that no version names are deleted when they are older than this."""


@dg.op(required_resource_keys={"mill"})
def expire_and_delete(context: dg.OpExecutionContext, config: RetentionConfig) -> None:
    """Expire old versions, delete orphaned files, and put the counts on the run."""
    removed = Lake(context.resources.mill.settings().lake).maintain(
        keep_snapshots_days=config.keep_snapshots_days,
        orphan_age_days=config.orphan_age_days,
        now=datetime.now(UTC),
    )
    context.add_output_metadata(dict(removed))
    context.log.info(", ".join(f"{name} {number:,}" for name, number in removed.items()))


@dg.job(description="Expires old versions of the lake's tables and deletes files that nothing needs.")
def retention_job() -> None:
    expire_and_delete()


retention_schedule = dg.ScheduleDefinition(job=retention_job, cron_schedule="0 4 * * *", name="retention_job_nightly")
