"""Shingles: n-grams of hashed tokens, as sorted sets of 64-bit hashes, and the exact Jaccard of two such sets.

Two different shingles share a hash with probability 2^-64, so "exact" is exact for every corpus that exists. A document
with fewer tokens than a shingle has none. Costs: sets one pass over the bytes plus a sort; a Jaccard one merge.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from corpusmill.dedup.parameters import SHINGLES, DedupParameters
from corpusmill.dedup.token_hashes import Hashes, join_tokens
from corpusmill.dedup.tokens import Bytes, character_table, character_tokens, code_tokens, word_tokens

_WORD_KIND = SHINGLES.index("word")
_CHARACTER_KIND = SHINGLES.index("character")

Offsets = np.ndarray[Any, np.dtype[np.int64]]


def shingle_sets(texts: pa.ChunkedArray | pa.Array, parameters: DedupParameters) -> list[Hashes]:
    """Return the sorted set of shingle hashes of every text; empty for null texts and those below the shingle width."""
    kind = SHINGLES.index(parameters.shingle)
    sets: list[Hashes] = []
    for offsets, data in text_chunks(texts):
        scratch = np.empty(longest(offsets) + 1, dtype=np.uint64)
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            num_tokens = hash_tokens(data, start, end, kind, character_table(), scratch)
            num_shingles = join_tokens(scratch, num_tokens, parameters.shingle_size, scratch)
            # numpy's own sort of 64-bit integers is vectorised; numba's is several times slower.
            ordered = np.sort(scratch[:num_shingles])
            sets.append(ordered[: _keep_distinct(ordered)].copy())
    return sets


def jaccard(left: Hashes, right: Hashes) -> float:
    """Return |left & right| / |left | right| of two sorted sets; 0 when both are empty."""
    shared = count_shared(left, right)
    union = len(left) + len(right) - shared
    return shared / union if union else 0.0


def text_chunks(texts: pa.ChunkedArray | pa.Array) -> Iterator[tuple[Offsets, Bytes]]:
    """Yield (offsets, bytes) of each chunk, without copying; null texts are empty."""
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    for chunk in chunks:
        filled = chunk.cast(pa.large_string())
        if filled.null_count:
            filled = filled.fill_null("")
        _, offsets_buffer, data_buffer = filled.buffers()
        if len(filled) == 0:
            continue
        offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
        data = np.frombuffer(data_buffer, dtype=np.uint8) if data_buffer else np.empty(0, dtype=np.uint8)
        yield offsets, data


def longest(offsets: Offsets) -> int:
    """Return the bytes of the longest text."""
    return int(np.diff(offsets).max(initial=0))


@njit(cache=True, nogil=True)
def hash_tokens(data: Bytes, start: int, end: int, kind: int, table: np.ndarray, out: Hashes) -> int:
    """Write the hashes of the tokens of one text to `out`, which must hold end - start + 1; return how many."""
    if kind == _WORD_KIND:
        return word_tokens(data, start, end, table, out)
    if kind == _CHARACTER_KIND:
        return character_tokens(data, start, end, table, out)
    return code_tokens(data, start, end, table, out)


@njit(cache=True, nogil=True)
def _keep_distinct(ordered: Hashes) -> int:
    """Move the distinct values of a sorted array to its front; return how many."""
    if len(ordered) == 0:
        return 0
    count = 1
    for at in range(1, len(ordered)):
        ordered[count] = ordered[at]
        count += ordered[at] != ordered[count - 1]
    return count


@njit(cache=True, nogil=True)
def count_shared(left: Hashes, right: Hashes) -> int:
    """Return how many values two sorted sets share, by a merge without unforeseeable branches."""
    shared = 0
    i = 0
    j = 0
    while i < len(left) and j < len(right):
        a = left[i]
        b = right[j]
        shared += a == b
        i += a <= b
        j += b <= a
    return shared
