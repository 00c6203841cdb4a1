"""What lines and paragraphs say about a text, and which lines C4 cuts, by a numba kernel over the lines that were read."""

import numba
import numpy as np

from corpusmill.curate.byte_kernels import (
    character_kinds,
    character_start,
    count_characters,
    hash_bytes,
    mix,
    read_character,
)
from corpusmill.curate.characters import ENDS_SENTENCE
from corpusmill.curate.token_kernels import (
    CHARACTER_END,
    CHARACTER_START,
    CHUNKS,
    FIRST,
    HAS_CURLY_BRACKET,
    HAS_JAVASCRIPT,
    HAS_LOREM_IPSUM,
    HAS_POLICY,
    LAST,
    LINE_TOKENS,
    LONGEST_CHUNK,
    PHRASES,
    SENTENCES,
)

LINE_STATISTICS = (
    *("lines", "bullet_line_share", "ellipsis_line_share", "duplicate_line_share", "duplicate_line_character_share"),
    *("duplicate_paragraph_share", "duplicate_paragraph_character_share"),
    *("cut_lines", "lorem_ipsum_lines", "curly_bracket_lines", "sentences"),
    *("punctuated_line_share", "short_line_share", "duplicate_kept_line_character_share", "newline_token_ratio"),
)
"""Columns of `measure_lines`, in order. Shares are of lines, paragraphs or all characters; from `sentences` on, of the
lines that stay. Phrases and brackets count in lines of enough words, as C4's published code looks only there."""

CUT_KINDS = ("line_with_long_word", "line_of_few_words", "line_about_javascript", "line_of_policy")
_LONG_WORD, _FEW_WORDS, _JAVASCRIPT, _POLICY = range(4)

_HYPHEN, _BULLET, _FULL_STOP = 45, 0x2022, 46
_SHORT_LINE_CHARACTERS = 30  # FineWeb (Penedo et al. 2024), section 3.6
_NO_LINE = -1


@numba.njit(cache=True)
def measure_lines(data, offsets, table, lines, line_offsets, characters, min_words, max_word, first_row):  # type: ignore[no-untyped-def]
    """Return (a float64 row of LINE_STATISTICS per text, the cuts).

    `min_words[i]` are the words that a line of text i needs to stay, `max_word` the characters that none of them may
    exceed. A cut is (`first_row` + text, first character, behind the last, place in CUT_KINDS), int64; touching cuts of
    a kind are one.
    """
    num_texts = offsets.size - 1
    found = np.zeros((num_texts, len(LINE_STATISTICS)))
    longest = 1
    for row in range(num_texts):
        longest = max(longest, line_offsets[row + 1] - line_offsets[row])
    keys = np.empty(longest, np.uint64)
    kept = np.empty(longest, np.bool_)
    cuts = np.empty((line_offsets[num_texts], 4), np.int64)
    num_cuts = 0
    for row in range(num_texts):
        own = lines[line_offsets[row] : line_offsets[row + 1]]
        text_start = num_cuts
        for index in range(len(own)):
            cut = _why_cut(own[index], min_words[row], max_word)
            kept[index] = cut == _NO_LINE
            if cut != _NO_LINE:
                num_cuts = _add_cut(cuts, text_start, num_cuts, first_row + row, own[index], cut)
        _shape(data, table, own, kept, found[row])
        _repeated_lines(data, own, kept, max(1, characters[row]), keys, found[row])
        _repeated_paragraphs(data, own, max(1, characters[row]), keys, found[row])
    return found, cuts[:num_cuts]


@numba.njit(cache=True)
def _why_cut(line, min_words, max_word):  # type: ignore[no-untyped-def]
    if line[LONGEST_CHUNK] > max_word:
        return _LONG_WORD
    if line[CHUNKS] < min_words:
        return _FEW_WORDS
    if line[PHRASES] & HAS_JAVASCRIPT:
        return _JAVASCRIPT
    return _POLICY if line[PHRASES] & HAS_POLICY else _NO_LINE


@numba.njit(cache=True)
def _add_cut(cuts, text_start, num_cuts, row, line, kind):  # type: ignore[no-untyped-def]
    if num_cuts > text_start:
        previous = cuts[num_cuts - 1]
        if previous[2] == line[CHARACTER_START] and previous[3] == kind:
            previous[2] = line[CHARACTER_END]
            return num_cuts
    cut = cuts[num_cuts]
    cut[0] = row
    cut[1] = line[CHARACTER_START]
    cut[2] = line[CHARACTER_END]
    cut[3] = kind
    return num_cuts + 1


@numba.njit(cache=True)
def _shape(data, table, lines, kept, found):  # type: ignore[no-untyped-def]
    """Fill what is told by each line alone."""
    bullets = trailing = lorem = curly = 0
    num_kept = sentences = punctuated = short = tokens = 0
    for index in range(len(lines)):
        line = lines[index]
        first, last = line[FIRST], line[LAST]
        character, _ = read_character(data, first, last)
        bullets += character in (_BULLET, _HYPHEN)
        trailing += _ends_in_ellipsis(data, first, last)
        if kept[index] or line[PHRASES]:
            is_long_enough = kept[index] or line[PHRASES] & (HAS_JAVASCRIPT | HAS_POLICY)
            lorem += is_long_enough and line[PHRASES] & HAS_LOREM_IPSUM != 0
            curly += is_long_enough and line[PHRASES] & (HAS_CURLY_BRACKET | HAS_JAVASCRIPT) == HAS_CURLY_BRACKET
        if kept[index]:
            num_kept += 1
            sentences += line[SENTENCES]
            tokens += line[LINE_TOKENS]
            end, _ = read_character(data, character_start(data, last - 1), last)
            punctuated += character_kinds(table, end) & ENDS_SENTENCE != 0
            short += _is_short(data, first, last)
    found[0] = len(lines)
    found[1] = bullets / max(1, len(lines))
    found[2] = trailing / max(1, len(lines))
    found[7] = len(lines) - num_kept
    found[8] = lorem
    found[9] = curly
    found[10] = sentences
    found[11] = punctuated / max(1, num_kept)
    found[12] = short / max(1, num_kept)
    found[14] = max(0, num_kept - 1) / max(1, tokens)


@numba.njit(cache=True)
def _is_short(data, first, last):  # type: ignore[no-untyped-def]
    if last - first <= _SHORT_LINE_CHARACTERS:
        return True
    return last - first <= 4 * _SHORT_LINE_CHARACTERS and count_characters(data, first, last) <= _SHORT_LINE_CHARACTERS


@numba.njit(cache=True)
def _ends_in_ellipsis(data, first, last):  # type: ignore[no-untyped-def]
    if last - first < 3:
        return False
    a, b, c = data[last - 3], data[last - 2], data[last - 1]
    return (a == _FULL_STOP and b == _FULL_STOP and c == _FULL_STOP) or (a == 0xE2 and b == 0x80 and c == 0xA6)


@numba.njit(cache=True)
def _repeated_lines(data, lines, kept, characters, keys, found):  # type: ignore[no-untyped-def]
    """Fill the shares of lines seen before. Equal lines are cut or kept alike, so one table serves both."""
    repeated = repeated_characters = repeated_kept = kept_characters = 0
    seen = _empty_table(len(lines))
    for index in range(len(lines)):
        first, last = lines[index, FIRST], lines[index, LAST]
        size = count_characters(data, first, last)
        key = hash_bytes(data, first, last) | np.uint64(1)
        keys[index] = key
        if kept[index]:
            kept_characters += size
        if _is_repeated(seen, key):
            repeated += 1
            repeated_characters += size
            repeated_kept += size * kept[index]
    found[3] = repeated / max(1, len(lines))
    found[4] = repeated_characters / characters
    found[13] = repeated_kept / max(1, kept_characters)


@numba.njit(cache=True)
def _repeated_paragraphs(data, lines, characters, keys, found):  # type: ignore[no-untyped-def]
    """Fill the shares of paragraphs seen before; one ends where the characters of its lines do not touch the next."""
    paragraphs = repeated = repeated_characters = 0
    seen = _empty_table(len(lines))
    index = 0
    while index < len(lines):
        first = index
        key = keys[index]
        while index + 1 < len(lines) and lines[index + 1, CHARACTER_START] == lines[index, CHARACTER_END]:
            index += 1
            key = mix(key + keys[index])
        paragraphs += 1
        if _is_repeated(seen, key | np.uint64(1)):
            repeated += 1
            repeated_characters += count_characters(data, lines[first, FIRST], lines[index, LAST])
        index += 1
    found[5] = repeated / max(1, paragraphs)
    found[6] = repeated_characters / characters


@numba.njit(cache=True)
def _empty_table(count):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * count:
        size *= 2
    return np.zeros(size, np.uint64)


@numba.njit(cache=True)
def _is_repeated(seen, key):  # type: ignore[no-untyped-def]
    """Put a key that is not 0 into an open hash table and return whether it was there."""
    mask = seen.size - 1
    place = np.int64(key & np.uint64(mask))
    while seen[place] != 0:
        if seen[place] == key:
            return True
        place = (place + 1) & mask
    seen[place] = key
    return False
