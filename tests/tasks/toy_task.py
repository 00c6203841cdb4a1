"""A task for tests of the frame: writes the rows that its parameters spell."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer

SCHEMA = pa.schema([pa.field("word", pa.string())])


def table(dataset: str) -> str:
    return f"curated/{dataset}/words"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return SCHEMA


def inputs(job: Job) -> dict[str, Any]:
    read = {"source": Path(job.parameters["source"]).read_text()} if "source" in job.parameters else {}
    return {"words": list(job.parameters["words"]), **read}


def run(job: Job, attempt: Attempt) -> Outcome:
    words = job.parameters["words"]
    dropped = job.parameters.get("dropped", {})
    if job.parameters.get("overtake"):
        job.lake.begin(attempt.table, attempt.partition, job.schema)
    if "source" in job.parameters and not job.lake.partition(attempt.table, attempt.partition):
        Path(job.parameters["source"]).write_text("changed while it was read")
    with partition_writer(job, attempt, name="words") as writer:
        writer.write(pa.table({"word": words}, schema=SCHEMA))
    return Outcome(
        files=writer.files,
        counts=Counts(
            rows_in=len(words) + job.parameters.get("lost", 0) + sum(dropped.values()), kept=len(words), dropped=dropped
        ),
        metrics={"letters": sum(map(len, words))},
        samples=[{"word": word} for word in words[:1]],
        gates={"few": Gate(passed=len(words) < 3, message=f"{len(words)} words, allowed are 2")},
    )
