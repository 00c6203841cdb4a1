"""The engine that a task's shards run on, as the settings choose it: a leased Spark, or this process."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.engines.engine import Engine
from corpusmill.engines.lease import lease
from corpusmill.engines.plain import PlainEngine
from corpusmill.engines.service import EngineSettings
from corpusmill.engines.shards import ShardOutcome, ShardPlan, run_shards, total
from corpusmill.engines.spark import SparkEngine
from corpusmill.lake.tables import Attempt
from corpusmill.settings import SparkSettings
from corpusmill.tasks.task import Job, Outcome


@contextmanager
def curation_engine(job: Job) -> Iterator[Engine]:
    """Open the engine of curation for the life of one task; a leased one is shared with all other runs."""
    if job.settings.spark.engine == "plain":
        yield PlainEngine()
        return
    settings = spark_engine_settings(job.settings.spark)
    with lease("spark", settings, state_folder=Path(job.settings.state_folder)) as endpoint:
        engine = SparkEngine(endpoint)
        try:
            yield engine
        finally:
            engine.close()


def spark_engine_settings(spark: SparkSettings) -> EngineSettings:
    """Return the lease settings of the [spark] section; partitions that ask for the same share one engine."""
    return EngineSettings(
        service={"master": spark.master, "driver_memory": spark.driver_memory},
        startup_seconds=spark.startup_seconds,
        linger_seconds=spark.linger_seconds,
    )


def run_on_shards(
    function: str,
    *,
    job: Job,
    attempt: Attempt,
    inputs: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
    schema: pa.Schema | None = None,
    row_group_bytes: int | None = None,
) -> list[ShardOutcome]:
    """Run a shard function over `inputs` on the engine of curation, reporting progress.

    Shards yield rows of the job's table, or of `schema` where they are a step on the way to it.
    """
    plan = ShardPlan(
        function=function,
        inputs=inputs,
        parameters=parameters,
        schema=schema or job.schema,
        row_group_bytes=row_group_bytes,
    )

    def progress(outcome: ShardOutcome, num_done: int, num_shards: int) -> None:
        job.report(f"shard {num_done} of {num_shards}", {"rows": outcome.counts.rows_in, "seconds": outcome.seconds})

    with curation_engine(job) as engine:
        return run_shards(plan, engine=engine, lake=job.lake, attempt=attempt, on_progress=progress)


def outcome_of(shards: Sequence[ShardOutcome], **more: Any) -> Outcome:
    """Return the sum of shard outcomes as a task's outcome, with `more` fields of Outcome on top."""
    sums = total(shards)
    metrics = {**sums.notes, "shards": sums.num_shards, "shards_reused": sums.num_reused, "work_seconds": sums.seconds}
    return Outcome(
        files=sums.files,
        counts=sums.counts,
        metrics=metrics | dict(more.pop("metrics", {})),
        samples=sums.samples,
        **more,
    )
