"""curated/<dataset>/signatures: MinHash signatures of the documents that no rule dropped. One shard a verdict file.

With the parameter `drops` those that the tables `urls` and `contamination` drop have none either: who is kept of two
duplicates must not be one that goes anyway. The other parameters are DedupParameters. The band table of the same documents
is made after its commit (see `corpusmill.tasks.bands`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import SCHEMA_WITH_SOURCE, sign
from corpusmill.engines.shard import ShardContext
from corpusmill.lake.reading import read_batches
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import bands, extract, judge
from corpusmill.tasks.drops import drop_files, drop_versions, first_reasons, read_drops
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.judged import judged_texts
from corpusmill.tasks.task import Job, Outcome, execute

TEXT_COLUMNS = ("doc_id", "source", "snapshot", "text_hash", "text")


def table(dataset: str) -> str:
    return bands.signatures_table(dataset)


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return SCHEMA_WITH_SOURCE


def inputs(job: Job) -> dict[str, Any]:
    return {
        "verdicts": job.upstream(judge.table(job.dataset)),
        "extracted": job.upstream(extract.table(job.dataset)),
        **drop_versions(job),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    files = job.lake.files(judge.table(job.dataset), [job.partition])
    drops = drop_files(job)
    shards = run_on_shards(
        "corpusmill.tasks.sign:sign_shard",
        job=job,
        attempt=attempt,
        inputs=[{"verdict_file": job.lake.store.key(file.path), **drops} for file in files],
        parameters=job.parameters,
    )
    signed_with = DedupParameters.from_json(_dedup_parameters(job.parameters)).signature_fingerprint
    return outcome_of(shards, state={"signed_with": signed_with})


def after_commit(job: Job) -> None:
    """Make the band table of what was signed, unless it is there."""
    execute("bands", job.arguments(job.partition, _dedup_parameters(job.parameters)), job.report)


def sign_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield the signatures of the kept documents of one verdict file."""
    drops = read_drops(inputs, parameters, context.store)
    dedup = _dedup_parameters(parameters)
    statistic = DedupParameters.from_json(dedup).quality_statistic
    names = [statistic] if statistic else []
    for text_file, verdicts in judged_texts(context.store, inputs["verdict_file"], statistics=names):
        kept = pc.filter(verdicts["doc_id"], pc.is_null(verdicts["drop_reason"]))
        for texts in read_batches(context.store, text_file, columns=TEXT_COLUMNS):
            judged = texts.filter(pc.is_in(texts["doc_id"], value_set=kept.combine_chunks()))
            wanted = judged.filter(pc.is_null(first_reasons(judged, drops.decide(judged))))
            named = wanted.add_column(
                2, pa.field("text_file", pa.string(), nullable=False), pa.array([text_file] * len(wanted), pa.string())
            )
            if statistic:
                named = named.append_column("quality", _of_documents(named, verdicts, statistic))
            signatures = sign(named, dedup)
            context.add_counts(Counts(rows_in=len(named), kept=len(signatures)))
            context.note("shingles", pc.sum(signatures["num_shingles"]).as_py() or 0)
            yield signatures


def _dedup_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != "drops"}


def _of_documents(texts: pa.Table, verdicts: pa.Table, statistic: str) -> pa.ChunkedArray:
    places = pc.index_in(texts["doc_id"], value_set=verdicts["doc_id"].combine_chunks())
    return verdicts[statistic].take(places)
