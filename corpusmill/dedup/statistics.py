"""What a resolution did, in numbers: scalars that plot over partitions, small tables, and the retention gate.

Documents come in as a ledger (see `corpusmill.dedup.ledger`): its shingle tokens are not a tokenizer's tokens.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.evidence import HISTOGRAM_BINS, Evidence
from corpusmill.dedup.parameters import DedupParameters, candidate_probability
from corpusmill.dedup.resolve import KINDS, Resolved

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
    ledger: pa.Table
    """What was counted: LEDGER."""


def summarize(
    resolved: Resolved,
    evidence: Evidence,
    ledger: pa.Table,
    *,
    parameters: DedupParameters,
    guard: RetentionGuard,
) -> Statistics:
    """Return scalars, tables and gate failures for what was resolved among the documents that the LEDGER counts."""
    resolution = resolved.table
    sources = source_rows(ledger)
    return Statistics(
        scalars=_scalars(ledger, resolved) | _effort(evidence, resolution) | meaning(parameters),
        tables={
            "sources": sources,
            "source_overlap": _overlap(_source_cells(ledger), "source"),
            "snapshot_overlap": _overlap(_snapshot_cells(resolution), "snapshot"),
            "cluster_sizes": _size_histogram(resolved.cluster_sizes),
            "jaccard_histogram": _jaccard_histogram(evidence.histogram),
            "s_curve": _s_curve(parameters),
        },
        gate_failures=guard_failures(sources, guard),
        ledger=ledger,
    )


def source_rows(ledger: pa.Table) -> list[dict[str, Any]]:
    """Return, by source, documents and tokens before and after."""
    documents, tokens, removed_documents, removed_tokens = (Counter[str]() for _ in range(4))
    for row in ledger.to_pylist():
        documents[row["source"]] += row["documents"]
        tokens[row["source"]] += row["shingle_tokens"]
        if row["duplicate_of_source"] is not None:
            removed_documents[row["source"]] += row["documents"]
            removed_tokens[row["source"]] += row["shingle_tokens"]
    return [
        {
            "source": source,
            "documents_in": documents[source],
            "documents_kept": documents[source] - removed_documents[source],
            "shingle_tokens_in": tokens[source],
            "shingle_tokens_kept": tokens[source] - removed_tokens[source],
            "removed_share": removed_documents[source] / documents[source],
        }
        for source in sorted(documents)
    ]


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


def _scalars(ledger: pa.Table, resolved: Resolved) -> dict[str, float]:
    num_removed = len(resolved.table)
    kinds = Counter(resolved.table.column("kind").to_pylist())
    stays = ledger.filter(pc.is_null(ledger.column("duplicate_of_source")))
    documents = _total(ledger, "documents")
    return {
        "documents_in": documents,
        "documents_kept": documents - num_removed,
        **{f"documents_removed_{kind}": kinds[kind] for kind in KINDS},
        "documents_below_shingle_width": _total(ledger, "below_width"),
        "shingle_tokens_in": _total(ledger, "shingle_tokens"),
        "shingle_tokens_kept": _total(stays, "shingle_tokens"),
        "removed_share": num_removed / documents if documents else 0.0,
        "clusters": len(resolved.cluster_sizes),
        "largest_cluster": int(resolved.cluster_sizes.max(initial=0)),
    }


def _total(ledger: pa.Table, column: str) -> int:
    return pc.sum(ledger.column(column)).as_py() or 0


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


def _source_cells(ledger: pa.Table) -> list[tuple[str, str, int]]:
    """Return the sources of removed documents and of those that they duplicate, with their numbers."""
    rows = ledger.filter(pc.is_valid(ledger.column("duplicate_of_source"))).to_pylist()
    return [(row["source"], row["duplicate_of_source"], row["documents"]) for row in rows]


def _snapshot_cells(resolution: pa.Table) -> list[tuple[str, str, int]]:
    places = resolution.select(["snapshot", "duplicate_of_snapshot"])
    rows = places.group_by(places.column_names).aggregate([([], "count_all")]).to_pylist()
    return [(row["snapshot"], row["duplicate_of_snapshot"], row["count_all"]) for row in rows]


def _overlap(cells: Sequence[tuple[str, str, int]], name: str) -> list[dict[str, Any]]:
    """Count the removed documents of each place by that of the kept one; beyond MAX_PLACES they are OTHERS."""
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
