"""Anchors: places in a text that equal windows choose alike, so that texts are compared only where they may repeat.

Every run of `anchor_bytes` is hashed (rolling, 64 bits). Of the runs inside a window the one of least hash is its anchor,
of equal ones the first: a choice that the window's bytes decide alone, so two equal windows have an anchor of the same
hash at the same distance from their beginning. Neighbouring windows mostly choose the same one; a text has about one anchor
in 190 bytes at 500 bytes a window. A text in which short runs repeat without end has one at every byte.

Cost: some nanoseconds a byte, and 24 bytes of memory a byte of the longest text.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from corpusmill.dedup.growing import with_room
from corpusmill.dedup.shingles import Offsets, text_chunks
from corpusmill.dedup.spans import SpanParameters
from corpusmill.dedup.token_hashes import Hashes, mix
from corpusmill.dedup.tokens import Bytes

_BASE = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint64(0xD6E8FEB86659FD93)

Places = np.ndarray[Any, np.dtype[np.int64]]


def text_anchors(texts: pa.ChunkedArray, parameters: SpanParameters) -> pa.ListArray:
    """Return the anchors of each text as ANCHORS has them; null texts and those below `min_bytes` have none."""
    counts = [np.zeros(1, np.int64)]
    hashes = [np.empty(0, np.uint64)]
    for offsets, data in text_chunks(texts):
        counts_N, found = _anchors_of_texts(data, offsets, parameters.anchor_bytes, parameters.reach + 1)
        counts.append(counts_N)
        hashes.append(found)
    ends = np.cumsum(np.concatenate(counts)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(np.concatenate(hashes).view(np.int64)))


@njit(cache=True, nogil=True)
def hash_runs(data: Bytes, start: int, end: int, size: int, out: Hashes) -> int:
    """Write the hash of every run of `size` bytes of data[start:end] to `out`; return how many."""
    if end - start < size:
        return 0
    leaving = np.uint64(1)
    for _ in range(size):
        leaving *= _BASE
    value = np.uint64(0)
    for at in range(start, start + size):
        value = value * _BASE + np.uint64(data[at]) + np.uint64(1)
    out[0] = mix(value)
    for at in range(start + size, end):
        gone = (np.uint64(data[at - size]) + np.uint64(1)) * leaving
        value = value * _BASE + (np.uint64(data[at]) + np.uint64(1) - gone)
        out[at - size - start + 1] = mix(value)
    return end - start - size + 1


@njit(cache=True, nogil=True)
def select_minima(hashes: Hashes, count: int, width: int, places: Places, firsts: Places) -> int:
    """Write the place of the least of every `width` consecutive hashes, each once, to `places`; return how many.

    Of equal hashes the first counts. `firsts` takes the first window of each: 5 3 4 9 gives, of width 2, the places 1 and 2
    and the windows 0 and 2. In two halves: of width 3, the windows that begin in [0, 3) take the least of what they have of
    [0, 3), known from behind, and of [3, 6), known from the front.
    """
    behind = np.empty(width, np.int64)
    num_places = 0
    for block in range(0, count - width + 1, width):
        _least_to_the_end(hashes, block, behind)
        front = block + width
        for start in range(block, min(block + width, count - width + 1)):
            last = start + width - 1
            chosen = behind[start - block]
            if start > block:
                if hashes[last] < hashes[front]:
                    front = last
                if hashes[front] < hashes[chosen]:
                    chosen = front
            if num_places == 0 or places[num_places - 1] != chosen:
                places[num_places] = chosen
                firsts[num_places] = start
                num_places += 1
    return num_places


@njit(cache=True, nogil=True, inline="always")
def _least_to_the_end(hashes: Hashes, block: int, out: Places) -> None:
    """Write the place of the first least hash from each place of a block to the block's end."""
    least = block + len(out) - 1
    for at in range(block + len(out) - 1, block - 1, -1):
        if hashes[at] <= hashes[least]:
            least = at
        out[at - block] = least


@njit(cache=True, nogil=True, inline="always")
def anchor_hash(value: np.uint64) -> np.uint64:
    """Return the hash that an anchor is known by: minima are small, and slots and ranges of hashes want them even."""
    return mix(value + _SPREAD)


@njit(cache=True, nogil=True)
def _anchors_of_texts(data: Bytes, offsets: Offsets, size: int, width: int) -> tuple[Places, Hashes]:
    longest_text = np.diff(offsets).max()
    hashes = np.empty(longest_text, np.uint64)
    places, firsts = np.empty(longest_text, np.int64), np.empty(longest_text, np.int64)
    counts = np.empty(len(offsets) - 1, np.int64)
    found = np.empty((1024, 1), np.uint64)
    total = 0
    for at in range(len(offsets) - 1):
        num_hashes = hash_runs(data, offsets[at], offsets[at + 1], size, hashes)
        num_places = select_minima(hashes, num_hashes, width, places, firsts)
        chosen = np.empty(num_places, np.uint64)
        for i in range(num_places):
            chosen[i] = anchor_hash(hashes[places[i]])
        counts[at] = _keep_two(chosen)
        found = with_room(found, total, counts[at])
        found[total : total + counts[at], 0] = chosen[: counts[at]]
        total += counts[at]
    return counts, found[:total, 0]


@njit(cache=True, nogil=True)
def _keep_two(hashes: Hashes) -> int:
    """Sort the hashes and move those that stay, each at most twice, to the front; return how many."""
    hashes.sort()
    count = 0
    for value in hashes:
        if count < 2 or hashes[count - 2] != value:
            hashes[count] = value
            count += 1
    return count
