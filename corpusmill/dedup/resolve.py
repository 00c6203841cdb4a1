"""Who is a duplicate of whom: greedy against kept documents, best rank first, no chaining.

A document is removed only when it has the text of a kept document of better rank, or a verified edge to one. It names
the kept document with the highest Jaccard, ties to the better-ranked. Clusters, the connected components over the
edges, are a statistic. Cost: one pass over the sorted edges; memory grows with edges and equal texts only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill.dedup.evidence import Evidence, Ranking
from corpusmill.document import RESOLUTION

KINDS = ("exact", "near", "validation")
"""Why a document goes: it has another's text, resembles it, or is for training and resembles one of the validation split."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """The decisions, and the sizes of the clusters that they lie in."""

    table: pa.Table
    """A document.RESOLUTION row per removed document, sorted by doc_id."""
    cluster_sizes: np.ndarray[Any, np.dtype[np.int64]]
    """Documents of each connected component, kept ones included, in rising order."""


def resolve(evidence: Evidence, ranking: Ranking) -> Resolved:
    """Decide who is removed in favour of whom."""
    members = _involved(evidence)
    copy, original = _numbers(evidence.exact, members)
    worse, better = _numbers(evidence.edges, members)
    scores = evidence.edges.column("jaccard").to_numpy()
    order = np.lexsort((better, -scores, worse))
    kept_of, score_of = _remove_greedily(len(members), worse[order], better[order], scores[order])
    # Equal texts have equal shingles: what removed the original removes its copies, at the same Jaccard.
    is_original_kept = kept_of[original] < 0
    kept_of[copy] = np.where(is_original_kept, original, kept_of[original])
    score_of[copy] = np.where(is_original_kept, 1.0, score_of[original])
    is_exact = np.zeros(len(members), dtype=bool)
    is_exact[copy] = is_original_kept
    roots = connected_components(len(members), np.concatenate([copy, worse]), np.concatenate([original, better]))
    named = ranking.split_all(members)
    table = _resolution_table(named, kept_of, score_of, is_exact, _smallest_ids(named.column("doc_id"), roots))
    sizes = np.sort(np.unique(roots, return_counts=True)[1])
    return Resolved(table=table, cluster_sizes=sizes)


@njit(cache=True, nogil=True)
def connected_components(num_nodes: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return, per node, the least node of its component: union by least root, with path halving."""
    parent = np.arange(num_nodes)
    for edge in range(len(left)):
        a = left[edge]
        b = right[edge]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    for node in range(num_nodes):
        # Parents are smaller than their children, so this parent is a root already.
        parent[node] = parent[parent[node]]
    return parent


@njit(cache=True, nogil=True)
def _remove_greedily(
    num_nodes: int, worse: np.ndarray, better: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return, per node, the kept node that removes it (-1: it is kept) and their score. Edges come by worse node."""
    kept_of = np.full(num_nodes, -1, dtype=np.int64)
    score_of = np.zeros(num_nodes, dtype=np.float64)
    for edge in range(len(worse)):
        node = worse[edge]
        if kept_of[node] < 0 and kept_of[better[edge]] < 0:
            kept_of[node] = better[edge]
            score_of[node] = scores[edge]
    return kept_of, score_of


def _involved(evidence: Evidence) -> pa.Array:
    """Return the members that some edge names, best rank first."""
    columns = [table.column(name) for table in (evidence.exact, evidence.edges) for name in ("worse", "better")]
    members = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()).unique()
    return members.take(pc.sort_indices(members))


def _numbers(edges: pa.Table, members: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return worse and better of every edge as places in `members`."""
    worse, better = (pc.index_in(edges.column(name), members).to_numpy() for name in ("worse", "better"))
    return worse.astype(np.int64), better.astype(np.int64)


def _smallest_ids(doc_ids: pa.ChunkedArray, roots: np.ndarray) -> pa.ChunkedArray:
    """Return, per member, the smallest doc_id of its component."""
    order = pc.sort_indices(doc_ids).to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    smallest = np.full(len(order), len(order), dtype=np.int64)
    np.minimum.at(smallest, roots, place)
    return doc_ids.take(pa.array(order[smallest[roots]]))


def _resolution_table(
    named: pa.Table,
    kept_of: np.ndarray,
    score_of: np.ndarray,
    is_exact: np.ndarray,
    clusters: pa.ChunkedArray,
) -> pa.Table:
    removed = np.flatnonzero(kept_of >= 0)
    kept = kept_of[removed]
    gone, stays = named.take(removed), named.take(kept)
    is_held_out = pc.and_(stays.column("is_validation"), pc.invert(gone.column("is_validation")))
    columns = {
        "doc_id": gone.column("doc_id"),
        "snapshot": gone.column("snapshot"),
        "duplicate_of": stays.column("doc_id"),
        "duplicate_of_snapshot": stays.column("snapshot"),
        "kind": pc.if_else(is_held_out, "validation", pc.if_else(pa.array(is_exact[removed]), "exact", "near")),
        "jaccard": score_of[removed],
        "cluster": clusters.take(pa.array(removed)),
        "num_duplicates": np.bincount(kept, minlength=len(named))[kept],
    }
    return pa.table(columns, schema=RESOLUTION).sort_by("doc_id").combine_chunks()
