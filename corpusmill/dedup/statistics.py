"""What a resolution did, in numbers: scalars that plot over partitions, small tables, and the retention gate.

Documents come in as narrow tables (DOCUMENT_COLUMNS), one after the other; memory is that of the documents that the
resolution names. Shingle tokens are what shingles are made of, not a tokenizer's tokens; documents below the shingle width
count none.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.evidence import HISTOGRAM_BINS, Evidence
from corpusmill.dedup.parameters import DedupParameters, candidate_probability
from corpusmill.dedup.resolve import KINDS, Resolved

DOCUMENT_COLUMNS = ("doc_id", "snapshot", "source", "num_shingles")
UNKNOWN_SOURCE = "unknown"
MAX_PLACES = 20
OTHERS = "others"


@dataclass(frozen=True, kw_only=True)
class RetentionGuard:
    """The gate: no source of some size may lose more than a share of its documents."""

    max_removed_share: float = 0.9
    min_documents: int = 100
    """Sources with fewer documents are not judged."""

    def __post_init__(self) -> None:
        if not 0 <= self.max_removed_share <= 1:
            raise ValueError(f"max_removed_share must lie in [0, 1], got {self.max_removed_share}")


@dataclass(frozen=True, kw_only=True)
class Statistics:
    scalars: dict[str, float]
    """Flat numbers for the asset."""
    tables: dict[str, list[dict[str, Any]]]
    """Small tables for the asset: sources, source_overlap, cluster_sizes, jaccard_histogram, s_curve."""
    gate_failures: list[str]


@dataclass(kw_only=True)
class _Ledger:
    documents: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    removed_documents: Counter[str] = field(default_factory=Counter)
    removed_tokens: Counter[str] = field(default_factory=Counter)
    below_width: int = 0
    source_of: dict[str, str] = field(default_factory=dict)
    """Sources of the documents that the resolution names."""


def summarize(
    resolved: Resolved,
    evidence: Evidence,
    documents: Iterable[pa.Table],
    *,
    parameters: DedupParameters,
    guard: RetentionGuard,
) -> Statistics:
    """Return scalars, tables and gate failures for what was resolved among `documents`."""
    resolution = resolved.table
    ledger = _read_ledger(documents, resolution, parameters.shingle_size)
    sources = _sources(ledger)
    return Statistics(
        scalars=_scalars(ledger, resolved) | _effort(evidence, resolution) | meaning(parameters),
        tables={
            "sources": sources,
            "source_overlap": _overlap(*_sources_of(resolution, ledger.source_of), "source"),
            "snapshot_overlap": _overlap(resolution["snapshot"], resolution["duplicate_of_snapshot"], "snapshot"),
            "cluster_sizes": _size_histogram(resolved.cluster_sizes),
            "jaccard_histogram": _jaccard_histogram(evidence.histogram),
            "s_curve": _s_curve(parameters),
        },
        gate_failures=guard_failures(sources, guard),
    )


def source_rows(documents: Iterable[pa.Table], removed: pa.ChunkedArray, *, shingle_size: int) -> list[dict[str, Any]]:
    """Return, by source, documents and tokens before and after the documents with the ids `removed` are."""
    ledger = _Ledger()
    for table in documents:
        _enter(_with_tokens(table, shingle_size), removed, ledger)
    return _sources(ledger)


def guard_failures(sources: Sequence[Mapping[str, Any]], guard: RetentionGuard) -> list[str]:
    """Return what is wrong with each source that loses more than the guard allows."""
    return [
        f"source {row['source']} loses {row['removed_share']:.1%} of its {row['documents_in']} documents, at most "
        f"{guard.max_removed_share:.1%} may go: look at source_overlap and cluster_sizes, then raise the share or "
        "change shingles or threshold"
        for row in sources
        if row["documents_in"] >= guard.min_documents and row["removed_share"] > guard.max_removed_share
    ]


def meaning(parameters: DedupParameters) -> dict[str, float]:
    """Return what the threshold meant here: the same .7 removes different documents under other shingles and bands."""
    return {
        "shingle_size": parameters.shingle_size,
        "num_bands": parameters.num_bands,
        "rows_per_band": parameters.rows_per_band,
        "jaccard_threshold": parameters.threshold,
        "candidate_probability_at_threshold": candidate_probability(parameters.threshold, parameters),
    }


def _read_ledger(documents: Iterable[pa.Table], resolution: pa.Table, shingle_size: int) -> _Ledger:
    ledger = _Ledger()
    removed = resolution.column("doc_id")
    named = pa.chunked_array(removed.chunks + resolution.column("duplicate_of").chunks, pa.string()).unique()
    for table in documents:
        narrow = _with_tokens(table, shingle_size)
        _enter(narrow, removed, ledger)
        known = narrow.filter(pc.is_in(narrow.column("doc_id"), named))
        pairs = zip(known.column("doc_id").to_pylist(), known.column("source").to_pylist(), strict=True)
        ledger.source_of.update(pairs)
    return ledger


def _enter(narrow: pa.Table, removed: pa.ChunkedArray, ledger: _Ledger) -> None:
    """Count the documents of a table and those of them that are removed."""
    ledger.below_width += pc.sum(pc.equal(narrow.column("num_shingles"), 0)).as_py() or 0
    _count(narrow, ledger.documents, ledger.tokens)
    gone = narrow.filter(pc.is_in(narrow.column("doc_id"), removed))
    _count(gone, ledger.removed_documents, ledger.removed_tokens)


def _with_tokens(table: pa.Table, shingle_size: int) -> pa.Table:
    """Return doc_id, source, num_shingles and num_tokens; a table without sources gets one unknown source."""
    source = table.column("source") if "source" in table.column_names else pa.nulls(len(table), pa.string())
    shingles = table.column("num_shingles").cast(pa.int64())
    tokens = pc.if_else(pc.equal(shingles, 0), 0, pc.add(shingles, shingle_size - 1))
    return pa.table(
        {
            "doc_id": table.column("doc_id").cast(pa.string()),
            "source": pc.fill_null(source.cast(pa.string()), UNKNOWN_SOURCE),
            "num_shingles": shingles,
            "num_tokens": tokens,
        }
    )


def _count(table: pa.Table, documents: Counter[str], tokens: Counter[str]) -> None:
    """Add the documents and tokens of each source to two counters."""
    for row in table.group_by("source").aggregate([([], "count_all"), ("num_tokens", "sum")]).to_pylist():
        documents[row["source"]] += row["count_all"]
        tokens[row["source"]] += row["num_tokens_sum"]


def _sources(ledger: _Ledger) -> list[dict[str, Any]]:
    rows = []
    for source in sorted(ledger.documents):
        documents = ledger.documents[source]
        removed = ledger.removed_documents[source]
        rows.append(
            {
                "source": source,
                "documents_in": documents,
                "documents_kept": documents - removed,
                "shingle_tokens_in": ledger.tokens[source],
                "shingle_tokens_kept": ledger.tokens[source] - ledger.removed_tokens[source],
                "removed_share": removed / documents,
            }
        )
    return rows


def _scalars(ledger: _Ledger, resolved: Resolved) -> dict[str, float]:
    num_removed = len(resolved.table)
    kinds = Counter(resolved.table.column("kind").to_pylist())
    documents = ledger.documents.total()
    tokens = ledger.tokens.total()
    return {
        "documents_in": documents,
        "documents_kept": documents - num_removed,
        **{f"documents_removed_{kind}": kinds[kind] for kind in KINDS},
        "documents_below_shingle_width": ledger.below_width,
        "shingle_tokens_in": tokens,
        "shingle_tokens_kept": tokens - ledger.removed_tokens.total(),
        "removed_share": num_removed / documents if documents else 0.0,
        "clusters": len(resolved.cluster_sizes),
        "largest_cluster": int(resolved.cluster_sizes.max(initial=0)),
    }


def _effort(evidence: Evidence, resolution: pa.Table) -> dict[str, float]:
    return {
        "candidate_pairs": evidence.candidate_pairs,
        "compared_pairs": evidence.compared_pairs,
        "verified_pairs": len(evidence.edges),
        "skipped_over_limit": evidence.candidate_pairs - evidence.compared_pairs,
        "skipped_in_hot_buckets": evidence.skipped_in_hot_buckets,
        "hot_buckets": evidence.hot_buckets,
        "largest_hot_bucket": evidence.largest_hot_bucket,
        "lowest_jaccard_removed": pc.min(resolution.column("jaccard")).as_py() or 0.0,
    }


def _size_histogram(cluster_sizes: np.ndarray) -> list[dict[str, Any]]:
    """Count clusters and their documents by size, in classes that grow by twos: 2 to 3, 4 to 7 and so on."""
    rows = []
    for power in range(1, int(cluster_sizes.max(initial=1)).bit_length()):
        first = 1 << power
        mine = cluster_sizes[(cluster_sizes >= first) & (cluster_sizes < 2 * first)]
        rows.append({"size": f"{first} to {2 * first - 1}", "clusters": len(mine), "documents": int(mine.sum())})
    return rows


def _sources_of(resolution: pa.Table, source_of: Mapping[str, str]) -> tuple[pa.Array, pa.Array]:
    """Return the sources of the removed documents and of those that they duplicate."""
    removed, kept = (
        pa.array([source_of[doc_id] for doc_id in resolution.column(name).to_pylist()], pa.string())
        for name in ("doc_id", "duplicate_of")
    )
    return removed, kept


def _overlap(removed: pa.ChunkedArray | pa.Array, kept: pa.ChunkedArray | pa.Array, name: str) -> list[dict[str, Any]]:
    """Count the removed documents of each place by that of the kept one; beyond MAX_PLACES they are OTHERS."""
    grouped = pa.table({"removed": removed, "kept": kept}).group_by(["removed", "kept"]).aggregate([([], "count_all")])
    cells = [tuple(row[column] for column in ("removed", "kept", "count_all")) for row in grouped.to_pylist()]
    totals: Counter[str] = Counter()
    for one, other, number in cells:
        totals[one] += number
        totals[other] += number
    largest = {place for place, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:MAX_PLACES]}
    counts: Counter[tuple[str, str]] = Counter()
    for one, other, number in cells:
        counts[one if one in largest else OTHERS, other if other in largest else OTHERS] += number
    return [{name: one, f"duplicate_of_{name}": other, "documents": n} for (one, other), n in sorted(counts.items())]


def _jaccard_histogram(histogram: Mapping[int, int]) -> list[dict[str, Any]]:
    width = 1 / HISTOGRAM_BINS
    return [
        {
            "from": round(place * width, 2),
            "to": round((place + 1) * width, 2),
            "compared_pairs": histogram.get(place, 0),
        }
        for place in range(HISTOGRAM_BINS)
    ]


def _s_curve(parameters: DedupParameters) -> list[dict[str, Any]]:
    points = [step / 20 for step in range(21)]
    return [{"jaccard": s, "candidate_probability": candidate_probability(s, parameters)} for s in points]
