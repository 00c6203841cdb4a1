"""Evidence for what fits in memory: the same steps that Spark takes, over one table.

Memory: the signatures, twice their band keys, and the shingle sets of the candidates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.bands import NUM_LEVELS, band_keys, split_keys
from corpusmill.dedup.buckets import bucket_pairs, compared_pairs, pairs_schema, possible_pairs
from corpusmill.dedup.candidates import GatheredPairs, Pairs, limit_comparisons, pairs_at_level
from corpusmill.dedup.evidence import EDGES, EXACT, Evidence, Ranking, ReadTexts, jaccard_bins, member_names
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.scopes import within_scope
from corpusmill.dedup.signatures import signature_matrix
from corpusmill.dedup.verify import MapCalls, measure_pairs
from corpusmill.document import SIGNATURES


def gather_evidence(
    signatures: pa.Table,
    *,
    ranking: Ranking,
    parameters: DedupParameters,
    read_texts: ReadTexts,
    map_calls: MapCalls = map,
) -> Evidence:
    """Find equal texts and verified near-duplicates among the rows of `signatures`."""
    scoped = within_scope(signatures, parameters.scope).select(SIGNATURES.names).cast(SIGNATURES)
    keys_SB, signed_row = _signed_keys(scoped.column("signature"), parameters, map_calls)
    # Signatures are most of the bytes; only their keys are needed from here on.
    narrow = scoped.drop_columns("signature").append_column("signed_row", signed_row)
    documents = _ranked_documents(narrow, ranking)
    best = _best_of_equals(documents)
    is_best = best == np.arange(len(best))
    member = documents.column("member")
    exact = pa.table({"worse": member.filter(~is_best), "better": member.take(best[~is_best])}, schema=EXACT)
    distinct = documents.filter(pa.array(is_best))
    meetings = _meet(distinct.column("signed_row"), keys_SB, parameters, map_calls=map_calls)
    candidates = meetings.candidates
    compared = limit_comparisons(candidates, parameters.max_comparisons)
    measured = measure_pairs(
        compared.worse,
        compared.better,
        documents=distinct,
        parameters=parameters,
        read_texts=read_texts,
        map_calls=map_calls,
    )
    return Evidence(
        exact=exact,
        edges=_edges(compared, measured, distinct.column("member"), parameters.threshold),
        candidate_pairs=len(candidates.worse),
        compared_pairs=len(compared.worse),
        histogram=jaccard_bins(measured),
        hot_buckets=len(meetings.hot_sizes),
        largest_hot_bucket=max(meetings.hot_sizes, default=0),
        skipped_in_hot_buckets=_num_skipped(meetings.hot_sizes, candidates, parameters),
    )


@dataclass(frozen=True, kw_only=True)
class _Meetings:
    candidates: Pairs
    """Every pair that some bucket yields, sorted by (worse, better)."""
    hot_sizes: Sequence[int]
    """Members of each oversize bucket of level 0."""


def _ranked_documents(signatures: pa.Table, ranking: Ranking) -> pa.Table:
    """Return the rows, best rank first, with their member names; refuse a doc_id that comes twice."""
    repeated = signatures.group_by("doc_id").aggregate([([], "count_all")]).filter(pc.field("count_all") > 1)
    if len(repeated):
        raise ValueError(
            f"a document was signed twice: {repeated.column('doc_id')[0]}; each doc_id must appear once over all "
            "signature tables"
        )
    named = signatures.append_column("member", member_names(signatures, ranking))
    return named.sort_by("member").combine_chunks()


def _best_of_equals(documents: pa.Table) -> np.ndarray:
    """Return, per row, the first row with the same text; a row without a text is only its own equal."""
    text_hash = documents.column("text_hash")
    named = pc.if_else(
        pc.equal(text_hash, ""), pc.binary_join_element_wise("", documents.column("member"), " "), text_hash
    )
    codes = named.combine_chunks().dictionary_encode().indices.to_numpy()
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first[inverse]


def _signed_keys(
    signatures: pa.ChunkedArray, parameters: DedupParameters, map_calls: MapCalls
) -> tuple[np.ndarray, pa.Array]:
    """Return the band keys of the rows with a signature, and for each row its place among these or null."""

    def keys(chunk: pa.Array) -> np.ndarray:
        return band_keys(signature_matrix(chunk.drop_null(), parameters), parameters.num_bands)

    keys_SB = np.concatenate([np.empty((0, parameters.num_bands), np.uint64), *map_calls(keys, signatures.chunks)])
    is_signed = pc.is_valid(signatures).to_numpy()
    return keys_SB, pa.array(np.cumsum(is_signed) - 1, pa.int64(), mask=~is_signed)


def _meet(
    signed_row: pa.ChunkedArray, keys_SB: np.ndarray, parameters: DedupParameters, *, map_calls: MapCalls
) -> _Meetings:
    rows_N = np.flatnonzero(pc.is_valid(signed_row).to_numpy())
    keys_NB = keys_SB[signed_row.drop_null().to_numpy()]
    gathered = GatheredPairs()
    nothing = pairs_schema(pa.int64()).empty_table()
    hot = None
    sizes: list[int] = []
    for level in range(NUM_LEVELS):
        parent_NB, key_NB = split_keys(keys_NB, level)
        oversize = [nothing]
        members = _bucket_members(rows_N, parent_NB, key_NB, hot, map_calls=map_calls)
        for yielded in bucket_pairs(members, parameters):
            is_pair = pc.is_null(yielded.column("size"))
            gathered.add(pairs_at_level(yielded.filter(is_pair), level))
            oversize.append(yielded.filter(pc.invert(is_pair)))
        hot = pa.concat_tables(oversize)
        if level == 0:
            sizes = hot.column("size").to_pylist()
        if not len(hot):
            break
    return _Meetings(candidates=gathered.pairs(), hot_sizes=sizes)


def _bucket_members(
    rows_N: np.ndarray, parent_NB: np.ndarray, key_NB: np.ndarray, hot: pa.Table | None, *, map_calls: MapCalls
) -> Iterable[pa.Table]:
    """Return, band by band, the rows that share a bucket with another (of the `hot` parents, where given), in order."""

    def members(band: int) -> pa.Table:
        chosen = np.arange(len(rows_N))
        if hot is not None:
            parents = hot.column("key").filter(pc.equal(hot.column("band"), band)).to_numpy().view(np.uint64)
            chosen = np.flatnonzero(np.isin(parent_NB[:, band], parents))
        # Rows are in order of rank, and a stable sort leaves them so within a bucket.
        ordered = chosen[np.argsort(key_NB[chosen, band], kind="stable")]
        key = key_NB[ordered, band]
        is_met = np.zeros(len(key) + 1, dtype=bool)
        is_met[1:-1] = key[1:] == key[:-1]
        is_met = is_met[1:] | is_met[:-1]
        found = rows_N[ordered[is_met]]
        bands = np.full(len(found), band, dtype=np.int32)
        return pa.table({"band": bands, "key": key[is_met].view(np.int64), "member": found})

    return map_calls(members, range(key_NB.shape[1]))


def _num_skipped(hot_sizes: Sequence[int], candidates: Pairs, parameters: DedupParameters) -> int:
    skipped = sum(possible_pairs(size) - compared_pairs(size, parameters) for size in hot_sizes)
    return skipped - candidates.num_fresh()


def _edges(compared: Pairs, measured: np.ndarray, members: pa.ChunkedArray, threshold: float) -> pa.Table:
    rows = np.flatnonzero(measured >= threshold)
    edges = compared.take(rows)
    columns = {
        "worse": members.take(edges.worse),
        "better": members.take(edges.better),
        "jaccard": pa.array(measured[rows]),
        "shared_bands": pa.array(np.bitwise_count(edges.bands).astype(np.int32)),
    }
    return pa.table(columns, schema=EDGES).combine_chunks()
