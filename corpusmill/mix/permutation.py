"""Permutations that are evaluated at one point: a keyed Feistel network, and one that keeps neighbours in blocks.

Nothing is stored, so an epoch of a billion sequences is shuffled in no memory. The network permutes the next power of
two; a result beyond the size is permuted again until it falls inside ("cycle walking", Black and Rogaway 2002), on
average less than twice. About 15 ns a point.

`permute_in_blocks` shuffles whole blocks first and then the members of each group of blocks, so that a reader who goes
through the permutation meets a few blocks at a time instead of all of them.
"""

from typing import Any

import numba
import numpy as np

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_ROUND_SPREAD = np.uint64(0xD1B54A32D192ED03)
_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)

GROUP_BLOCKS = 4
"""Blocks whose members are shuffled together: what a reader holds of a component at a time."""


def permutation(size: int, *, seed: int, part: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return a whole permutation of 0..size-1, named by `seed` and `part`."""
    key = np.uint64(mix_key(np.uint64(0), seed))
    return _permutation(size, np.uint64(mix_key(key, part)))


@numba.njit(cache=True, error_model="numpy")
def mix_key(key: np.uint64, part: int) -> np.uint64:
    """Return the key of `part` under `key` (SplitMix64's finalizer, Steele et al. 2014)."""
    z = (key ^ np.uint64(part)) + _SPREAD
    z = (z ^ (z >> _SHIFT_30)) * _MIX_1
    z = (z ^ (z >> _SHIFT_27)) * _MIX_2
    return z ^ (z >> _SHIFT_31)


@numba.njit(cache=True, error_model="numpy")
def permute(value: int, size: int, key: np.uint64) -> int:
    """Return where the permutation of 0..size-1 under `key` sends `value`."""
    bits = _num_bits(size)
    while True:
        value = _feistel(value, bits, key)
        if value < size:
            return value


@numba.njit(cache=True, error_model="numpy")
def unpermute(value: int, size: int, key: np.uint64) -> int:
    """Return the `v` for which `permute(v, size, key) == value`."""
    bits = _num_bits(size)
    while True:
        value = _unfeistel(value, bits, key)
        if value < size:
            return value


@numba.njit(cache=True, error_model="numpy")
def short_block_slot(size: int, block: int, key: np.uint64) -> int:
    """Return where `permute_in_blocks` puts the last block, the one that may be short; the same for all its values."""
    num_blocks = (size + block - 1) // block
    return unpermute(num_blocks - 1, num_blocks, key) if num_blocks > GROUP_BLOCKS else 0


@numba.njit(cache=True, error_model="numpy")
def permute_in_blocks(value: int, size: int, block: int, key: np.uint64, short_slot: int) -> int:
    """Return where the block-wise permutation of 0..size-1 sends `value`.

    Blocks have `block` members, the last maybe fewer. With 10 members in blocks of 4 and groups of 2 the blocks [0-3]
    [4-7] [8-9] may come as [8-9] [0-3] | [4-7]: values 0 to 5 go to the first group's six members in shuffled order,
    values 6 to 9 to the second's four.
    """
    group, begin, members, short_from, missing = find_group(value, size, block, short_slot)
    inside = permute(value - begin, members, group_key(group, key))
    if inside >= short_from:
        inside += missing
    slot = inside // block
    return block_in_slot(group, slot, size, block, key) * block + inside - slot * block


@numba.njit(cache=True, error_model="numpy")
def find_group(value: int, size: int, block: int, short_slot: int) -> tuple[int, int, int, int, int]:
    """Return the group of a value, -1 for one that is the whole: its first value, its members, and its gap.

    The last two are the place in the group from which members are behind the short block, and what that block lacks.
    """
    num_blocks = (size + block - 1) // block
    if num_blocks <= GROUP_BLOCKS:
        return -1, 0, size, size, 0
    missing = num_blocks * block - size
    group_size = GROUP_BLOCKS * block
    short_group = short_slot // GROUP_BLOCKS
    shift = missing if value >= (short_group + 1) * group_size - missing else 0
    group = (value + shift) // group_size
    members = min(group_size, num_blocks * block - group * group_size)
    if group != short_group:
        return group, group * group_size - shift, members, members, 0
    gap = (short_slot - group * GROUP_BLOCKS + 1) * block - missing
    return group, group * group_size, members - missing, gap, missing


@numba.njit(cache=True, error_model="numpy")
def group_key(group: int, key: np.uint64) -> np.uint64:
    """Return the key of the permutation inside a group."""
    return key if group < 0 else mix_key(key, group + 1)


@numba.njit(cache=True, error_model="numpy")
def block_in_slot(group: int, slot: int, size: int, block: int, key: np.uint64) -> int:
    """Return the block that comes at a slot of a group."""
    if group < 0:
        return slot
    return permute(group * GROUP_BLOCKS + slot, (size + block - 1) // block, key)


@numba.njit(cache=True, error_model="numpy")
def _num_bits(size: int) -> int:
    """Return the bits that 0..size-1 need."""
    rest, bits = size - 1, 0
    for width in (32, 16, 8, 4, 2, 1):
        if rest >> width:
            rest >>= width
            bits += width
    return bits + rest


@numba.njit(cache=True, error_model="numpy")
def _num_rounds(bits: int) -> int:
    # Few values need more rounds to be spread evenly: measured, see test_values_are_spread_evenly.
    return 12 if bits <= 8 else 6 if bits <= 16 else 4


@numba.njit(cache=True, error_model="numpy")
def _round_key(key: np.uint64, turn: int) -> np.uint64:
    # Far apart, so that no two rounds see the same number for two halves.
    return key + np.uint64(turn) * _ROUND_SPREAD


@numba.njit(cache=True, error_model="numpy")
def _feistel(value: int, bits: int, key: np.uint64) -> int:
    low_bits = bits // 2
    high_mask, low_mask = (1 << (bits - low_bits)) - 1, (1 << low_bits) - 1
    high, low = value >> low_bits, value & low_mask
    for turn in range(0, _num_rounds(bits), 2):
        high ^= int(mix_key(_round_key(key, turn), low) >> np.uint64(1)) & high_mask
        low ^= int(mix_key(_round_key(key, turn + 1), high) >> np.uint64(1)) & low_mask
    return (high << low_bits) | low


@numba.njit(cache=True, error_model="numpy")
def _unfeistel(value: int, bits: int, key: np.uint64) -> int:
    low_bits = bits // 2
    high_mask, low_mask = (1 << (bits - low_bits)) - 1, (1 << low_bits) - 1
    high, low = value >> low_bits, value & low_mask
    for turn in range(_num_rounds(bits) - 2, -1, -2):
        low ^= int(mix_key(_round_key(key, turn + 1), high) >> np.uint64(1)) & low_mask
        high ^= int(mix_key(_round_key(key, turn), low) >> np.uint64(1)) & high_mask
    return (high << low_bits) | low


@numba.njit(cache=True, error_model="numpy")
def _permutation(size: int, key: np.uint64) -> Any:
    sent = np.empty(size, np.int64)
    for value in range(size):
        sent[value] = permute(value, size, key)
    return sent
