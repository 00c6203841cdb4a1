"""What the bands missed and what was removed wrongly, estimated from samples, with confidence intervals of 95 %.

Missed: two documents share their sample key with the probability of their Jaccard, whatever their bands. Of the keys
with several documents the ones with the smallest hash are sampled, of each key one pair; its exact Jaccard, and whether
it shares a band, give the measured S-curve. A pair at the threshold or above is missed when both of its documents stay.
Its weight, pairs of its key / (share of keys sampled x Jaccard), makes the sample an estimate of all pairs; shares count
every key once, so that one template does not outweigh all else.

Wrongly removed: removals with the smallest hash of their id, compared again from the texts.

Cost: one pass over ids, hashes and keys, and the texts of at most 2 x MAX_PAIRS + 2 x MAX_REMOVALS documents.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.evidence import ReadTexts
from corpusmill.dedup.parameters import DedupParameters, candidate_probability
from corpusmill.dedup.scopes import within_scope
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.signatures import signature_matrix
from corpusmill.dedup.token_hashes import Hashes
from corpusmill.dedup.verify import measure_pairs

MAX_PAIRS = 500
MAX_REMOVALS = 100
MAX_SAMPLED = 200_000
"""Documents that a pass holds, most of them alone with their key."""
SAMPLE_COLUMNS = ("doc_id", "snapshot", "source", "text_file", "text_hash", "num_shingles", "signature", "sample_key")
BIN_WIDTH = 0.1
Z = 1.959964
"""The .975 quantile of the normal distribution."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, kw_only=True)
class Interval:
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two sampled documents of different texts."""

    left: str
    right: str
    jaccard: float
    is_candidate: bool
    """Whether they share a band."""
    weight: float
    """How many pairs of the documents it stands for."""


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """A sampled removal, compared anew."""

    doc_id: str
    duplicate_of: str
    jaccard: float
    """Its exact Jaccard; 1 for equal texts."""
    is_right: bool


def sample_pairs(
    signatures: Iterable[pa.Table], *, num_documents: int, parameters: DedupParameters, read_texts: ReadTexts
) -> list[Pair]:
    """Return at most MAX_PAIRS pairs of documents with one sample key, out of tables with SAMPLE_COLUMNS.

    `num_documents` are the rows of all tables together; the tables come in any order and cut.
    """
    rate = min(1.0, MAX_SAMPLED / max(num_documents, 1))
    parts = [_sampled(within_scope(table, parameters.scope), rate) for table in signatures]
    if not parts:
        return []
    documents = _distinct(pa.concat_tables(parts))
    keys, firsts, counts = np.unique(documents["order"].to_numpy(), return_index=True, return_counts=True)
    shared = np.flatnonzero(counts > 1)
    chosen = shared[:MAX_PAIRS]
    if len(shared) > MAX_PAIRS:
        rate = float(keys[shared[MAX_PAIRS]]) / 2.0**64
    # The documents of a key come in the order of their ids' hashes, so that its first two are any two.
    left, right = documents.take(firsts[chosen]), documents.take(firsts[chosen] + 1)
    sizes = counts[chosen] * (counts[chosen] - 1) / 2
    return _measured(left, right, sizes / rate, parameters=parameters, read_texts=read_texts)


def recheck_removals(
    removals: pa.Table, text_files: dict[str, str], *, parameters: DedupParameters, read_texts: ReadTexts
) -> list[Recheck]:
    """Compare removals (doc_id, duplicate_of, kind, jaccard) again from their texts; `text_files` says where each lies."""
    rows = removals.to_pylist()
    wanted = sorted({row[name] for row in rows for name in ("doc_id", "duplicate_of")})
    if missing := [name for name in wanted if name not in text_files]:
        raise ValueError(f"no signature tells where the text of {missing[0]} lies; materialize the resolution again")
    texts = _texts(wanted, [text_files[name] for name in wanted], read_texts)
    return [_recheck(row, texts, parameters) for row in rows]


def sample_removals(removals: pa.Table) -> pa.Table:
    """Return at most MAX_REMOVALS of the removals, those with the smallest hash of their id."""
    order = pa.array([_id_hash(doc_id) for doc_id in removals["doc_id"].to_pylist()], pa.string())
    return removals.take(pc.sort_indices(order)[:MAX_REMOVALS])


def missed_pairs(pairs: Sequence[Pair], removed: pa.ChunkedArray | pa.Array, threshold: float) -> tuple[Interval, int]:
    """Return the number of missed pairs among all documents, and how many sampled pairs that rests on."""
    gone = set(removed.to_pylist())
    missed = [p for p in pairs if p.jaccard >= threshold and not gone & {p.left, p.right}]
    heaviest = max(
        (p.weight for p in pairs if p.jaccard >= threshold), default=max((p.weight for p in pairs), default=0.0)
    )
    return poisson_interval([p.weight for p in missed], heaviest), len(missed)


def measured_curve(pairs: Sequence[Pair], parameters: DedupParameters) -> list[dict[str, Any]]:
    """Return, by Jaccard, the probability of sharing a band that the parameters promise, and the measured share."""
    rows = []
    for place in range(round(1 / BIN_WIDTH)):
        mine = [p for p in pairs if min(int(p.jaccard / BIN_WIDTH + 1e-9), round(1 / BIN_WIDTH) - 1) == place]
        share = wilson_interval(sum(p.is_candidate for p in mine), len(mine))
        middle = (place + 0.5) * BIN_WIDTH
        promised = [candidate_probability(p.jaccard, parameters) for p in mine]
        rows.append(
            {
                "jaccard": f"{place * BIN_WIDTH:.1f} to {(place + 1) * BIN_WIDTH:.1f}",
                "promised": sum(promised) / len(mine) if mine else candidate_probability(middle, parameters),
                "measured": share.estimate if mine else None,
                "low": share.low if mine else None,
                "high": share.high if mine else None,
                "pairs": len(mine),
            }
        )
    return rows


def wilson_interval(successes: int, trials: int) -> Interval:
    """Return a share with Wilson's score interval (1927); nothing is known without trials."""
    if trials == 0:
        return Interval(estimate=0.0, low=0.0, high=1.0)
    share = successes / trials
    middle = share + Z * Z / (2 * trials)
    reach = Z * math.sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    scale = 1 + Z * Z / trials
    return Interval(estimate=share, low=max(0.0, (middle - reach) / scale), high=min(1.0, (middle + reach) / scale))


def poisson_interval(weights: Sequence[float], heaviest: float) -> Interval:
    """Return the sum of the weights of rare findings, with Byar's approximation of the Poisson limits.

    Findings of unequal weight count as (sum)^2 / (sum of squares) equal ones, for the upper limit with one more of the
    weight `heaviest` (Fay and Feuer, 1997): too wide rather than too narrow where weights differ much.
    """
    total, squares = sum(weights), sum(weight * weight for weight in weights)
    low = _byar_limit(total, squares, -Z) if total else 0.0
    most = max([heaviest, *weights])
    high = _byar_limit(total + most, squares + most * most, Z) if most else 0.0
    return Interval(estimate=total, low=low, high=high)


def _byar_limit(total: float, squares: float, z: float) -> float:
    count = total * total / squares
    return total * max(0.0, 1 - 1 / (9 * count) + z / (3 * math.sqrt(count))) ** 3


def _sampled(signatures: pa.Table, rate: float) -> pa.Table:
    """Return the rows whose sample key, spread over 64 bits, lies in the lowest `rate` of them, with that `order`."""
    signed = signatures.filter(pc.is_valid(signatures["sample_key"]))
    order = signed["sample_key"].to_numpy().view(np.uint64) * _SPREAD
    order ^= order >> np.uint64(29)
    order *= _SPREAD
    chosen = np.flatnonzero(order <= np.uint64(min(rate * 2.0**64, 2.0**64 - 2048)))
    narrow = signed.select(["doc_id", "text_file", "text_hash", "num_shingles", "signature"]).take(chosen)
    return narrow.append_column("order", pa.array(order[chosen]))


def _distinct(documents: pa.Table) -> pa.Table:
    """Return one document a text, sorted by sample key and by the hash of their ids."""
    hashed = pa.array([_id_hash(doc_id) for doc_id in documents["doc_id"].to_pylist()], pa.string())
    ordered = documents.append_column("place", hashed).sort_by([("order", "ascending"), ("place", "ascending")])
    codes = ordered["text_hash"].combine_chunks().dictionary_encode().indices.to_numpy()
    return ordered.take(np.sort(np.unique(codes, return_index=True)[1])).combine_chunks()


def _measured(
    left: pa.Table, right: pa.Table, weights: np.ndarray, *, parameters: DedupParameters, read_texts: ReadTexts
) -> list[Pair]:
    places = np.arange(len(left))
    scores = measure_pairs(
        places,
        places + len(left),
        documents=pa.concat_tables([left, right]),
        parameters=parameters,
        read_texts=read_texts,
        map_calls=map,
    )
    sides = [signature_matrix(table["signature"], parameters) for table in (left, right)]
    bands_NBR = (sides[0] == sides[1]).reshape(len(left), parameters.num_bands, parameters.rows_per_band)
    columns = (
        left["doc_id"].to_pylist(),
        right["doc_id"].to_pylist(),
        scores.tolist(),
        bands_NBR.all(axis=2).any(axis=1).tolist(),
        (weights / scores).tolist(),
    )
    return [
        Pair(left=one, right=other, jaccard=score, is_candidate=is_candidate, weight=weight)
        for one, other, score, is_candidate, weight in zip(*columns, strict=True)
    ]


def _recheck(row: dict[str, Any], texts: dict[str, str | None], parameters: DedupParameters) -> Recheck:
    removed, kept = texts[row["doc_id"]], texts[row["duplicate_of"]]
    score = 1.0 if removed == kept else jaccard(*_sets([removed, kept], parameters))
    is_right = removed == kept if row["kind"] == "exact" else score >= parameters.threshold
    return Recheck(doc_id=row["doc_id"], duplicate_of=row["duplicate_of"], jaccard=score, is_right=is_right)


def _texts(doc_ids: Sequence[str], text_files: Sequence[str], read_texts: ReadTexts) -> dict[str, str | None]:
    texts: dict[str, str | None] = {}
    for file in sorted(set(text_files)):
        mine = {doc_id for doc_id, its_file in zip(doc_ids, text_files, strict=True) if its_file == file}
        found = read_texts(file, sorted(mine))
        texts.update(zip(found["doc_id"].to_pylist(), found["text"].to_pylist(), strict=True))
    return texts


def _sets(texts: Sequence[str | None], parameters: DedupParameters) -> list[Hashes]:
    return shingle_sets(pa.array(texts, pa.large_string()), parameters)


def _id_hash(doc_id: str) -> str:
    return hashlib.sha256(doc_id.encode()).hexdigest()
