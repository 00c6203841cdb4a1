"""sources/<dataset>/records: what lies where in one snapshot. Payloads stay where they are.

One shard a file of the snapshot. File names in the table are relative to the source's folder, so a mirror elsewhere is
the same table.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.urls import url_hashes
from corpusmill.dedup.withdrawn import Withdrawn
from corpusmill.document import RECORDS
from corpusmill.engines.shard import ShardContext
from corpusmill.fingerprint import fingerprint
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.lake.tables import Attempt
from corpusmill.read.file_names import spelled
from corpusmill.read.options import ReadOptions
from corpusmill.read.snapshot import is_bookkeeping, is_taken, list_records
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.removals import DROP_REASON, ingestion_files, read_removals
from corpusmill.tasks.task import Job, Outcome, truncate_sample

PAYLOADS_VERSION = "payloads"
"""In a partition's state: what names the files that were listed, by size and time. Records may stay the same where payloads
change, as the rows of a Parquet file do."""


def table(dataset: str) -> str:
    return f"sources/{dataset}/records"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return RECORDS


def source_store(job: Job) -> Store:
    return job.settings.source_store(job.dataset)


def inputs(job: Job) -> dict[str, Any]:
    source = job.settings.source(job.dataset)
    return {"files": snapshot_files(job), "format": source.format, "options": dict(source.options)}


def snapshot_files(job: Job) -> list[dict[str, Any]]:
    """Return key, size and time of each file in the snapshot; raises ValueError where there is none."""
    source = job.settings.source(job.dataset)
    found = [
        {"key": item.key, "size": item.size, "modified": str(item.modified)}
        for item in source_store(job).list(f"{job.partition}/")
        if not is_bookkeeping(item.key.removeprefix(f"{job.partition}/"))
    ]
    if not any(file["size"] for file in found):
        raise ValueError(
            f"snapshot {job.partition!r} of {job.dataset} has no files: wanted {source.format} files below "
            f"{source.uri}/{job.partition}/, got none. Put the snapshot back, or remove its partition: "
            f"corpusmill remove {job.dataset} {shlex.quote(job.partition)}"
        )
    return found


def run(job: Job, attempt: Attempt) -> Outcome:
    source = job.settings.source(job.dataset)
    files = snapshot_files(job)
    parameters = {
        "dataset": job.dataset,
        "snapshot": job.partition,
        "format": source.format,
        "options": dict(source.options),
        "source": source_store(job).settings.to_json(),
    }
    removals = ingestion_files(job.lake)
    shards = run_on_shards(
        "corpusmill.tasks.records:list_shard",
        job=job,
        attempt=attempt,
        inputs=[{**file, **removals} for file in files],
        parameters=parameters,
    )
    left_out = _files_left_out(job, files)
    outcome = outcome_of(
        shards, state={PAYLOADS_VERSION: fingerprint(files)}, metrics={"files_left_out": len(left_out)}
    )
    if outcome.counts.rows_in == 0:
        raise ValueError(
            f"snapshot {job.partition!r} of {job.dataset} holds no {source.format} record in {len(shards)} files; "
            "check the source's format and options"
        )
    if left_out:
        named = f"{', '.join(left_out[:3])}{', …' if len(left_out) > 3 else ''}"
        job.report(f"{len(left_out)} of {len(files)} files are not read, by format, include or exclude: {named}", {})
    return outcome


def _files_left_out(job: Job, files: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names inside the snapshot of the files that the source's format and options do not take."""
    source = job.settings.source(job.dataset)
    options = ReadOptions.from_mapping(source.options)
    names = [str(file["key"]).removeprefix(f"{job.partition}/") for file in files]
    return [spelled(name) for name in names if not is_taken(name, source.format, options)]


def list_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield the RECORDS of one file that no removal names, with `file` relative to the source's folder."""
    store = Store(StoreSettings.from_json(parameters["source"]))
    # The key as it was listed: a name that no store can open is a failed row, not a failed shard.
    uri = f"{store.root}/{inputs['key']}"
    if not store.exists(uri):
        raise ValueError(
            f"{spelled(uri)} was a file when snapshot {parameters['snapshot']!r} was listed, and is gone or a folder now: let "
            "the snapshot settle and materialize its records again"
        )
    withdrawn = read_removals(inputs, context.store)
    for records in list_records(
        dataset=parameters["dataset"],
        snapshot=parameters["snapshot"],
        format=parameters["format"],
        uri=uri,
        store=store,
        options=parameters["options"],
    ):
        keys = [store.key(uri) for uri in records["file"].to_pylist()]
        found = records.set_column(records.schema.get_field_index("file"), "file", pa.array(keys, pa.string()))
        relative = _left(withdrawn, found)
        context.add_counts(_counts(relative, num_withdrawn=len(found) - len(relative)))
        context.note("payload_bytes", pc.sum(relative["length"]).as_py() or 0)
        for row in truncate_sample(relative, columns=["locator", "url", "content_type", "declared_license", "failure"]):
            context.sample(row)
        yield relative


def _counts(records: pa.Table, *, num_withdrawn: int) -> Counts:
    failed = count_reasons(records["failure"])
    return Counts(
        rows_in=len(records) + num_withdrawn,
        kept=len(records) - sum(failed.values()),
        dropped={DROP_REASON: num_withdrawn} if num_withdrawn else {},
        failed=failed,
    )


def _left(withdrawn: Withdrawn, records: pa.Table) -> pa.Table:
    """Return the RECORDS whose id and URL no removal names."""
    if not withdrawn.names_anything:
        return records
    is_named = pc.is_in(records["doc_id"], value_set=withdrawn.doc_ids)
    if len(withdrawn.url_hashes):
        is_named = pc.or_(is_named, pc.is_in(url_hashes(records["url"]), value_set=withdrawn.url_hashes))
    return records.filter(pc.invert(is_named))
