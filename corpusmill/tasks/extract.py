"""curated/<dataset>/extracted: the text of every record, once. A record without text stays, with its failure.

One shard is a stretch of records, about `records_per_shard` of them, whatever the files that hold their payloads.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.extract import check_parameters, extract
from corpusmill.document import EXTRACTED
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.reading import read_rows
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.lake.tables import Attempt
from corpusmill.read.snapshot import fetch_payloads
from corpusmill.tasks import records
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.removals import DROP_REASON, ingestion_files, read_removals
from corpusmill.tasks.task import Job, Outcome, truncate_sample

RECORDS_PER_SHARD = 1000


def table(dataset: str) -> str:
    return f"curated/{dataset}/extracted"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    check_parameters(parameters)  # before anything is read: a mistake in them is told at once
    return EXTRACTED


def inputs(job: Job) -> dict[str, Any]:
    return {"records": job.upstream(records.table(job.dataset)), "payloads": _payloads(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    payloads, removals = _payloads(job), ingestion_files(job.lake)
    step = int(job.parameters.get("records_per_shard", RECORDS_PER_SHARD))
    stretches = [
        {
            "file": job.lake.store.key(file.path),
            "start": start,
            "stop": min(start + step, file.num_rows),
            "payloads": payloads,
            **removals,
        }
        for file in job.lake.files(records.table(job.dataset), [job.partition])
        for start in range(0, file.num_rows, step)
    ]
    parameters = {**job.parameters, "source": records.source_store(job).settings.to_json()}
    shards = run_on_shards(
        "corpusmill.tasks.extract:extract_shard",
        job=job,
        attempt=attempt,
        inputs=stretches,
        parameters=parameters,
    )
    return outcome_of(shards)


def _payloads(job: Job) -> str | None:
    """Return what names the files that hold the payloads: their bytes may differ where the records are the same."""
    listed = job.lake.partition(records.table(job.dataset), job.partition)
    return None if listed is None else listed.state.get(records.PAYLOADS_VERSION)


def extract_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the EXTRACTED rows of one stretch of records that no removal names, in bounded batches."""
    withdrawn = read_removals(inputs, context.store)
    source = Store(StoreSettings.from_json(parameters["source"]))
    rows = read_rows(context.store, inputs["file"], start=inputs["start"], stop=inputs["stop"])
    readable = rows.filter(pc.is_null(rows["failure"])).select(records.RECORDS.names)
    absolute = pa.array([source.uri(key) for key in readable["file"].to_pylist()], pa.string())
    readable = readable.set_column(readable.schema.get_field_index("file"), "file", absolute)
    for payloads in fetch_payloads(readable, source):
        every = extract(payloads, dict(parameters))
        texts = withdrawn.left(every)
        context.add_counts(_counts(texts, num_withdrawn=len(every) - len(texts)))
        context.note("characters", pc.sum(pc.utf8_length(texts["text"])).as_py() or 0)
        context.note("text_bytes", pc.sum(pc.binary_length(texts["text"])).as_py() or 0)
        for row in truncate_sample(texts, columns=["locator", "title", "text", "failure"], num_rows=2):
            context.sample(row)
        yield texts


def _counts(texts: pa.Table, *, num_withdrawn: int) -> Counts:
    failed = count_reasons(texts["failure"])
    return Counts(
        rows_in=len(texts) + num_withdrawn,
        kept=len(texts) - sum(failed.values()),
        dropped={DROP_REASON: num_withdrawn} if num_withdrawn else {},
        failed=failed,
    )
