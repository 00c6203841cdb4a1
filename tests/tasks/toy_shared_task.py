"""A task on a table of one partition that runs of several make: the first run is overtaken while it works."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.tasks.task import Job, Outcome, partition_writer

SCHEMA = pa.schema([pa.field("word", pa.string())])
is_overtaken = False


def nothing() -> None:
    """What happens at a look where a test says no other."""


on_look: Callable[[], None] = nothing
"""Called whenever a run looks whether the table is made."""


def table(dataset: str) -> str:
    return f"curated/{dataset}/shared"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    on_look()
    return SCHEMA


def inputs(job: Job) -> dict[str, Any]:
    return {}


def run(job: Job, attempt: Attempt) -> Outcome:
    global is_overtaken
    if not is_overtaken:
        is_overtaken = True
        job.lake.begin(attempt.table, attempt.partition, job.schema)
    with partition_writer(job, attempt, name="words") as writer:
        writer.write(pa.table({"word": ["one"]}, schema=SCHEMA))
    return Outcome(files=writer.files, counts=Counts(rows_in=1, kept=1))
