"""synthesized/<dataset>/duplicates: accepted documents that repeat their seed, or another document of their partition.

One shard a file of documents compares them with their seeds (kind `seed`); what is left is then compared with one
another (`exact`, `near`): a generator that says the same thing over and over shows as clusters, and fails the gate. Memory:
the signatures of the partition's accepted documents where the engine is plain or they are FEW, else as on Spark.

Parameters: `dedup` (DedupParameters), and `seed_threshold`, the Jaccard to a seed from which a document goes, or null where
documents are meant to be like their seeds.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.counts import Counts
from corpusmill.dedup.duplicates import Resolution, find_duplicates
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import sign
from corpusmill.dedup.synthetic import SEED, seed_duplicates
from corpusmill.dedup.texts import stored_texts
from corpusmill.document import DUPLICATES
from corpusmill.engines import spark_dedup
from corpusmill.engines.shard import ShardContext
from corpusmill.engines.spark import SparkEngine
from corpusmill.lake.reading import read_batches, read_rows
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import accept
from corpusmill.tasks.engine import curation_engine, outcome_of, run_on_shards
from corpusmill.tasks.seeds import seed_snapshot, seed_table
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer, truncate_sample

FEW = 1_000
"""Accepted documents up to which they are compared in this process: Spark finds the same, seconds later."""
SHOWN = ("doc_id", "duplicate_of", "kind", "jaccard")
SEED_COLUMNS = ("doc_id", "snapshot", "text")
OUTPUT_COLUMNS = ("doc_id", "source", "snapshot", "text_hash", "parent_ids", "reject_reason", "text")


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/duplicates"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return DUPLICATES


def inputs(job: Job) -> dict[str, Any]:
    return {
        "documents": job.upstream(accept.table(job.dataset)),
        "seeds": job.upstream(seed_table(job), seed_snapshot(job)),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    parameters = DedupParameters.from_json(job.parameters["dedup"])
    documents = [job.lake.store.key(file.path) for file in job.lake.files(accept.table(job.dataset), [job.partition])]
    seeds = [job.lake.store.key(file.path) for file in job.lake.files(seed_table(job), [seed_snapshot(job)])]
    shards = run_on_shards(
        "corpusmill.tasks.synthesized_duplicates:compare_with_seeds",
        job=job,
        attempt=attempt,
        inputs=[{"documents_file": file, "seed_files": seeds} for file in documents],
        parameters={"dedup": parameters.to_json(), "seed_threshold": job.parameters["seed_threshold"]},
    )
    of_seeds = outcome_of(shards)
    gone = _ids_of([read_rows(job.lake.store, file.path) for file in of_seeds.files])
    resolution = _compare_with_one_another(job, attempt, _signatures(job, documents, gone, parameters), parameters)
    with partition_writer(job, attempt, name="repeated") as writer:
        writer.write(resolution.table.select(DUPLICATES.names))
    statistics = resolution.statistics
    failures = statistics.gate_failures
    repeated = truncate_sample(resolution.table, columns=SHOWN, num_rows=5)
    return replace(
        of_seeds,
        files=[*of_seeds.files, *writer.files],
        counts=_and_repeated(of_seeds.counts, resolution.table),
        metrics={**of_seeds.metrics, **statistics.scalars, "shingle": parameters.shingle},
        tables={name: statistics.tables[name] for name in ("sources", "cluster_sizes")},
        samples=[*of_seeds.samples, *repeated],
        gates={"collapse": Gate(passed=not failures, message="; ".join(failures) or "held")},
    )


def compare_with_seeds(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the accepted documents of one file that are near-duplicates of their seeds."""
    accepted = _accepted(read_rows(context.store, inputs["documents_file"], columns=OUTPUT_COLUMNS))
    found = DUPLICATES.empty_table()
    if parameters["seed_threshold"] is not None:
        rules = replace(DedupParameters.from_json(parameters["dedup"]), threshold=parameters["seed_threshold"])
        found = seed_duplicates(accepted, _seeds(context, inputs["seed_files"]), parameters=rules)
    dropped = {f"{SEED}_duplicate": len(found)} if len(found) else {}
    context.add_counts(Counts(rows_in=len(accepted), kept=len(accepted) - len(found), dropped=dropped))
    for row in truncate_sample(found, columns=SHOWN):
        context.sample(row)
    yield found


def _seeds(context: ShardContext, files: Sequence[str]) -> Iterator[pa.Table]:
    for file in files:
        yield from read_batches(context.store, file, columns=SEED_COLUMNS)


def _accepted(documents: pa.Table) -> pa.Table:
    return documents.filter(pc.is_null(documents["reject_reason"]))


def _ids_of(parts: Sequence[pa.Table]) -> pa.Array:
    return pa.concat_tables([DUPLICATES.empty_table(), *parts], promote_options="permissive")["doc_id"].combine_chunks()


def _signatures(job: Job, files: Sequence[str], gone: pa.Array, parameters: DedupParameters) -> Iterator[pa.Table]:
    for file in files:
        for batch in read_batches(job.lake.store, file, columns=OUTPUT_COLUMNS):
            left = _accepted(batch)
            left = left.filter(pc.invert(pc.is_in(left["doc_id"], value_set=gone)))
            yield sign(left.append_column("text_file", pa.array([file] * len(left), pa.string())), parameters.to_json())


def _compare_with_one_another(
    job: Job, attempt: Attempt, signatures: Iterator[pa.Table], parameters: DedupParameters
) -> Resolution:
    first = _first(signatures, FEW)
    if sum(len(part) for part in first) > FEW:
        with curation_engine(job) as engine:
            if isinstance(engine, SparkEngine):
                files = list(_staged(job, attempt, chain(first, signatures)))
                return spark_dedup.find_duplicates(engine.session, files, parameters=parameters, store=job.lake.store)
    return find_duplicates([*first, *signatures], parameters=parameters, read_texts=stored_texts(job.lake.store))


def _first(parts: Iterator[pa.Table], num_rows: int) -> list[pa.Table]:
    """Take parts until they have more than `num_rows` rows, or there are no more."""
    taken: list[pa.Table] = []
    while sum(len(part) for part in taken) <= num_rows and (part := next(parts, None)) is not None:
        taken.append(part)
    return taken


def _staged(job: Job, attempt: Attempt, signatures: Iterator[pa.Table]) -> Iterator[str]:
    """Write signatures where Spark's tasks read them, and yield their files; later attempts write the same bytes."""
    for number, part in enumerate(signatures):
        buffer = io.BytesIO()
        pq.write_table(part, buffer)
        key = f"{attempt.staging}/signatures-{number:06d}.parquet"
        job.lake.store.write(key, buffer.getvalue())
        yield job.lake.store.uri(key)


def _and_repeated(counts: Counts, repeated: pa.Table) -> Counts:
    kinds = pc.value_counts(repeated["kind"]).to_pylist()
    dropped = {**counts.dropped, **{f"{item['values']}_duplicate": item["counts"] for item in kinds}}
    return Counts(rows_in=counts.rows_in, kept=counts.kept - len(repeated), dropped=dropped)
