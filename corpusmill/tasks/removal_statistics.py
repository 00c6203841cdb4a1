"""What deduplication did to one snapshot: its sources before and after, and what it missed or removed wrongly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup import estimates
from corpusmill.dedup.estimates import Pair, Recheck, wilson_interval
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.statistics import DOCUMENT_COLUMNS, RetentionGuard, guard_failures, meaning, source_rows
from corpusmill.dedup.texts import stored_texts
from corpusmill.tasks import sign
from corpusmill.tasks.task import Gate, Job


@dataclass(frozen=True, kw_only=True)
class RemovalStatistics:
    metrics: Mapping[str, float | str]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    gates: Mapping[str, Gate]


def snapshot_statistics(
    job: Job, removed: pa.Table, *, parameters: DedupParameters, guard: RetentionGuard
) -> RemovalStatistics:
    """Count and estimate for the job's snapshot; `removed` are its rows of the resolution."""
    documents = _signatures(job, [job.partition], DOCUMENT_COLUMNS)
    sources = source_rows(documents, removed["doc_id"], shingle_size=parameters.shingle_size)
    num_documents = sum(row["documents_in"] for row in sources)
    read_texts = stored_texts(job.lake.store)
    pairs = estimates.sample_pairs(
        _signatures(job, [job.partition], estimates.SAMPLE_COLUMNS),
        num_documents=num_documents,
        parameters=parameters,
        read_texts=read_texts,
    )
    sampled = estimates.sample_removals(removed)
    rechecks = estimates.recheck_removals(
        sampled, _text_files(job, sampled), parameters=parameters, read_texts=read_texts
    )
    failures = guard_failures(sources, guard)
    return RemovalStatistics(
        metrics={
            **meaning(parameters),
            "shingle": parameters.shingle,
            "shingle_tokens_in": sum(row["shingle_tokens_in"] for row in sources),
            "shingle_tokens_kept": sum(row["shingle_tokens_kept"] for row in sources),
            **_missed(pairs, removed, parameters),
            **_wrong(rechecks),
        },
        tables={"sources": sources, "s_curve_measured": estimates.measured_curve(pairs, parameters) if pairs else []},
        gates={
            "source_retention": Gate(passed=not failures, message="; ".join(failures) or "held"),
            "removals_rechecked": _recheck_gate(rechecks),
        },
    )


def _missed(pairs: Sequence[Pair], removed: pa.Table, parameters: DedupParameters) -> dict[str, float]:
    number, num_sampled = estimates.missed_pairs(pairs, removed["doc_id"], parameters.threshold)
    num_near = sum(pair.jaccard >= parameters.threshold for pair in pairs)
    share = wilson_interval(num_sampled, num_near)
    return {
        "pairs_sampled": num_near,
        "pairs_missed_share": share.estimate,
        "pairs_missed_share_low": share.low,
        "pairs_missed_share_high": share.high,
        "pairs_missed": number.estimate,
        "pairs_missed_low": number.low,
        "pairs_missed_high": number.high,
    }


def _wrong(rechecks: Sequence[Recheck]) -> dict[str, float]:
    share = wilson_interval(sum(not it.is_right for it in rechecks), len(rechecks))
    return {
        "removals_rechecked": len(rechecks),
        "removals_wrong_share": share.estimate,
        "removals_wrong_share_low": share.low,
        "removals_wrong_share_high": share.high,
    }


def _recheck_gate(rechecks: Sequence[Recheck]) -> Gate:
    wrong = [it for it in rechecks if not it.is_right]
    message = "; ".join(f"{it.doc_id} and {it.duplicate_of} have a Jaccard of {it.jaccard:.3f}" for it in wrong[:5])
    return Gate(
        passed=not wrong,
        message=f"not duplicates: {message}; materialize the resolution again" if wrong else f"{len(rechecks)} held",
    )


def _signatures(job: Job, partitions: Sequence[str], columns: Sequence[str]) -> Iterator[pa.Table]:
    for batch in job.lake.scan(sign.table(job.dataset), partitions=list(partitions), columns=list(columns)):
        yield pa.Table.from_batches([batch])


def _text_files(job: Job, removals: pa.Table) -> dict[str, str]:
    """Return where the texts of some removals and of what they duplicate lie, out of the snapshots that they name."""
    wanted = pa.chunked_array(removals["doc_id"].chunks + removals["duplicate_of"].chunks, pa.string()).combine_chunks()
    snapshots = sorted({*removals["snapshot"].to_pylist(), *removals["duplicate_of_snapshot"].to_pylist()})
    found: dict[str, str] = {}
    for rows in _signatures(job, snapshots, ("doc_id", "text_file")) if snapshots else ():
        named = rows.filter(pc.is_in(rows["doc_id"], value_set=wanted))
        found.update(zip(named["doc_id"].to_pylist(), named["text_file"].to_pylist(), strict=True))
    return found
