"""Best-fit packing of pieces into fixed lengths, in windows of bounded size.

Pieces go in from the longest to the shortest, each into the fullest bin that still has room (best-fit decreasing). The
bins of each remaining room are a linked list, and a bitmap of two levels finds the smallest sufficient room, so a piece
costs a few steps whatever the number of bins. Measured on web text at 2,048: windows of 16,000 pieces are 99.99 % full.

Three pieces of 3, 2 and 2 tokens and a length of 4: 3 opens bin 0 (room 1), 2 opens bin 1 (room 2), 2 fills bin 1.
"""

from typing import Any

import numba
import numpy as np

IntArray = np.ndarray[Any, np.dtype[np.int64]]

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_ONE = np.uint64(1)
_NONE = np.zeros(0, np.int64)


def _bit_of_hash() -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return which lone bit gives each top six bits when the de Bruijn number is multiplied (Leiserson et al. 1998)."""
    table = np.zeros(64, np.int8)
    for bit in range(64):
        table[((int(_DE_BRUIJN) << bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = bit
    return table


_BIT_OF_HASH = _bit_of_hash()


def pack_best_fit(lengths: IntArray, *, capacity: int, fillers: IntArray = _NONE) -> IntArray:
    """Return the bin of each piece, bins numbered from 0; no bin holds more than `capacity`.

    Then the bin of each of `fillers`, which go in after all pieces, where there is room: -1 for one that finds none.
    Deterministic: equal lengths go in by their order. Raises ValueError for a piece longer than the capacity or empty.
    """
    lengths_P = np.concatenate([np.asarray(lengths, np.int64), np.asarray(fillers, np.int64)])
    if lengths_P.size and (lengths_P.min() < 1 or lengths_P.max() > capacity):
        raise ValueError(f"pieces must hold 1 to {capacity} tokens, got {lengths_P.min()} to {lengths_P.max()}")
    num_pieces = len(lengths)
    longest_first = np.argsort(-lengths_P[:num_pieces], kind="stable")
    fillers_first = num_pieces + np.argsort(-lengths_P[num_pieces:], kind="stable")
    return _pack(lengths_P, np.concatenate([longest_first, fillers_first]), num_pieces, capacity)


@numba.njit(cache=True)
def _pack(lengths_P: Any, in_turn: Any, num_openers: int, capacity: int) -> Any:
    num_pieces = len(lengths_P)
    bin_P = np.full(num_pieces, -1, np.int64)
    # Newest bin of each room, and the bin below each bin in its list; -1 ends a list.
    top, below = np.full(capacity + 1, -1, np.int64), np.empty(num_pieces, np.int64)
    fine = np.zeros(capacity // 64 + 1, np.uint64)
    coarse = np.zeros(len(fine) // 64 + 1, np.uint64)
    num_bins = 0
    for piece in in_turn:
        length = lengths_P[piece]
        room = _next_set(fine, coarse, length)
        if room < 0:
            if piece >= num_openers:
                continue
            room, chosen = capacity, num_bins
            num_bins += 1
        else:
            chosen = top[room]
            top[room] = below[chosen]
            if top[room] < 0:
                _clear(fine, coarse, room)
        bin_P[piece] = chosen
        room -= length
        if room:
            below[chosen] = top[room]
            top[room] = chosen
            fine[room >> 6] |= _ONE << np.uint64(room & 63)
            coarse[room >> 12] |= _ONE << np.uint64((room >> 6) & 63)
    return bin_P


@numba.njit(cache=True)
def _clear(fine: Any, coarse: Any, room: int) -> None:
    fine[room >> 6] &= ~(_ONE << np.uint64(room & 63))
    if not fine[room >> 6]:
        coarse[room >> 12] &= ~(_ONE << np.uint64((room >> 6) & 63))


@numba.njit(cache=True)
def _next_set(fine: Any, coarse: Any, start: int) -> int:
    """Return the smallest set room of at least `start`, or -1."""
    word = start >> 6
    if word >= len(fine):
        return -1
    bits = fine[word] & (~np.uint64(0) << np.uint64(start & 63))
    if bits:
        return (word << 6) + _lowest_bit(bits)
    group = (word + 1) >> 6
    if group >= len(coarse):
        return -1
    bits = coarse[group] & (~np.uint64(0) << np.uint64((word + 1) & 63))
    while not bits:
        group += 1
        if group >= len(coarse):
            return -1
        bits = coarse[group]
    word = (group << 6) + _lowest_bit(bits)
    return (word << 6) + _lowest_bit(fine[word])


@numba.njit(cache=True)
def _lowest_bit(bits: np.uint64) -> int:
    lone = bits & (~bits + _ONE)
    return int(_BIT_OF_HASH[(lone * _DE_BRUIJN) >> np.uint64(58)])
