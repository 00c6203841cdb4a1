"""curated/<dataset>/resolution: sees the signatures of all snapshots and decides which document duplicates which.

Unpartitioned. Its state keeps, for each snapshot, which signatures it saw and a hash of that snapshot's decisions, so that
`duplicates` is made again only where they changed.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.dedup.duplicates import Resolution, find_duplicates
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.resolve import KINDS
from corpusmill.dedup.texts import stored_texts
from corpusmill.document import DUPLICATES, RESOLUTION
from corpusmill.engines import spark_dedup
from corpusmill.engines.spark import SparkEngine
from corpusmill.fingerprint import fingerprint
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import sign
from corpusmill.tasks.engine import curation_engine
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer, truncate_sample


def table(dataset: str) -> str:
    return f"curated/{dataset}/resolution"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return RESOLUTION


def inputs(job: Job) -> dict[str, Any]:
    return {"signatures": signature_versions(job)}


def signature_versions(job: Job) -> dict[str, str]:
    """Return the content hash of every snapshot's signatures; raises when none is there."""
    job.lake.files(sign.table(job.dataset))
    return {name: state.content_hash for name, state in sorted(job.lake.partitions(sign.table(job.dataset)).items())}


def run(job: Job, attempt: Attempt) -> Outcome:
    seen = signature_versions(job)
    parameters = DedupParameters.from_json(job.parameters)
    resolution = find_resolution(job)
    with partition_writer(job, attempt, name="resolution") as writer:
        writer.write(resolution.table)
    statistics = resolution.statistics
    kinds = {kind: int(statistics.scalars[f"documents_removed_{kind}"]) for kind in KINDS}
    return Outcome(
        files=writer.files,
        counts=_counts(int(statistics.scalars["documents_in"]), kinds),
        metrics={**statistics.scalars, "shingle": parameters.shingle},
        tables=statistics.tables,
        samples=truncate_sample(resolution.table, columns=["doc_id", "duplicate_of", "kind", "jaccard"], num_rows=10),
        gates={
            "retention": Gate(
                passed=not statistics.gate_failures, message="; ".join(statistics.gate_failures) or "held"
            )
        },
        state={
            "signatures": seen,
            "snapshots": _decisions(resolution.table),
            "parameters": parameters.to_json(),
        },
    )


def find_resolution(job: Job) -> Resolution:
    """Resolve all snapshots: candidates and verification on Spark, or in memory where the engine is plain."""
    parameters = DedupParameters.from_json(job.parameters)
    with curation_engine(job) as engine:
        if isinstance(engine, SparkEngine):
            files = [file.path for file in job.lake.files(sign.table(job.dataset))]
            return spark_dedup.find_duplicates(engine.session, files, parameters=parameters, store=job.lake.store)
    return find_duplicates(
        [job.lake.read(sign.table(job.dataset))], parameters=parameters, read_texts=stored_texts(job.lake.store)
    )


def _counts(documents_in: int, kinds: Mapping[str, int]) -> Counts:
    dropped = {f"{kind}_duplicate": number for kind, number in kinds.items() if number}
    return Counts(rows_in=documents_in, kept=documents_in - sum(dropped.values()), dropped=dropped)


def _decisions(resolution: pa.Table) -> dict[str, str]:
    """Return a hash of the decisions about each snapshot; `resolution` is sorted by doc_id."""
    decisions = resolution.select(DUPLICATES.names)
    snapshots = pc.unique(decisions["snapshot"]).to_pylist()
    return {
        name: fingerprint(decisions.filter(pc.equal(decisions["snapshot"], name)).to_pylist()) for name in snapshots
    }
