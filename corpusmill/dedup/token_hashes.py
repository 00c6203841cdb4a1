"""64-bit hashes: of a token from its characters, and of the n-grams of tokens. Decontamination hashes its words alike.

A token is SEED, then `(value ^ character) * PRIME` for each character (FNV-1a over code points), mixed at the end. Numba's
cache notices a change only in the file of the kernel that it compiled: after a change here, remove `__pycache__`.
"""

from typing import Any

import numpy as np
from numba import njit

SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xFF51AFD7ED558CCD)
_MIX_2 = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)

Hashes = np.ndarray[Any, np.dtype[np.uint64]]


@njit(cache=True, nogil=True, inline="always")
def mix(value: np.uint64) -> np.uint64:
    """Spread a 64-bit value over all its bits (the finaliser of MurmurHash3)."""
    value = (value ^ (value >> _SHIFT)) * _MIX_1
    value = (value ^ (value >> _SHIFT)) * _MIX_2
    return value ^ (value >> _SHIFT)


@njit(cache=True, nogil=True)
def join_tokens(tokens: Hashes, num_tokens: int, size: int, out: Hashes) -> int:
    """Write the hash of the n-gram of `size` tokens from each on to `out`, which may be `tokens`; return how many.

    The rolling polynomial of three tokens a, b, c at size 2 and base B: aB + b, then (aB + b - aB)B + c = bB + c.
    """
    if num_tokens < size:
        return 0
    value = np.uint64(0)
    leading = np.uint64(1)
    for at in range(size):
        value = value * _BASE + tokens[at]
        if at:
            leading = leading * _BASE
    for at in range(num_tokens - size):
        first = tokens[at]
        out[at] = mix(value)
        value = (value - first * leading) * _BASE + tokens[at + size]
    out[num_tokens - size] = mix(value)
    return num_tokens - size + 1
