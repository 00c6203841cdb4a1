"""What deduplication did to one snapshot: its sources before and after, and what it missed or removed wrongly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from corpusmill.dedup import estimates
from corpusmill.dedup.estimates import Pair, Recheck, wilson_interval
from corpusmill.dedup.ledger import DOCUMENT_COLUMNS, count_documents
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.statistics import RetentionGuard, guard_failures, meaning, source_rows
from corpusmill.dedup.texts import stored_texts
from corpusmill.tasks import bands, sign
from corpusmill.tasks.band_files import BandFiles
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
    documents = _signatures(job, DOCUMENT_COLUMNS)
    sources = source_rows(count_documents(documents, removed, shingle_size=parameters.shingle_size))
    num_documents = sum(row["documents_in"] for row in sources)
    read_texts = stored_texts(job.lake.store)
    pairs = estimates.sample_pairs(
        _signatures(job, estimates.SAMPLE_COLUMNS),
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


def _signatures(job: Job, columns: Sequence[str]) -> Iterator[pa.Table]:
    for batch in job.lake.scan(sign.table(job.dataset), partitions=[job.partition], columns=list(columns)):
        yield pa.Table.from_batches([batch])


def _text_files(job: Job, removals: pa.Table) -> dict[str, str]:
    """Return where the texts of some removals and of what they duplicate lie; what is not signed any more is left out."""
    wanted = pa.chunked_array(removals["doc_id"].chunks + removals["duplicate_of"].chunks, pa.string()).combine_chunks()
    named = {*removals["snapshot"].to_pylist(), *removals["duplicate_of_snapshot"].to_pylist()}
    files = BandFiles(job.lake, job.dataset, sorted(named & job.lake.partitions(bands.table(job.dataset)).keys()))
    found: dict[str, str] = {}
    for snapshot in files.snapshots:
        rows = files.find(snapshot, wanted, ["doc_id", "text_file"])
        found.update(zip(rows["doc_id"].to_pylist(), rows["text_file"].to_pylist(), strict=True))
    return found
