"""The real definitions, with a schedule and sensors that a test can wait for: seconds in place of minutes and nights."""

import dagster as dg

from corpusmill.settings import load_settings
from definitions import all_assets, build, job_members
from jobs.schedules import nightly
from sensors.failed_partitions import failed_partitions
from sensors.new_snapshots import new_snapshots

EVERY_MINUTE = "* * * * *"


@dg.definitions
def defs() -> dg.Definitions:
    real, everything = build(load_settings()), all_assets()
    return dg.Definitions(
        assets=real.assets,
        jobs=real.jobs,
        schedules=[nightly(job_members(everything, "curated_web"), cron=EVERY_MINUTE)],
        sensors=[
            new_snapshots("web", interval_seconds=1),
            failed_partitions(interval_seconds=1),
        ],
        resources=real.resources,
        executor=real.executor,
    )
