"""Engines that nobody holds any more: ends hosts whose leases all went stale and cleans up after killed ones."""

import dagster as dg


def idle_engines(*, interval_seconds: int = 120) -> dg.SensorDefinition:
    """Return the sensor that reaps stale engine leases."""

    @dg.sensor(
        name="idle_engines",
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={"mill"},
        description="Ends engines whose leases are stale, and what a killed engine host left behind.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        from pathlib import Path

        from corpusmill.engines.lease import reap

        ended = reap(Path(context.resources.mill.settings().state_folder))
        return dg.SkipReason(f"ended: {', '.join(ended)}" if ended else "no stale engine")

    return sensor
