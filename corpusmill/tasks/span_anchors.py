"""curated/<dataset>/span_anchors: where documents that stay so far may repeat others. One shard a signature file.

The same documents as in `signatures`, without those that `duplicates` removes: they go as a whole.
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
from corpusmill.tasks.task import Job, Outcome

REASON = "duplicate"


def table(dataset: str) -> str:
    return f"curated/{dataset}/span_anchors"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return ANCHORS


def inputs(job: Job) -> dict[str, Any]:
    upstream = {"extracted": extract, "signatures": sign, "duplicates": duplicates}
    return {name: job.upstream(task.table(job.dataset)) for name, task in upstream.items()}


def run(job: Job, attempt: Attempt) -> Outcome:
    removed = [job.lake.store.key(file.path) for file in job.lake.files(duplicates.table(job.dataset), [job.partition])]
    shards = run_on_shards(
        "corpusmill.tasks.span_anchors:anchors_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {"signature_file": job.lake.store.key(file.path), "duplicates": removed}
            for file in job.lake.files(sign.table(job.dataset), [job.partition])
        ],
        parameters=SpanParameters.from_json(job.parameters).to_json(),
    )
    return outcome_of(shards, state={"min_bytes": SpanParameters.from_json(job.parameters).min_bytes})


def anchors_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the ANCHORS of the documents of one signature file that duplicate no other."""
    settings = SpanParameters.from_json(parameters)
    signed = read_rows(context.store, inputs["signature_file"], columns=("doc_id", "text_file", "text_hash"))
    removed = [read_rows(context.store, file, columns=("doc_id",))["doc_id"] for file in inputs["duplicates"]]
    removed_ids = pa.chunked_array([chunk for column in removed for chunk in column.chunks], pa.string())
    kept = signed.filter(pc.invert(pc.is_in(signed["doc_id"], value_set=removed_ids.combine_chunks())))
    num_removed = len(signed) - len(kept)
    dropped = {REASON: num_removed} if num_removed else {}
    context.add_counts(Counts(rows_in=len(signed), kept=len(kept), dropped=dropped))
    for text_file in sorted(pc.unique(kept["text_file"]).to_pylist()):
        wanted = kept.filter(pc.equal(kept["text_file"], text_file))
        for texts in read_batches(context.store, text_file, columns=("doc_id", "text")):
            places = pc.index_in(texts["doc_id"], value_set=wanted["doc_id"].combine_chunks())
            texts, places = texts.filter(places.is_valid()), places.drop_null()
            anchors = text_anchors(texts["text"], settings)
            context.note("anchors", len(anchors.values))
            yield pa.Table.from_arrays([*wanted.take(places).columns, anchors], schema=ANCHORS)
