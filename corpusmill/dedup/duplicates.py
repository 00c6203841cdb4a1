"""The front door: signature tables in, who duplicates whom and the statistics out, with any finder of evidence."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from corpusmill.dedup.evidence import Evidence, Ranking, ReadTexts, rank_snapshots
from corpusmill.dedup.in_memory import gather_evidence
from corpusmill.dedup.ledger import count_documents
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.resolve import resolve
from corpusmill.dedup.statistics import RetentionGuard, Statistics, summarize
from corpusmill.dedup.verify import MapCalls
from corpusmill.document import SIGNATURES

ReadDocuments = Callable[[], Iterable[pa.Table]]
"""Starts a pass over the narrow columns of all signature tables (see `ledger.DOCUMENT_COLUMNS`)."""
CountDocuments = Callable[[pa.Table], pa.Table]
"""From the rows of a resolution to the LEDGER of all documents."""
FindEvidence = Callable[[Ranking], Evidence]


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """Who is removed in favour of whom, and what that did."""

    table: pa.Table
    """document.RESOLUTION, sorted by doc_id."""
    statistics: Statistics


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """What a person may set beside the parameters."""

    snapshot_order: Sequence[str] | None = None
    """All snapshots, oldest first; without it the order of their names."""
    guard: RetentionGuard = field(default_factory=RetentionGuard)


def find_duplicates(
    signatures: Sequence[pa.Table],
    *,
    parameters: DedupParameters,
    read_texts: ReadTexts,
    preferences: Preferences | None = None,
    map_calls: MapCalls = map,
) -> Resolution:
    """Resolve signature tables in memory. The order of tables and rows does not matter, nor how calls are made."""

    def find(ranking: Ranking) -> Evidence:
        whole = pa.concat_tables([SIGNATURES.empty_table(), *signatures], promote_options="permissive")
        return gather_evidence(
            whole, ranking=ranking, parameters=parameters, read_texts=read_texts, map_calls=map_calls
        )

    return resolve_documents(lambda: signatures, find, parameters=parameters, preferences=preferences or Preferences())


def resolve_documents(
    read_documents: ReadDocuments, find: FindEvidence, *, parameters: DedupParameters, preferences: Preferences
) -> Resolution:
    """Rank the snapshots, find the evidence, resolve it and count."""
    present: set[str] = set()
    for table in read_documents():
        present.update(table.column("snapshot").unique().to_pylist())
    ranking = rank_snapshots(sorted(present), parameters=parameters, order=preferences.snapshot_order)

    def count(removals: pa.Table) -> pa.Table:
        return count_documents(read_documents(), removals, shingle_size=parameters.shingle_size)

    return resolve_evidence(find(ranking), ranking, count, parameters=parameters, preferences=preferences)


def resolve_evidence(
    evidence: Evidence,
    ranking: Ranking,
    count: CountDocuments,
    *,
    parameters: DedupParameters,
    preferences: Preferences,
) -> Resolution:
    """Resolve evidence and count what that does to the documents."""
    resolved = resolve(evidence, ranking)
    ledger = count(resolved.table)
    statistics = summarize(resolved, evidence, ledger, parameters=parameters, guard=preferences.guard)
    return Resolution(table=resolved.table, statistics=statistics)
