"""curated/<dataset>/duplicates: of one snapshot, the documents that a better ranked kept document duplicates.

A guard fails the partition when its source loses more than `max_removed_share` of its documents.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.statistics import RetentionGuard
from corpusmill.document import DUPLICATES
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import resolve, sign
from corpusmill.tasks.removal_statistics import RemovalStatistics, snapshot_statistics
from corpusmill.tasks.task import UNPARTITIONED, Gate, Job, Outcome, partition_writer, truncate_sample


def table(dataset: str) -> str:
    return f"curated/{dataset}/duplicates"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return DUPLICATES


def inputs(job: Job) -> dict[str, Any]:
    job.upstream(resolve.table(job.dataset), UNPARTITIONED)
    resolution = job.lake.partition(resolve.table(job.dataset), UNPARTITIONED)
    assert resolution is not None
    decided = resolution.state["signatures"].get(job.partition)
    current = job.upstream(sign.table(job.dataset))
    if decided != current:
        raise ValueError(
            f"{resolve.table(job.dataset)} does not know this version of snapshot {job.partition!r} "
            f"(it saw {decided}, the signatures are now {current}); materialize {resolve.table(job.dataset)} first"
        )
    return {
        "signatures": current,
        "resolution": resolution.state["snapshots"].get(job.partition, "none"),
        "validation_share": _parameters(job).validation_share,
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    rows_in = sum(file.num_rows for file in job.lake.files(sign.table(job.dataset), [job.partition]))
    with partition_writer(job, attempt, name="duplicates") as writer:
        removed, sample, rows = _write_removed(job, writer)
    counts = Counts(rows_in=rows_in, kept=rows_in - sum(removed.values()), dropped=removed)
    max_removed_share = float(job.parameters["max_removed_share"])
    statistics = _statistics(job, rows, max_removed_share)
    return Outcome(
        files=writer.files,
        counts=counts,
        metrics={"duplicate_rate": round(counts.num_dropped / max(rows_in, 1), 6), **statistics.metrics},
        tables=statistics.tables,
        samples=sample,
        gates={
            "retention": retention_gate(counts, RetentionGuard(max_removed_share=max_removed_share)),
            **statistics.gates,
        },
        state={"validation_share": _parameters(job).validation_share},
    )


def _parameters(job: Job) -> DedupParameters:
    """Return those that the resolution was made with."""
    resolution = job.lake.partition(resolve.table(job.dataset), UNPARTITIONED)
    assert resolution is not None
    return DedupParameters.from_json(resolution.state["parameters"])


def _statistics(job: Job, removed: pa.Table, max_removed_share: float) -> RemovalStatistics:
    guard = RetentionGuard(max_removed_share=max_removed_share)
    return snapshot_statistics(job, removed, parameters=_parameters(job), guard=guard)


def _write_removed(job: Job, writer: ShardWriter) -> tuple[dict[str, int], list[dict[str, Any]], pa.Table]:
    parts = [DUPLICATES.empty_table()]
    removed: dict[str, int] = {}
    sample: list[dict[str, Any]] = []
    for batch in job.lake.scan(resolve.table(job.dataset), partitions=[UNPARTITIONED], columns=DUPLICATES.names):
        ours = pa.Table.from_batches([batch]).filter(pc.equal(batch["snapshot"], job.partition))
        for kind, number in _kinds(ours):
            removed[kind] = removed.get(kind, 0) + number
        if len(sample) < 10:
            sample += truncate_sample(ours, columns=["doc_id", "duplicate_of", "kind", "jaccard"], num_rows=10)
        writer.write(ours)
        parts.append(ours)
    return removed, sample, pa.concat_tables(parts)


def _kinds(rows: pa.Table) -> list[tuple[str, int]]:
    return [(f"{item['values']}_duplicate", item["counts"]) for item in pc.value_counts(rows["kind"]).to_pylist()]


def retention_gate(counts: Counts, guard: RetentionGuard) -> Gate:
    """Whether a snapshot lost too much. One of few documents may repeat all, as a recrawl of one site does: it is not judged."""
    share = counts.num_dropped / max(counts.rows_in, 1)
    return Gate(
        passed=counts.rows_in < guard.min_documents or share <= guard.max_removed_share,
        message=f"removed {share:.1%} of {counts.rows_in} documents, allowed are {guard.max_removed_share:.1%} "
        f"of {guard.min_documents} or more",
        numbers={"removed_share": share, "max_removed_share": guard.max_removed_share},
    )
