"""curated/<dataset>/documents: what nothing dropped, with the edits of its verdict applied. One shard a verdict file.

Rows in are all judged documents, so the counts are the funnel of the dataset: rules and duplicates by reason. With the
parameter `drops` the tables `urls` and `contamination` drop and cut as well (`corpusmill.tasks.drops`).
What a removal names is dropped (`corpusmill.tasks.removals`).
With `repeated_spans` the table of that name cuts what stays (`corpusmill.tasks.span_cuts`).
With `validation_share` the documents of the validation split go to `curated/<dataset>/validation` instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts, count_reasons
from corpusmill.curate.apply import curated_documents
from corpusmill.curate.contamination_policy import add_cuts
from corpusmill.dedup.validation import is_validation
from corpusmill.document import DOCUMENTS
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.reading import read_batches
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import duplicates, extract, judge
from corpusmill.tasks.drops import drop_files, drop_versions, first_reasons, read_drops
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.judged import judged_texts
from corpusmill.tasks.partition_rows import partition_rows
from corpusmill.tasks.removals import read_removals, removal_files, removal_versions, withdrawn_documents
from corpusmill.tasks.span_cuts import read_spans, span_files, span_versions
from corpusmill.tasks.task import Job, Outcome, truncate_sample

_KINDS = pa.schema([pa.field("doc_id", pa.string()), pa.field("kind", pa.string())])
BYTES_PER_TOKEN = 4.0
"""For the estimate of tokens before a tokenizer has seen the text; `tokenized/` counts them."""
TRAINING, VALIDATION = "training", "validation"
VALIDATION_SPLIT = "validation_split"
"""Why a document that nothing drops is not among those to train on."""


def table(dataset: str) -> str:
    return f"curated/{dataset}/documents"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return DOCUMENTS


def inputs(job: Job) -> dict[str, Any]:
    upstream = {"extracted": extract, "verdicts": judge, "duplicates": duplicates}
    _refuse_another_split(job)
    return (
        {name: job.upstream(task.table(job.dataset)) for name, task in upstream.items()}
        | drop_versions(job)
        | span_versions(job)
        | removal_versions(job)
    )


def _refuse_another_split(job: Job) -> None:
    removed = job.lake.partition(duplicates.table(job.dataset), job.partition)
    decided = removed.state.get("validation_share", 0.0) if removed else 0.0
    asked = job.parameters.get("validation_share", 0.0)
    if removed and decided != asked:
        names = ", ".join(f"curated/{job.dataset}/{it}" for it in ("signatures", "resolution", "duplicates"))
        raise ValueError(
            f"documents take {asked:g} of the texts for validation, but duplicates of {job.partition!r} were removed in "
            f"favour of {decided:g} of them: what resembles the validation split could stay; materialize {names} again"
        )


def run(job: Job, attempt: Attempt) -> Outcome:
    return make_split(job, attempt, split=TRAINING)


def make_split(job: Job, attempt: Attempt, *, split: str) -> Outcome:
    """Write one side of the validation split."""
    removed = job.lake.files(duplicates.table(job.dataset), [job.partition])
    duplicate_files = [job.lake.store.key(file.path) for file in removed]
    removals = {"duplicates": duplicate_files, **drop_files(job), **span_files(job), **removal_files(job)}
    shards = run_on_shards(
        "corpusmill.tasks.documents:documents_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {"verdict_file": job.lake.store.key(file.path), **removals}
            for file in job.lake.files(judge.table(job.dataset), [job.partition])
        ],
        parameters={**job.parameters, "split": split},
    )
    text_bytes = sum(shard.notes.get("text_bytes", 0) for shard in shards)
    dropped = outcome_of(shards).counts.dropped
    funnel = [
        {"reason": reason, "documents": number} for reason, number in sorted(dropped.items(), key=lambda x: -x[1])
    ]
    return outcome_of(
        shards, metrics={"tokens_estimated": int(text_bytes / BYTES_PER_TOKEN)}, tables={"drop_reasons": funnel}
    )


def documents_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the DOCUMENTS that one verdict file keeps for one side of the split."""
    removed = _removed(inputs["duplicates"], context)
    drops = read_drops(inputs, parameters, context.store)
    repeated = read_spans(inputs, parameters, context.store)
    withdrawn = read_removals(inputs, context.store)
    for text_file, verdicts in judged_texts(context.store, inputs["verdict_file"]):
        for texts in read_batches(context.store, text_file):
            readable, held = _divided(texts.filter(pc.is_null(texts["failure"])), parameters)
            by_url, decisions = drops.decide(readable)
            judged = add_cuts(verdicts, decisions)
            cuts = repeated.decide(readable, judged)
            gone = withdrawn_documents(withdrawn, readable)
            reasons = _drop_reasons(readable, [verdicts, gone, by_url, decisions, removed, cuts, held])
            context.add_counts(_counts(reasons))
            edited = add_cuts(judged, cuts)
            kept = repeated.flagged(curated_documents(readable.filter(pc.is_null(reasons)), edited))
            context.note("text_bytes", pc.sum(pc.binary_length(kept["text"])).as_py() or 0)
            for row in truncate_sample(kept, columns=["doc_id", "title", "language", "license", "text"], num_rows=2):
                context.sample(row)
            yield kept


def _divided(texts: pa.Table, parameters: Mapping[str, Any]) -> tuple[pa.Table, pa.Table]:
    """Return the texts that this side of the split accounts for, and doc_id and reason of those that the other keeps.

    The funnel of training documents shows the validation split as the last reason; that of the split has only its own.
    """
    held = texts.filter(is_validation(texts["text_hash"], parameters.get("validation_share", 0.0)))
    is_own = parameters["split"] == VALIDATION
    doc_ids = held["doc_id"].slice(0, 0 if is_own else None)
    reasons = pa.array([VALIDATION_SPLIT] * len(doc_ids), pa.string())
    return held if is_own else texts, pa.table({"doc_id": doc_ids, "drop_reason": reasons})


def _removed(files: list[str], context: ShardContext) -> pa.Table:
    """Return doc_id and reason of every removed duplicate of the partition."""
    rows = partition_rows(context.store, files, _KINDS)
    reason = pc.binary_join_element_wise(rows["kind"], "duplicate", "_")
    return pa.table({"doc_id": rows["doc_id"], "drop_reason": reason})


def _drop_reasons(texts: pa.Table, tables: Sequence[pa.Table]) -> pa.ChunkedArray:
    """Return the first drop reason of each text, in its order, null where it is kept. The first table has the verdicts."""
    judged = pc.index_in(texts["doc_id"], value_set=tables[0]["doc_id"].combine_chunks())
    if judged.null_count:
        missing = texts.filter(pc.is_null(judged))["doc_id"][0].as_py()
        raise ValueError(f"document {missing} has no verdict; materialize the verdicts of its partition again")
    return first_reasons(texts, tables)


def _counts(reasons: pa.ChunkedArray) -> Counts:
    found = count_reasons(reasons)
    return Counts(rows_in=len(reasons), kept=len(reasons) - sum(found.values()), dropped=found)
