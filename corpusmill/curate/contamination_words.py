"""What decontamination compares: words, lower-cased and without accents, where every run of numbers is one word `0`.

White space, line ends, punctuation, underscores, quoting and markup only separate, so a re-wrapped, indented or quoted
text has the words of the original. Numbers are one word whatever they say: a problem with changed numbers has the same
words, and "1, 2, 3 ... 13" is one word instead of a 13-gram. Full-width letters are the plain ones. In scripts without
spaces each character is a word. Invisible format characters are skipped.

Costs one pass over the bytes. A text's normal form is its words with a space behind each; words of it are themselves.
"""

import functools
import unicodedata
from typing import Any

import numpy as np
from numba import njit

from corpusmill.dedup.token_hashes import PRIME, SEED, mix
from corpusmill.dedup.tokens import (
    CODE_POINT,
    KIND_SHIFT,
    OTHER,
    SKIPPED,
    SPACE,
    TABLE_SIZE,
    WHOLE,
    WORD,
    character_table,
)

NUMBER = OTHER + SKIPPED
"""A kind beside those of `corpusmill.dedup.tokens`: a digit, part of a word as well."""
NUMBER_CHARACTER = ord("0")

_COMBINING = range(0x300, 0x370)

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Table = np.ndarray[Any, np.dtype[np.uint32]]
Places = np.ndarray[Any, np.dtype[np.uint32]]


@functools.cache
def word_table() -> Table:
    """Return, for each code point below TABLE_SIZE, its kind in the top byte and its plain lower case in the others."""
    table = character_table().copy()
    kinds = table >> KIND_SHIFT
    for code_point in np.flatnonzero((kinds == WORD) | (kinds == WHOLE)).tolist():
        table[code_point] = _entry(chr(code_point), int(kinds[code_point]))
    table[ord("_")] = OTHER << 24
    return table


def _entry(character: str, kind: int) -> int:
    if unicodedata.category(character) == "Nd":
        return NUMBER << 24 | NUMBER_CHARACTER
    if ord(character) in _COMBINING:
        return SKIPPED << 24
    lower = character.lower()[0]
    plain, *marks = list(unicodedata.normalize("NFKD", lower).lower())
    is_letter = unicodedata.category(plain)[0] in "LM" and all(ord(mark) in _COMBINING for mark in marks)
    return kind << 24 | ord(plain if is_letter else lower)


@njit(cache=True, nogil=True, inline="always")
def _entry_at(data, at, table):  # type: ignore[no-untyped-def]
    """Return the table's entry of the character at a byte, and its length. Arrow has checked the UTF-8."""
    first = np.uint32(data[at])
    if first < 0x80:
        return table[first], 1
    if first < 0xE0:
        return table[(first & 0x1F) << 6 | np.uint32(data[at + 1]) & 0x3F], 2
    code_point = np.uint32(data[at + 1]) & 0x3F
    code_point = code_point << 6 | np.uint32(data[at + 2]) & 0x3F
    if first < 0xF0:
        return table[(first & 0x0F) << 12 | code_point], 3
    code_point = (first & 0x07) << 18 | code_point << 6 | np.uint32(data[at + 3]) & 0x3F
    if code_point < TABLE_SIZE:
        return table[code_point], 4
    kind = WHOLE if code_point < 0x40000 else SKIPPED
    return np.uint32(kind << 24 | code_point), 4


@njit(cache=True, nogil=True)
def read_words(data, start, end, table, out):  # type: ignore[no-untyped-def]
    """Write hash, first byte and end byte (from `start` on) of each word of `data[start:end]`; return how many.

    `out` is three arrays for these, each with as many values as `data[start:end]` has bytes. "Up 3, 4 x": up [0, 2),
    0 [3, 7), x [8, 9).
    """
    hashes, starts, ends = out
    count = 0
    value = SEED
    opened = -1
    is_number = True
    was_number = False
    at = start
    while at <= end:
        entry, length = _entry_at(data, at, table) if at < end else (np.uint32(SPACE), 1)
        kind = entry >> KIND_SHIFT
        if kind == SKIPPED:
            at += length
            continue
        if kind in (WORD, NUMBER):
            if opened < 0:
                opened = at
            is_number &= kind == NUMBER
            value = (value ^ np.uint64(entry & CODE_POINT)) * PRIME
            at += length
            last = at
            continue
        if opened >= 0:
            if is_number and was_number:
                ends[count - 1] = last - start
            else:
                hashes[count] = np.uint64(NUMBER_CHARACTER) if is_number else mix(value)
                starts[count] = opened - start
                ends[count] = last - start
                count += 1
            was_number = is_number
            value = SEED
            opened = -1
            is_number = True
        if kind == WHOLE:
            hashes[count] = mix((SEED ^ np.uint64(entry & CODE_POINT)) * PRIME)
            starts[count] = at - start
            ends[count] = at + length - start
            count += 1
            was_number = False
        at += length
    return count


@njit(cache=True, nogil=True)
def write_normal(data, start, end, table, out):  # type: ignore[no-untyped-def]
    """Write the normal form of `data[start:end]` to `out`, twice as long and 2 more; return its bytes."""
    size = 0
    word = 0
    is_number = True
    was_number = False
    at = start
    while at <= end:
        entry, length = _entry_at(data, at, table) if at < end else (np.uint32(SPACE), 1)
        kind = entry >> KIND_SHIFT
        at += length
        if kind == SKIPPED:
            continue
        if kind in (WORD, NUMBER):
            is_number &= kind == NUMBER
            size = _write_character(out, size, entry & CODE_POINT)
            continue
        if size > word:
            if is_number:
                out[word] = NUMBER_CHARACTER
                size = word + (not was_number)
            if size > word:
                out[size] = 32
                size += 1
            was_number = is_number
        if kind == WHOLE:
            size = _write_character(out, size, entry & CODE_POINT)
            out[size] = 32
            size += 1
            was_number = False
        word = size
        is_number = True
    return size


@njit(cache=True, nogil=True, inline="always")
def _write_character(out, at, code_point):  # type: ignore[no-untyped-def]
    if code_point < 0x80:
        out[at] = code_point
        return at + 1
    if code_point < 0x800:
        out[at] = 0xC0 | code_point >> 6
        out[at + 1] = 0x80 | code_point & 0x3F
        return at + 2
    if code_point < 0x10000:
        out[at] = 0xE0 | code_point >> 12
        out[at + 1] = 0x80 | code_point >> 6 & 0x3F
        out[at + 2] = 0x80 | code_point & 0x3F
        return at + 3
    out[at] = 0xF0 | code_point >> 18
    out[at + 1] = 0x80 | code_point >> 12 & 0x3F
    out[at + 2] = 0x80 | code_point >> 6 & 0x3F
    out[at + 3] = 0x80 | code_point & 0x3F
    return at + 4


def normal_text(text: str) -> str:
    """Return the normal form of one text: "On May 3rd, 1 2 3!" gives "on may 3rd 0 "."""
    data = np.frombuffer(text.encode(), np.uint8)
    out = np.empty(2 * len(data) + 2, np.uint8)
    return out[: write_normal(data, 0, len(data), word_table(), out)].tobytes().decode()
