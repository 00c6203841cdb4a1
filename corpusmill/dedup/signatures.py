"""MinHash signatures: texts in, one row per document out.

The signature of a document is the least value of each of `num_permutations` multiply-add permutations of the 32-bit
integers over its shingles. Cost: one pass over the bytes and one multiply-add per shingle and permutation.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill import document
from corpusmill.dedup.parameters import SHINGLES, DedupParameters
from corpusmill.dedup.shingles import Offsets, hash_tokens, longest, text_chunks
from corpusmill.dedup.token_hashes import Hashes, join_tokens, mix
from corpusmill.dedup.tokens import Bytes, character_table

SCHEMA_WITH_SOURCE = document.SIGNATURES.append(pa.field("source", pa.string()))
"""Signatures that statistics by source can be made from."""

_BLOCK = 512
_SAMPLE_MULTIPLIER = np.uint64(0xD1342543DE82EF95)
_SAMPLE_INCREMENT = np.uint64(0x2545F4914F6CDD1D)

Permutations = np.ndarray[Any, np.dtype[np.uint32]]


def sign(texts: pa.Table, parameters: Mapping[str, Any]) -> pa.Table:
    """Return a row for each row of `texts` (doc_id, snapshot, text_file, text_hash, text; where known, source, quality).

    The schema is document.SIGNATURES, or SCHEMA_WITH_SOURCE when `texts` has a source. `num_shingles` counts repeats. A
    text below the shingle width has no signature; a null text has an empty `text_hash` besides, so that nothing is its
    duplicate.
    """
    settings = DedupParameters.from_json(parameters)
    num_tokens, minima, sample_keys = _minima(texts.column("text"), settings)
    num_shingles = np.maximum(num_tokens - settings.shingle_size + 1, 0)
    columns = {
        "doc_id": texts.column("doc_id"),
        "snapshot": texts.column("snapshot"),
        "text_file": texts.column("text_file"),
        "text_hash": _text_hashes(texts),
        "num_shingles": pa.array(num_shingles, pa.int32()),
        "signature": _as_binary(minima, num_shingles == 0),
        "sample_key": pa.array(sample_keys.view(np.int64), mask=num_shingles == 0),
        "quality": texts["quality"] if "quality" in texts.column_names else pa.nulls(len(texts), pa.float64()),
    }
    if "source" not in texts.column_names:
        return pa.table(columns).cast(document.SIGNATURES)
    return pa.table(columns | {"source": texts.column("source")}).cast(SCHEMA_WITH_SOURCE)


def permutations(parameters: DedupParameters) -> tuple[Permutations, Permutations]:
    """Return the odd multipliers and the increments of the permutations x -> ax + b mod 2^32, drawn from the seed."""
    count = parameters.num_permutations
    drawn = _draw(np.uint64(parameters.seed), 2 * count)
    multipliers = (drawn[:count] >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return multipliers, (drawn[count:] >> np.uint64(32)).astype(np.uint32)


def signature_matrix(signatures: pa.ChunkedArray | pa.Array, parameters: DedupParameters) -> Permutations:
    """Return signatures (none null) as uint32 [documents, permutations]; refuse those made with another count."""
    array = signatures.combine_chunks() if isinstance(signatures, pa.ChunkedArray) else signatures
    width = 4 * parameters.num_permutations
    if len(array) == 0:
        return np.empty((0, parameters.num_permutations), dtype=np.uint32)
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.unique(np.diff(offsets))
    if lengths.tolist() != [width]:
        raise ValueError(
            f"signatures of {parameters.num_bands} x {parameters.rows_per_band} permutations have {width} bytes, got "
            f"{lengths.tolist()[:5]}: they were made with other parameters; rebuild the signatures"
        )
    data = np.frombuffer(array.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    return np.ascontiguousarray(data).view("<u4").reshape(len(array), parameters.num_permutations)


def _minima(texts: pa.ChunkedArray, parameters: DedupParameters) -> tuple[np.ndarray, Permutations, Hashes]:
    multipliers, increments = permutations(parameters)
    num_tokens = [np.empty(0, dtype=np.int64)]
    minima = [np.empty((0, parameters.num_permutations), dtype=np.uint32)]
    sample_keys = [np.empty(0, dtype=np.uint64)]
    for offsets, data in text_chunks(texts):
        scratch = np.empty(longest(offsets) + 1, dtype=np.uint64)
        kind = SHINGLES.index(parameters.shingle)
        settings = (kind, parameters.shingle_size, character_table(), multipliers, increments)
        tokens_N, minima_NP, keys_N = _sign_chunk(data, offsets, settings, scratch)
        num_tokens.append(tokens_N)
        minima.append(minima_NP)
        sample_keys.append(keys_N)
    return np.concatenate(num_tokens), np.concatenate(minima), np.concatenate(sample_keys)


def _text_hashes(texts: pa.Table) -> pa.Array:
    """Return the given hashes, computed where they are missing, empty where there is no text."""
    text = texts.column("text")
    given = pc.if_else(pc.is_null(text), "", texts.column("text_hash").cast(pa.string())).to_pylist()
    if None not in given:
        return pa.array(given, pa.string())
    place = 0
    for offsets, data in text_chunks(text):
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            if given[place] is None:
                given[place] = document.text_hash(data[start:end].data)
            place += 1
    return pa.array(given, pa.string())


def _as_binary(minima: Permutations, is_short: np.ndarray) -> pa.Array:
    width = 4 * minima.shape[1]
    offsets = np.arange(len(minima) + 1, dtype=np.int64) * width
    data = pa.py_buffer(minima.astype("<u4", copy=False).tobytes())
    validity = pa.array(~is_short).buffers()[1]
    whole = pa.Array.from_buffers(pa.large_binary(), len(minima), [validity, pa.py_buffer(offsets), data])
    return whole.cast(pa.binary())


@njit(cache=True, nogil=True)
def _draw(seed: np.uint64, count: int) -> Hashes:
    """Return `count` numbers of the SplitMix64 sequence; numpy's generators may change between releases."""
    drawn = np.empty(count, dtype=np.uint64)
    state = seed
    for at in range(count):
        state += np.uint64(0x9E3779B97F4A7C15)
        drawn[at] = mix(state)
    return drawn


@njit(cache=True, nogil=True)
def _sign_chunk(
    data: Bytes, offsets: Offsets, settings: tuple, scratch: Hashes
) -> tuple[Offsets, Permutations, Hashes]:
    kind, size, table, multipliers, increments = settings
    num_texts = len(offsets) - 1
    num_tokens = np.empty(num_texts, dtype=np.int64)
    minima = np.full((num_texts, len(multipliers)), np.uint32(0xFFFFFFFF), dtype=np.uint32)
    sample_keys = np.empty(num_texts, dtype=np.uint64)
    block = np.empty(_BLOCK, dtype=np.uint32)
    for at in range(num_texts):
        num_tokens[at] = hash_tokens(data, offsets[at], offsets[at + 1], kind, table, scratch)
        num_shingles = join_tokens(scratch, num_tokens[at], size, scratch)
        for start in range(0, num_shingles, _BLOCK):
            length = min(_BLOCK, num_shingles - start)
            for i in range(length):
                block[i] = np.uint32(scratch[start + i] >> np.uint64(32))
            _lower_minima(block[:length], multipliers, increments, minima[at])
        sample_keys[at] = _sample_key(scratch[:num_shingles])
    return num_tokens, minima, sample_keys


@njit(cache=True, nogil=True)
def _sample_key(shingles: Hashes) -> np.uint64:
    """Return the least value of a permutation of the 64-bit integers over the shingles."""
    least = np.uint64(0xFFFFFFFFFFFFFFFF)
    for at in range(len(shingles)):
        least = min(least, shingles[at] * _SAMPLE_MULTIPLIER + _SAMPLE_INCREMENT)
    return least


@njit(cache=True, nogil=True)
def _lower_minima(
    block: Permutations, multipliers: Permutations, increments: Permutations, minima: Permutations
) -> None:
    for permutation in range(len(multipliers)):
        multiplier = multipliers[permutation]
        increment = increments[permutation]
        least = minima[permutation]
        for i in range(len(block)):
            # numba widens to 64 bits; the cast lets LLVM use 32-bit lanes again.
            value = np.uint32(block[i] * multiplier + increment)
            least = min(least, value)
        minima[permutation] = least
