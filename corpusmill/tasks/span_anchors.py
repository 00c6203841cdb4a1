"""curated/<dataset>/span_anchors: where documents that stay so far may repeat others. One shard a signature file.

The same documents as in `signatures`, without those that `duplicates` removes or a removal names: they go as a whole, and
what goes is no copy that stays.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.dedup.anchors import text_anchors
from corpusmill.dedup.spans import ANCHORS, SpanParameters
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.reading import read_batches, read_rows
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import duplicates, extract, sign
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.partition_rows import partition_rows
from corpusmill.tasks.removals import DROP_REASON, read_removals, removal_files, removal_versions, withdrawn_documents
from corpusmill.tasks.task import Job, Outcome

REASON = "duplicate"
_DOC_IDS = pa.schema([pa.field("doc_id", pa.string())])


def table(dataset: str) -> str:
    return f"curated/{dataset}/span_anchors"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return ANCHORS


def inputs(job: Job) -> dict[str, Any]:
    upstream = {"extracted": extract, "signatures": sign, "duplicates": duplicates}
    versions = {name: job.upstream(task.table(job.dataset)) for name, task in upstream.items()}
    return {**versions, **removal_versions(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    removed = job.lake.files(duplicates.table(job.dataset), [job.partition])
    shared = {"duplicates": [job.lake.store.key(file.path) for file in removed], **removal_files(job)}
    shards = run_on_shards(
        "corpusmill.tasks.span_anchors:anchors_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {"signature_file": job.lake.store.key(file.path), **shared}
            for file in job.lake.files(sign.table(job.dataset), [job.partition])
        ],
        parameters=SpanParameters.from_json(job.parameters).to_json(),
    )
    return outcome_of(shards, state={"min_bytes": SpanParameters.from_json(job.parameters).min_bytes})


def anchors_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the ANCHORS of the documents of one signature file that stay so far."""
    settings = SpanParameters.from_json(parameters)
    kept = _staying(inputs, context)
    for text_file in sorted(pc.unique(kept["text_file"]).to_pylist()):
        wanted = kept.filter(pc.equal(kept["text_file"], text_file))
        for texts in read_batches(context.store, text_file, columns=("doc_id", "text")):
            places = pc.index_in(texts["doc_id"], value_set=wanted["doc_id"].combine_chunks())
            texts, places = texts.filter(places.is_valid()), places.drop_null()
            anchors = text_anchors(texts["text"], settings)
            context.note("anchors", len(anchors.values))
            yield pa.Table.from_arrays([*wanted.take(places).columns, anchors], schema=ANCHORS)


def _staying(inputs: Mapping[str, Any], context: ShardContext) -> pa.Table:
    """Return doc_id, text_file and text_hash of the documents of a signature file that nothing took away, and count all."""
    signed = read_rows(context.store, inputs["signature_file"], columns=("doc_id", "text_file", "text_hash"))
    removed = partition_rows(context.store, inputs["duplicates"], _DOC_IDS)
    withdrawn = withdrawn_documents(read_removals(inputs, context.store), signed)
    kept = signed
    dropped: dict[str, int] = {}
    for reason, rows in ((REASON, removed), (DROP_REASON, withdrawn)):
        left = kept.filter(pc.invert(pc.is_in(kept["doc_id"], value_set=rows["doc_id"].combine_chunks())))
        dropped |= {reason: len(kept) - len(left)} if len(left) < len(kept) else {}
        kept = left
    context.add_counts(Counts(rows_in=len(signed), kept=len(kept), dropped=dropped))
    return kept
