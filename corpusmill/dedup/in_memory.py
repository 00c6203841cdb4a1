"""Evidence for what fits in memory: the same steps that Spark takes, over one table.

Memory: the signatures, their band keys, and the shingle sets of the candidates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.bands import NUM_LEVELS, band_keys, split_keys
from corpusmill.dedup.buckets import bucket_pairs, compared_pairs, pairs_schema, possible_pairs
from corpusmill.dedup.evidence import EDGES, EXACT, HISTOGRAM_BINS, Evidence, Ranking, ReadTexts, member_names
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.scopes import within_scope
from corpusmill.dedup.signatures import signature_matrix
from corpusmill.dedup.verify import MapCalls, measure_pairs
from corpusmill.document import SIGNATURES

_COMBINE_AFTER = 4_000_000


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
    documents = _ranked_documents(scoped, ranking)
    best = _best_of_equals(documents)
    is_best = best == np.arange(len(best))
    member = documents.column("member")
    exact = pa.table({"worse": member.filter(~is_best), "better": member.take(best[~is_best])}, schema=EXACT)
    distinct = documents.filter(pa.array(is_best))
    meetings = _meet(distinct, parameters)
    candidates = meetings.candidates
    compared = _limit_comparisons(candidates, parameters.max_comparisons)
    measured = measure_pairs(
        compared.worse,
        compared.better,
        documents=distinct,
        parameters=parameters,
        read_texts=read_texts,
        map_calls=map_calls,
    )
    bins = np.minimum((measured * HISTOGRAM_BINS).astype(np.int64), HISTOGRAM_BINS - 1)
    numbers, counts = np.unique(bins, return_counts=True)
    return Evidence(
        exact=exact,
        edges=_edges(compared, measured, distinct.column("member"), parameters.threshold),
        candidate_pairs=len(candidates.worse),
        compared_pairs=len(compared.worse),
        histogram=dict(zip(numbers.tolist(), counts.tolist(), strict=True)),
        hot_buckets=len(meetings.hot_sizes),
        largest_hot_bucket=max(meetings.hot_sizes, default=0),
        skipped_in_hot_buckets=_num_skipped(meetings.hot_sizes, candidates, parameters),
    )


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """Pairs of row numbers with the bands (bits) in which they met."""

    worse: np.ndarray
    better: np.ndarray
    bands: np.ndarray
    fresh: np.ndarray
    """Bands in which only a part of the bucket compared them."""

    @classmethod
    def none(cls) -> "_Pairs":
        return cls(**dict.fromkeys(("worse", "better", "bands", "fresh"), np.empty(0, dtype=np.int64)))

    @classmethod
    def together(cls, parts: Sequence["_Pairs"]) -> "_Pairs":
        names = ("worse", "better", "bands", "fresh")
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def take(self, rows: np.ndarray) -> "_Pairs":
        return _Pairs(worse=self.worse[rows], better=self.better[rows], bands=self.bands[rows], fresh=self.fresh[rows])


@dataclass(frozen=True, kw_only=True)
class _Meetings:
    candidates: _Pairs
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


def _meet(distinct: pa.Table, parameters: DedupParameters) -> _Meetings:
    is_signed = pc.is_valid(distinct.column("signature"))
    rows_N = np.flatnonzero(is_signed.to_numpy())
    matrix_NP = signature_matrix(distinct.column("signature").filter(is_signed), parameters)
    keys_NB = band_keys(matrix_NP, parameters.num_bands)
    gathered = _Gathered()
    nothing = pairs_schema(pa.int64()).empty_table()
    hot = None
    sizes: list[int] = []
    for level in range(NUM_LEVELS):
        parent_NB, key_NB = split_keys(keys_NB, level)
        oversize = [nothing]
        for yielded in bucket_pairs(_bucket_members(rows_N, parent_NB, key_NB, hot), parameters):
            is_pair = pc.is_null(yielded.column("size"))
            gathered.add(_level_pairs(yielded.filter(is_pair), level))
            oversize.append(yielded.filter(pc.invert(is_pair)))
        hot = pa.concat_tables(oversize)
        if level == 0:
            sizes = hot.column("size").to_pylist()
        if not len(hot):
            break
    return _Meetings(candidates=gathered.pairs(), hot_sizes=sizes)


class _Gathered:
    """Pairs on the way to one row each: combined whenever as many came as make it worth the sort.

    A hot bucket yields the same pairs in band after band; this keeps memory at the distinct ones and `_COMBINE_AFTER`.
    """

    def __init__(self) -> None:
        self._parts = [_Pairs.none()]
        self._num_waiting = 0
        self._num_combined = 0

    def add(self, pairs: _Pairs) -> None:
        self._parts.append(pairs)
        self._num_waiting += len(pairs.worse)
        if self._num_waiting > max(_COMBINE_AFTER, self._num_combined):
            self.pairs()

    def pairs(self) -> _Pairs:
        """Return what was added, each pair once, sorted by (worse, better)."""
        combined = _combine_bands(_Pairs.together(self._parts))
        self._parts = [combined]
        self._num_waiting = 0
        self._num_combined = len(combined.worse)
        return combined


def _bucket_members(
    rows_N: np.ndarray, parent_NB: np.ndarray, key_NB: np.ndarray, hot: pa.Table | None
) -> Iterator[pa.Table]:
    """Yield, band by band, the rows that share a bucket with another (of the `hot` parents, where given), in order."""
    for band in range(key_NB.shape[1]):
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
        members = rows_N[ordered[is_met]]
        bands = np.full(len(members), band, dtype=np.int32)
        yield pa.table({"band": bands, "key": key[is_met].view(np.int64), "member": members})


def _level_pairs(pairs: pa.Table, level: int) -> _Pairs:
    bit = np.left_shift(np.int64(1), pairs.column("band").to_numpy().astype(np.int64))
    columns = {name: pairs.column(name).to_numpy() for name in ("worse", "better")}
    return _Pairs(**columns, bands=bit, fresh=bit if level else np.zeros_like(bit))


def _combine_bands(pairs: _Pairs) -> _Pairs:
    """Return each pair once, with all its bands."""
    ordered = pairs.take(np.lexsort((pairs.better, pairs.worse)))
    is_first = np.ones(len(ordered.worse), dtype=bool)
    is_first[1:] = (ordered.worse[1:] != ordered.worse[:-1]) | (ordered.better[1:] != ordered.better[:-1])
    firsts = np.flatnonzero(is_first)
    if not len(firsts):
        return ordered
    bands = np.bitwise_or.reduceat(ordered.bands, firsts)
    whole = np.bitwise_or.reduceat(ordered.bands & ~ordered.fresh, firsts)
    return _Pairs(worse=ordered.worse[firsts], better=ordered.better[firsts], bands=bands, fresh=bands & ~whole)


def _limit_comparisons(candidates: _Pairs, most: int) -> _Pairs:
    """Keep for each worse document the `most` partners with the most shared bands, ties to the better-ranked."""
    shared = np.bitwise_count(candidates.bands).astype(np.int64)
    order = np.lexsort((candidates.better, -shared, candidates.worse))
    worse = candidates.worse[order]
    _, starts, lengths = np.unique(worse, return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, lengths)
    return candidates.take(np.sort(order[place < most]))


def _num_skipped(hot_sizes: Sequence[int], candidates: _Pairs, parameters: DedupParameters) -> int:
    skipped = sum(possible_pairs(size) - compared_pairs(size, parameters) for size in hot_sizes)
    return skipped - int(np.bitwise_count(candidates.fresh).sum())


def _edges(compared: _Pairs, measured: np.ndarray, members: pa.ChunkedArray, threshold: float) -> pa.Table:
    rows = np.flatnonzero(measured >= threshold)
    edges = compared.take(rows)
    columns = {
        "worse": members.take(edges.worse),
        "better": members.take(edges.better),
        "jaccard": pa.array(measured[rows]),
        "shared_bands": pa.array(np.bitwise_count(edges.bands).astype(np.int32)),
    }
    return pa.table(columns, schema=EDGES).combine_chunks()
