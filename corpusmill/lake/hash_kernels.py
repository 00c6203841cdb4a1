"""Numba kernels of the content hash: 128-bit hashes of values, as arrays `hashes_N2` of two uint64 words each.

Bytes are hashed by MurmurHash3 x64 128 (public domain, A. Appleby): about 2 GB/s a core. A null's hash is two zero words.
Numba turns int64 with uint64 into float64, so every constant here is a uint64.
"""

import numba
import numpy as np

Pair = tuple[np.uint64, np.uint64]

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_ADD1 = np.uint64(0x52DCE729)
_ADD2 = np.uint64(0x38495AB5)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIVE = np.uint64(5)
_ONE = np.uint64(1)
_EIGHT = np.uint64(8)
_SHIFT = np.uint64(33)
_WORD = np.uint64(64)


@numba.njit(cache=True)
def _rotate(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word << bits) | (word >> (_WORD - bits))


@numba.njit(cache=True)
def _finish(word: np.uint64) -> np.uint64:
    word ^= word >> _SHIFT
    word *= _M1
    word ^= word >> _SHIFT
    word *= _M2
    return word ^ (word >> _SHIFT)


@numba.njit(cache=True)
def _finish_pair(first: np.uint64, second: np.uint64) -> Pair:
    first += second
    second += first
    first = _finish(first)
    second = _finish(second)
    first += second
    second += first
    return first, second


@numba.njit(cache=True)
def _load(data: np.ndarray, at: int) -> np.uint64:
    """Return eight bytes as one little-endian word; spelled out, LLVM makes it a single load."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + 1]) << np.uint64(8)
        | np.uint64(data[at + 2]) << np.uint64(16)
        | np.uint64(data[at + 3]) << np.uint64(24)
        | np.uint64(data[at + 4]) << np.uint64(32)
        | np.uint64(data[at + 5]) << np.uint64(40)
        | np.uint64(data[at + 6]) << np.uint64(48)
        | np.uint64(data[at + 7]) << np.uint64(56)
    )


@numba.njit(cache=True)
def _load_rest(data: np.ndarray, at: int, count: int) -> np.uint64:
    """Return up to eight bytes as one little-endian word."""
    word = np.uint64(0)
    for index in range(count):
        word |= np.uint64(data[at + index]) << (_EIGHT * np.uint64(index))
    return word


@numba.njit(cache=True)
def _mix_block(first: np.uint64, second: np.uint64, low: np.uint64, high: np.uint64) -> Pair:
    low = _rotate(low * _C1, np.uint64(31)) * _C2
    first = _rotate(first ^ low, np.uint64(27)) + second
    first = first * _FIVE + _ADD1
    high = _rotate(high * _C2, np.uint64(33)) * _C1
    second = _rotate(second ^ high, np.uint64(31)) + first
    return first, second * _FIVE + _ADD2


@numba.njit(cache=True)
def hash_bytes(offsets_N1: np.ndarray, data: np.ndarray, valid_N: np.ndarray, hashes_N2: np.ndarray) -> None:
    """Hash the byte strings data[offsets[i]:offsets[i + 1]] into `hashes_N2`."""
    for row in range(valid_N.size):
        if not valid_N[row]:
            continue
        position = offsets_N1[row]
        length = offsets_N1[row + 1] - position
        first = np.uint64(0)
        second = np.uint64(0)
        for _ in range(length // 16):
            low = _load(data, position)
            high = _load(data, position + 8)
            first, second = _mix_block(first, second, low, high)
            position += 16
        rest = length % 16
        if rest:
            low = _load_rest(data, position, min(rest, 8))
            high = _load_rest(data, position + 8, max(rest - 8, 0))
            first, second = _mix_block(first, second, low, high)
        first ^= np.uint64(length)
        second ^= np.uint64(length) + _ONE
        hashes_N2[row, 0], hashes_N2[row, 1] = _finish_pair(first, second)


@numba.njit(cache=True)
def hash_words(words_N: np.ndarray, valid_N: np.ndarray, hashes_N2: np.ndarray) -> None:
    """Hash one uint64 a row into `hashes_N2`."""
    for row in range(words_N.size):
        if valid_N[row]:
            first, second = _mix_block(_ONE, _GOLDEN, words_N[row], _GOLDEN)
            hashes_N2[row, 0], hashes_N2[row, 1] = _finish_pair(first, second)


@numba.njit(cache=True)
def hash_lists(
    offsets_N1: np.ndarray, items_M2: np.ndarray, valid_N: np.ndarray, ordered: bool, hashes_N2: np.ndarray
) -> None:
    """Hash lists of items into `hashes_N2`; with `ordered` false (maps) the order of the items does not count."""
    for row in range(valid_N.size):
        if not valid_N[row]:
            continue
        first = _GOLDEN
        second = np.uint64(offsets_N1[row + 1] - offsets_N1[row])
        for item in range(offsets_N1[row], offsets_N1[row + 1]):
            if ordered:
                first, second = _mix_block(first, second, items_M2[item, 0], items_M2[item, 1])
            else:
                first += items_M2[item, 0]
                second += items_M2[item, 1]
        hashes_N2[row, 0], hashes_N2[row, 1] = _finish_pair(first, second)


@numba.njit(cache=True)
def add_named(values_N2: np.ndarray, name_first: np.uint64, name_second: np.uint64, sums_N2: np.ndarray) -> None:
    """Add the hashes of one named field to the sums of its rows; a null adds nothing, so an absent field is a null."""
    for row in range(values_N2.shape[0]):
        if values_N2[row, 0] or values_N2[row, 1]:
            first, second = _mix_block(name_first, name_second, values_N2[row, 0], values_N2[row, 1])
            first, second = _finish_pair(first, second)
            sums_N2[row, 0] += first
            sums_N2[row, 1] += second


@numba.njit(cache=True)
def finish_rows(sums_N2: np.ndarray, valid_N: np.ndarray, hashes_N2: np.ndarray) -> None:
    """Turn the sums of the fields into hashes of the rows; a row of nulls alone is not a null."""
    for row in range(valid_N.size):
        if valid_N[row]:
            first, second = _mix_block(_GOLDEN, _ONE, sums_N2[row, 0], sums_N2[row, 1])
            hashes_N2[row, 0], hashes_N2[row, 1] = _finish_pair(first, second)
