"""Which anchors may occur twice: two Bloom filters, of what our own snapshot has and of what was met a second time.

A hash belongs to one word, by its upper bits, and to six bits of that word, by its lower ones. Another hash with the same
bits, about one in 2,000, is no mistake, only work: what is read because of it matches nothing. Memory is twice 24 to 48 bits
an anchor of our own snapshot, at most 1 GB; beyond 34 GB of text a snapshot the filters fill up, and more is read in vain.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

Words = np.ndarray[Any, np.dtype[np.uint64]]

_BITS_PER_ANCHOR = 24
_LEAST_WORDS, _MOST_WORDS = 1 << 4, 1 << 26
_HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)


def find_shared(own: Iterable[pa.Array], older: Iterable[pa.Array], *, num_anchors: int) -> Words:
    """Return the filter of the hashes (int64) that `own` has twice or both have; `num_anchors` is how many `own` has."""
    wanted = max(num_anchors * _BITS_PER_ANCHOR // 64, 1)
    num_words = min(max(1 << wanted.bit_length(), _LEAST_WORDS), _MOST_WORDS)
    seen = np.zeros(num_words, np.uint64)
    shared = np.zeros_like(seen)
    for hashes in own:
        _mark(hashes.to_numpy().view(np.uint64), seen, shared, True)
    for hashes in older:
        _mark(hashes.to_numpy().view(np.uint64), seen, shared, False)
    # As a filter that was read from a file is: kernels are compiled once for both.
    shared.setflags(write=False)
    return shared


def is_shared(anchors: pa.ListArray, shared: Words) -> pa.BooleanArray:
    """Return for each list of hashes whether the filter may hold one of them."""
    return pa.array(_holds_any(anchors.values.to_numpy().view(np.uint64), anchors.offsets.to_numpy(), shared))


@njit(cache=True, nogil=True, inline="always")
def holds(words: Words, value: np.uint64) -> bool:
    """Return whether a filter may hold a hash."""
    mask = _mask(value)
    return bool(words[_word(value, len(words))] & mask == mask)


@njit(cache=True, nogil=True)
def _holds_any(hashes: np.ndarray, offsets: np.ndarray, words: Words) -> np.ndarray:
    found = np.zeros(len(offsets) - 1, np.bool_)
    for at in range(len(offsets) - 1):
        for place in range(offsets[at], offsets[at + 1]):
            if holds(words, hashes[place]):
                found[at] = True
                break
    return found


@njit(cache=True, nogil=True, inline="always")
def _word(value: np.uint64, num_words: int) -> np.uint64:
    """Return the place of a hash among a power of two words."""
    return value // (_HIGHEST // np.uint64(num_words) + np.uint64(1))


@njit(cache=True, nogil=True, inline="always")
def _mask(value: np.uint64) -> np.uint64:
    mask = np.uint64(0)
    for step in range(6):
        mask |= np.uint64(1) << ((value >> np.uint64(6 * step)) & np.uint64(63))
    return mask


@njit(cache=True, nogil=True)
def _mark(hashes: np.ndarray, seen: Words, shared: Words, is_own: bool) -> None:
    for value in hashes:
        mask = _mask(value)
        word = _word(value, len(seen))
        if seen[word] & mask == mask:
            shared[word] |= mask
        elif is_own:
            seen[word] |= mask
