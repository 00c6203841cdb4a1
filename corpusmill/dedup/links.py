"""Evidence as it is kept: the links of each snapshot's documents to better ones, and what finding them took.

What new documents find is added to what is known; ranked oldest first, nothing known changes by it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.evidence import EDGES, EXACT, Evidence, Ranking
from corpusmill.dedup.ledger import KEPT_SOURCES

LINKS = pa.schema(
    [
        pa.field("worse", pa.string(), nullable=False),
        pa.field("ordinal", pa.int64()),
        pa.field("better", pa.string()),
        pa.field("jaccard", pa.float64()),
        pa.field("shared_bands", pa.int32()),
        pa.field("better_source", pa.string()),
    ]
)
"""Of one snapshot's documents, by member names: each verified edge to a better one, or (without a Jaccard) the best one of
equal text. Only such a copy has its ordinal. `better_source` is the source of the better one.

A document without a better one is named by a removal: it takes part in nothing.
"""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What finding evidence took (see `Evidence`)."""

    candidate_pairs: int = 0
    compared_pairs: int = 0
    histogram: Mapping[int, int] = field(default_factory=dict)
    hot_buckets: int = 0
    largest_hot_bucket: int = 0
    skipped_in_hot_buckets: int = 0

    def plus(self, later: "Effort") -> "Effort":
        """Return what both took together."""
        bins = sorted({*self.histogram, *later.histogram})
        return Effort(
            candidate_pairs=self.candidate_pairs + later.candidate_pairs,
            compared_pairs=self.compared_pairs + later.compared_pairs,
            histogram={place: self.histogram.get(place, 0) + later.histogram.get(place, 0) for place in bins},
            hot_buckets=self.hot_buckets + later.hot_buckets,
            largest_hot_bucket=max(self.largest_hot_bucket, later.largest_hot_bucket),
            skipped_in_hot_buckets=self.skipped_in_hot_buckets + later.skipped_in_hot_buckets,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"histogram": {str(place): number for place, number in self.histogram.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "histogram": {int(place): number for place, number in value["histogram"].items()}})


def effort_of(evidence: Evidence) -> Effort:
    return Effort(**{item.name: getattr(evidence, item.name) for item in fields(Effort)})


def links_to_evidence(links: Iterable[pa.Table], effort: Effort) -> Evidence:
    """Return the evidence that the links of all snapshots hold."""
    every = pa.concat_tables([LINKS.empty_table(), *links])
    every = every.filter(pc.is_valid(every.column("better")))
    is_edge = pc.is_valid(every.column("jaccard"))
    return Evidence(
        exact=every.filter(pc.invert(is_edge)).select(EXACT.names).cast(EXACT).combine_chunks(),
        edges=every.filter(is_edge).select(EDGES.names).cast(EDGES).combine_chunks(),
        **{item.name: getattr(effort, item.name) for item in fields(effort)},
    )


def linked_sources(links: Iterable[pa.Table], ranking: Ranking) -> pa.Table:
    """Return KEPT_SOURCES: those of the better documents of some links."""
    every = pa.concat_tables([LINKS.empty_table(), *links]).select(["better", "better_source"])
    once = every.filter(pc.is_valid(every.column("better"))).group_by(every.column_names).aggregate([])
    named = ranking.split_all(once.column("better").combine_chunks())
    return pa.table([named.column("doc_id"), once.column("better_source")], schema=KEPT_SOURCES)


def evidence_to_links(evidence: Evidence, ranking: Ranking, members: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the links of the documents of every snapshot; `members` are doc_id and source of each snapshot's, by ordinal."""
    parts = [link_table(evidence.exact), link_table(evidence.edges)]
    every = pa.concat_tables(parts)
    sources = _sources_of(ranking.split_all(every.column("better").combine_chunks()).column("doc_id"), members)
    every = every.set_column(every.schema.get_field_index("better_source"), LINKS.field("better_source"), sources)
    named = ranking.split_all(every.column("worse").combine_chunks())
    snapshots, own_ids = named.column("snapshot"), named.column("doc_id")
    place = every.schema.get_field_index("ordinal")
    found = {}
    for snapshot, rows in members.items():
        ids = rows.column("doc_id").combine_chunks()
        is_ours = pc.equal(snapshots, snapshot)
        ours = every.filter(is_ours)
        ordinals = pc.index_in(own_ids.filter(is_ours), value_set=ids).cast(pa.int64())
        copies = pc.if_else(pc.is_null(ours.column("jaccard")), ordinals, None)
        found[snapshot] = ours.set_column(place, LINKS.field(place), copies)
    return found


def link_table(links: pa.Table) -> pa.Table:
    """Return LINKS with the columns of `links`, and nulls for the others."""
    present = links.column_names
    columns = [links.column(item.name) if item.name in present else pa.nulls(len(links), item.type) for item in LINKS]
    return pa.table(columns, schema=LINKS)


def standing_apart(links: pa.Table) -> np.ndarray:
    """Return the ordinals of the documents that no bucket holds: copies, and what a removal names."""
    return np.sort(links.column("ordinal").drop_null().to_numpy())


def _sources_of(doc_ids: pa.ChunkedArray, members: Mapping[str, pa.Table]) -> pa.ChunkedArray:
    wanted = doc_ids.unique()
    parts = [rows.filter(pc.is_in(rows.column("doc_id"), value_set=wanted)) for rows in members.values()]
    told = pa.concat_tables(parts).combine_chunks()
    return told.column("source").take(pc.index_in(doc_ids, value_set=told.column("doc_id").combine_chunks()))
