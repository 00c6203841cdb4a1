"""From UTF-8 bytes to hashed tokens: the normalisation that shingles are made of.

Everything is lower-cased, character by character (no Unicode normalisation). Then:

- `word`: a word is a run of letters, digits, marks and underscores. White space, punctuation and symbols only separate.
- `character`: a token is a character; a run of white space is one space, none at the ends; punctuation counts.
- `code`: a token is a word or one other visible character. Comments are left out: `/* ... */`, `//` to the end of the
  line, and `#` to the end of the line when white space, `!` or another `#` follows it; not inside a string that began
  on the same line.

In scripts written without spaces (Han, kana, Thai, Lao, Khmer, Myanmar) each character is a word. Invisible format
characters (soft hyphen, joiners, byte order mark) are skipped. Cost: one pass over the bytes, no allocation.
"""

import functools
import unicodedata
from typing import Any

import numpy as np
from numba import njit

from corpusmill.dedup.token_hashes import PRIME, SEED, Hashes, mix

SPACE, WORD, WHOLE, OTHER, SKIPPED = range(5)
"""Kinds of character: separates, part of a word, a word by itself, punctuation or symbol, not there at all."""

TABLE_SIZE = 0x20000
"""Code points above are Han (up to 0x3FFFF) or nothing that a text is made of."""

_UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),
)
KIND_SHIFT = np.uint32(24)
CODE_POINT = np.uint32(0xFFFFFF)
"""An entry of a character table is the kind, shifted, and a code point."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@functools.cache
def character_table() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return, for each code point below TABLE_SIZE, its kind in the top byte and its lower case in the others."""
    table = np.zeros(TABLE_SIZE, dtype=np.uint32)
    for code_point in range(TABLE_SIZE):
        character = chr(code_point)
        table[code_point] = _kind(character) << 24 | ord(character.lower()[0])
    return table


def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if category[0] in "LNM" or character == "_":
        unspaced = any(first <= ord(character) <= last for first, last in _UNSPACED)
        return WHOLE if unspaced else WORD
    if category == "Cf":
        return SKIPPED
    return OTHER if category[0] in "PS" else SPACE


@njit(cache=True, nogil=True)
def _decode(data: Bytes, at: int) -> tuple[int, int]:
    """Return the code point that starts at a byte of 128 or more, and its length. Arrow has checked the UTF-8."""
    first = int(data[at])
    if first < 0xE0:
        return (first & 0x1F) << 6 | int(data[at + 1]) & 0x3F, 2
    second = int(data[at + 1]) & 0x3F
    third = int(data[at + 2]) & 0x3F
    if first < 0xF0:
        return (first & 0x0F) << 12 | second << 6 | third, 3
    return (first & 0x07) << 18 | second << 12 | third << 6 | int(data[at + 3]) & 0x3F, 4


@njit(cache=True, nogil=True)
def _wide_entry(data: Bytes, at: int, table: np.ndarray) -> tuple[np.uint32, int]:
    code_point, length = _decode(data, at)
    if code_point < TABLE_SIZE:
        return table[code_point], length
    kind = WHOLE if code_point < 0x40000 else SKIPPED
    return np.uint32(kind << 24 | code_point), length


@njit(cache=True, nogil=True)
def word_tokens(data: Bytes, start: int, end: int, table: np.ndarray, out: Hashes) -> int:
    """Write the hashes of the words of `data[start:end]` to `out`; return how many. `out` must hold end - start + 1."""
    count = 0
    value = SEED
    is_inside = False
    at = start
    while at < end:
        if data[at] < 128:
            entry = table[data[at]]
            at += 1
        else:
            entry, length = _wide_entry(data, at, table)
            at += length
        kind = entry >> KIND_SHIFT
        if kind == WORD:
            value = (value ^ np.uint64(entry & CODE_POINT)) * PRIME
            is_inside = True
            continue
        if kind == SKIPPED:
            continue
        if is_inside:
            out[count] = mix(value)
            count += 1
            value = SEED
            is_inside = False
        if kind == WHOLE:
            out[count] = mix((SEED ^ np.uint64(entry & CODE_POINT)) * PRIME)
            count += 1
    if is_inside:
        out[count] = mix(value)
        count += 1
    return count


@njit(cache=True, nogil=True)
def character_tokens(data: Bytes, start: int, end: int, table: np.ndarray, out: Hashes) -> int:
    """Write the hashes of the characters of `data[start:end]` to `out`; return how many."""
    count = 0
    is_space_due = False
    at = start
    while at < end:
        if data[at] < 128:
            entry = table[data[at]]
            at += 1
        else:
            entry, length = _wide_entry(data, at, table)
            at += length
        kind = entry >> KIND_SHIFT
        if kind == SPACE:
            is_space_due = count > 0
        elif kind != SKIPPED:
            if is_space_due:
                out[count] = mix(np.uint64(32))
                count += 1
                is_space_due = False
            out[count] = mix(np.uint64(entry & CODE_POINT))
            count += 1
    return count


@njit(cache=True, nogil=True)
def code_tokens(data: Bytes, start: int, end: int, table: np.ndarray, out: Hashes) -> int:
    """Write the hashes of the code tokens of `data[start:end]` to `out`; return how many."""
    count = 0
    value = SEED
    is_inside = False
    quote = 0
    at = start
    while at < end:
        skipped = 0
        length = 1
        if data[at] < 128:
            entry = table[data[at]]
            quote = _next_quote(data, start, at, quote)
            if quote == 0:
                skipped = _comment_length(data, at, end)
        else:
            entry, length = _wide_entry(data, at, table)
        kind = np.uint32(SPACE) if skipped else entry >> KIND_SHIFT
        at += skipped if skipped else length
        if kind == WORD:
            value = (value ^ np.uint64(entry & CODE_POINT)) * PRIME
            is_inside = True
            continue
        if kind == SKIPPED:
            continue
        if is_inside:
            out[count] = mix(value)
            count += 1
            value = SEED
            is_inside = False
        if kind != SPACE:
            out[count] = mix((SEED ^ np.uint64(entry & CODE_POINT)) * PRIME)
            count += 1
    if is_inside:
        out[count] = mix(value)
        count += 1
    return count


@njit(cache=True, nogil=True)
def _next_quote(data: Bytes, start: int, at: int, quote: int) -> int:
    """Return the quote that is open after byte `at` (0: none). A string ends with its line."""
    byte = data[at]
    if byte == 10:
        return 0
    if byte != 34 and byte != 39 and byte != 96:
        return quote
    if quote == 0:
        return int(byte)
    if byte != quote:
        return quote
    num_backslashes = 0
    while at - 1 - num_backslashes >= start and data[at - 1 - num_backslashes] == 92:
        num_backslashes += 1
    return quote if num_backslashes % 2 else 0


@njit(cache=True, nogil=True)
def _comment_length(data: Bytes, at: int, end: int) -> int:
    """Return the bytes of the comment that starts at `at`, 0 when none does. A line's end stays outside."""
    byte = data[at]
    following = data[at + 1] if at + 1 < end else 10
    if byte == 47 and following == 42:
        stop = at + 2
        while stop + 1 < end and not (data[stop] == 42 and data[stop + 1] == 47):
            stop += 1
        return min(stop + 2, end) - at
    is_hash = byte == 35 and (following <= 32 or following == 33 or following == 35)
    if not is_hash and not (byte == 47 and following == 47):
        return 0
    stop = at + 1
    while stop < end and data[stop] != 10:
        stop += 1
    return stop - at
