"""Finding a 64-bit hash among many sorted ones in about two cache misses: buckets by its first bits, then a short walk.

Cost: one int32 for every four keys. A hash that is found says nothing yet: who looks up compares what it stands for.
"""

import numpy as np
from numba import njit

_KEYS_PER_BUCKET = 4


def make_buckets(keys: np.ndarray) -> np.ndarray:
    """Return for sorted, different uint64 keys where each bucket begins, and the end of the last: 2 ** bits + 1 places."""
    bits = max(1, int(np.ceil(np.log2(len(keys) / _KEYS_PER_BUCKET + 1))))
    firsts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    return np.append(np.searchsorted(keys, firsts), len(keys)).astype(np.int32)


@njit(cache=True, nogil=True)
def find_key(value, keys, buckets):  # type: ignore[no-untyped-def]
    """Return the place of a hash among the keys, -1 where it is none of them."""
    num_buckets = len(buckets) - 1
    shift = np.uint64(64)
    while num_buckets > 1:
        num_buckets >>= 1
        shift -= np.uint64(1)
    bucket = value >> shift
    for place in range(buckets[bucket], buckets[bucket + np.uint64(1)]):
        if keys[place] == value:
            return place
    return -1
