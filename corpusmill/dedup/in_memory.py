"""Evidence for what fits in memory: the same steps that Spark takes, over one table.

Memory: the signatures, their band rows, and the shingle sets of the candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.bands import NUM_LEVELS, band_rows
from corpusmill.dedup.buckets import PAIRS, bucket_pairs, compared_pairs, possible_pairs
from corpusmill.dedup.evidence import EDGES, EXACT, HISTOGRAM_BINS, Evidence, Ranking, ReadTexts, member_names
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.token_hashes import Hashes
from corpusmill.document import SIGNATURES


def gather_evidence(
    signatures: pa.Table, *, ranking: Ranking, parameters: DedupParameters, read_texts: ReadTexts
) -> Evidence:
    """Find equal texts and verified near-duplicates among the rows of `signatures`."""
    documents = _ranked_documents(signatures.select(SIGNATURES.names).cast(SIGNATURES), ranking)
    best = _best_of_equals(documents)
    is_best = best == np.arange(len(best))
    member = documents.column("member")
    exact = pa.table({"worse": member.filter(~is_best), "better": member.take(best[~is_best])}, schema=EXACT)
    distinct = documents.filter(pa.array(is_best))
    meetings = _meet(distinct, parameters)
    candidates = _combine_bands(meetings.pairs, distinct.column("member"))
    compared = _limit_comparisons(candidates, parameters.max_comparisons)
    measured = _measure(compared, distinct, parameters=parameters, read_texts=read_texts)
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
class _Meetings:
    pairs: pa.Table
    """band, better, worse, level: every pair that some bucket yields."""
    hot_sizes: Sequence[int]
    """Members of each oversize bucket of level 0."""


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """Distinct pairs of row numbers, sorted by (worse, better), with the bands (bits) in which they met."""

    worse: np.ndarray
    better: np.ndarray
    bands: np.ndarray
    fresh: np.ndarray
    """Bands in which only a part of the bucket compared them."""

    def take(self, rows: np.ndarray) -> "_Pairs":
        return _Pairs(worse=self.worse[rows], better=self.better[rows], bands=self.bands[rows], fresh=self.fresh[rows])


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
    signed = distinct.filter(pc.is_valid(distinct.column("signature")))
    found = []
    hot = pa.table({"band": pa.array([], pa.int32()), "key": pa.array([], pa.int64())})
    sizes: list[int] = []
    for level in range(NUM_LEVELS):
        rows = band_rows(signed.column("member"), signed.column("signature"), parameters=parameters, level=level)
        if level:
            rows = rows.join(hot, keys=["band", "parent"], right_keys=["band", "key"], join_type="left semi")
        ordered = rows.select(["band", "key", "member"]).sort_by([(n, "ascending") for n in ("band", "key", "member")])
        yielded = pa.concat_tables([PAIRS.empty_table(), *bucket_pairs([ordered], parameters)])
        is_pair = pc.is_null(yielded.column("size"))
        pairs = yielded.filter(is_pair).select(["band", "better", "worse"])
        found.append(pairs.append_column("level", pa.repeat(pa.scalar(level, pa.int32()), len(pairs))))
        hot = yielded.filter(pc.invert(is_pair))
        if level == 0:
            sizes = hot.column("size").to_pylist()
        hot = hot.select(["band", "key"])
        if not len(hot):
            break
    return _Meetings(pairs=pa.concat_tables(found), hot_sizes=sizes)


def _combine_bands(pairs: pa.Table, members: pa.ChunkedArray) -> _Pairs:
    worse = pc.index_in(pairs.column("worse"), members).to_numpy().astype(np.int64)
    better = pc.index_in(pairs.column("better"), members).to_numpy().astype(np.int64)
    bit = np.left_shift(np.int64(1), pairs.column("band").to_numpy().astype(np.int64))
    is_part = pairs.column("level").to_numpy() > 0
    order = np.lexsort((better, worse))
    worse, better = worse[order], better[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (worse[1:] != worse[:-1]) | (better[1:] != better[:-1])
    firsts = np.flatnonzero(is_first)
    if not len(firsts):
        return _Pairs(worse=worse, better=better, bands=bit, fresh=bit)
    bands = np.bitwise_or.reduceat(bit[order], firsts)
    whole = np.bitwise_or.reduceat(np.where(is_part, 0, bit)[order], firsts)
    return _Pairs(worse=worse[firsts], better=better[firsts], bands=bands, fresh=bands & ~whole)


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


def _measure(compared: _Pairs, distinct: pa.Table, *, parameters: DedupParameters, read_texts: ReadTexts) -> np.ndarray:
    wanted = distinct.take(np.union1d(compared.worse, compared.better))
    sets = _read_sets(wanted, parameters, read_texts)
    doc_ids = distinct.column("doc_id").to_pylist()
    pairs = zip(compared.worse.tolist(), compared.better.tolist(), strict=True)
    return np.array([jaccard(sets[doc_ids[worse]], sets[doc_ids[better]]) for worse, better in pairs], np.float64)


def _read_sets(wanted: pa.Table, parameters: DedupParameters, read_texts: ReadTexts) -> dict[str, Hashes]:
    sets: dict[str, Hashes] = {}
    by_file = wanted.group_by("text_file").aggregate([("doc_id", "list")]).sort_by("text_file")
    for file in by_file.to_pylist():
        texts = read_texts(file["text_file"], file["doc_id_list"])
        sets.update(
            zip(texts.column("doc_id").to_pylist(), shingle_sets(texts.column("text"), parameters), strict=True)
        )
    return sets


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
