"""Verdicts made from the partition's own stored verdicts where only thresholds changed: no text is read."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.redecide import JUDGES, needs_text, redecide
from corpusmill.engines.shard import ShardContext
from corpusmill.fingerprint import code_version, fingerprint
from corpusmill.lake.reading import read_batches
from corpusmill.tasks.drop_examples import example_places
from corpusmill.tasks.task import Job


def measured_version(job: Job, inputs: Mapping[str, Any]) -> str:
    """Return what names the statistics of a partition: the judge's code and its inputs' contents, without its thresholds."""
    code = code_version(JUDGES[job.parameters["judge"]].__name__)
    return fingerprint({"code": code, "inputs": dict(inputs)})


def decidable_files(job: Job, table: str, measured: str) -> list[str] | None:
    """Return the keys of the committed verdict files where they hold all that the job's rules ask for, else None."""
    committed = None if job.again else job.lake.partition(table, job.partition)
    if committed is None or committed.state.get("measured") != measured or job.lake.damaged_files(table, job.partition):
        return None
    before = committed.state["parameters"]
    if needs_text(before, job.parameters) or _measures_other_texts(before, job.parameters):
        return None
    return [job.lake.store.key(file.path) for file in job.lake.files(table, [job.partition])]


def redecide_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the verdicts of one verdict file under other rules."""
    for stored in read_batches(context.store, inputs["verdict_file"], batch_rows=65_536):
        reasons = redecide(stored, parameters)
        verdicts = stored.set_column(stored.schema.get_field_index("drop_reason"), "drop_reason", reasons)
        dropped = count_reasons(verdicts["drop_reason"])
        context.add_counts(Counts(rows_in=len(verdicts), kept=len(verdicts) - sum(dropped.values()), dropped=dropped))
        context.note("redecided", len(verdicts))
        shown = verdicts.select(["drop_reason", "doc_id", "language"]).take(
            pa.array(example_places(verdicts), pa.int64())
        )
        for row in shown.to_pylist():
            context.example(row["drop_reason"], row["doc_id"], row)
        yield verdicts


def _measures_other_texts(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether texts of some length are measured under one's rules only: a judge leaves them without statistics."""
    judge = JUDGES[now["judge"]]
    return bool(judge.rules(before).max_characters != judge.rules(now).max_characters)
