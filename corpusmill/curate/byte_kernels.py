"""Characters and hashes of UTF-8 bytes, for the kernels of the other files.

Numba's cache notices a change only in the file of the kernel that it compiled: after a change here, remove `__pycache__`.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from corpusmill.curate.characters import BEYOND, TABLE_SIZE

_PRIME = np.uint64(0x9E3779B97F4A7C15)
SEED = np.uint64(0xCBF29CE484222325)
"""The hash of no bytes, before it is mixed."""
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
TOP_BITS, _LOW_BITS, _CASE_BITS, _TO_A, _BEHIND_Z, _TO_0, _BEHIND_9 = (
    np.uint64(byte * 0x0101010101010101) for byte in (0x80, 0x7F, 0x20, 0x1F, 0x05, 0x50, 0x46)
)


@intrinsic
def load_word(context: Any, array: Any, index: Any) -> Any:
    """Read eight bytes of a byte array at once, wherever they begin."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        buffer = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(buffer.data, [arguments[1]])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, index), generate


@intrinsic
def trailing_zeros(context: Any, value: Any) -> Any:
    """Count the zero bits below the lowest set one; 64 where none is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@numba.njit(cache=True)
def count_characters(data, start, end):  # type: ignore[no-untyped-def]
    """Return the number of characters in UTF-8 bytes: of bytes that do not continue one."""
    count = 0
    for byte in data[start:end]:
        count += byte & 0xC0 != 0x80
    return count


@numba.njit(cache=True)
def read_character(data, position, end):  # type: ignore[no-untyped-def]
    """Return (code point, number of bytes) of the character at `position`; a cut one ends with the text."""
    first = np.int64(data[position])
    if first < 0x80:
        return first, 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    value = first & (0xFF >> (size + 1))
    last = min(position + size, end)
    for index in range(position + 1, last):
        value = value << 6 | np.int64(data[index] & 0x3F)
    return value, last - position


@numba.njit(cache=True)
def letters_and_digits(word):  # type: ignore[no-untyped-def]
    """Return (letters, digits): the top bit of each of eight bytes that is an ASCII letter, an ASCII digit.

    Adding 0x1F to a byte of seven bits sets its top bit from 0x61, `a`, on; 0x05 from 0x7B, behind `z`, on.
    """
    plain = word & _LOW_BITS
    lower = plain | _CASE_BITS
    letters = (lower + _TO_A) & ~(lower + _BEHIND_Z)
    digits = (plain + _TO_0) & ~(plain + _BEHIND_9)
    ascii_bits = ~word & TOP_BITS
    return letters & ascii_bits, digits & ascii_bits


@numba.njit(cache=True)
def plain_run(data, position, end):  # type: ignore[no-untyped-def]
    """Return (where the run of ASCII letters and digits at `position` ends, whether a letter is in it)."""
    has_letters = False
    while position < end:
        if position + 8 > data.size:
            byte = data[position] | 32
            if not (97 <= byte <= 122 or 48 <= data[position] <= 57):
                break
            has_letters |= byte >= 97
            position += 1
            continue
        letters, digits = letters_and_digits(load_word(data, position))
        others = ~(letters | digits) & TOP_BITS
        length = min(np.int64(trailing_zeros(others) >> np.uint64(3)), end - position)
        letters <<= np.uint64(8 * (8 - length)) if length else np.uint64(0)
        has_letters |= length > 0 and letters != 0
        position += length
        if length < 8:
            break
    return position, has_letters


@numba.njit(cache=True)
def character_kinds(table, character):  # type: ignore[no-untyped-def]
    """Return the bits of a character; `table` is `characters.character_table()`."""
    return np.int64(table[character]) if character < TABLE_SIZE else BEYOND


@numba.njit(cache=True)
def character_start(data, position):  # type: ignore[no-untyped-def]
    """Return where the character begins that has a byte at `position`."""
    while position > 0 and data[position] & 0xC0 == 0x80:
        position -= 1
    return position


@numba.njit(cache=True)
def hash_bytes(data, start, end):  # type: ignore[no-untyped-def]
    """Return a 64-bit hash of `data[start:end]`."""
    value = SEED
    while end - start >= 8:
        value = mix(value ^ load_word(data, start))
        start += 8
    return mix(value ^ rest_of_word(data, start, end))


@numba.njit(cache=True)
def rest_of_word(data, start, end):  # type: ignore[no-untyped-def]
    """Return up to seven bytes as a number; none are 0."""
    if start == end:
        return np.uint64(0)
    if start + 8 <= data.size:
        return load_word(data, start) & (_ONES >> np.uint64(64 - 8 * (end - start)))
    value = np.uint64(0)
    for index in range(end - 1, start - 1, -1):
        value = value << np.uint64(8) | np.uint64(data[index])
    return value


@numba.njit(cache=True)
def mix(value):  # type: ignore[no-untyped-def]
    """Spread 64 bits over 64 bits."""
    value ^= value >> np.uint64(32)
    value *= _PRIME
    return value ^ (value >> np.uint64(29))
