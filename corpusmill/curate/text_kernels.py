"""The statistics that web rules need, computed by numba kernels over Arrow's offsets and UTF-8 bytes.

Words are runs of letters and digits (an apostrophe between letters belongs to its word), lower-cased in ASCII for
comparison. Lines end at a newline; blank ones count nowhere. Paragraphs are separated by blank lines. Repeated n-grams
are found by 64-bit hashes in open hash tables. Costs one pass for words, one for lines, ten short ones for n-grams.

All kernels are in this file because numba's cache notices a change only in the file that it compiles.
"""

import numba
import numpy as np

STATISTICS = (
    *("characters", "words", "mean_word_length", "longest_token", "alphabetic_token_share", "stop_words"),
    *("hash_word_ratio", "ellipsis_word_ratio", "lines", "bullet_line_share", "ellipsis_line_share"),
    *("punctuated_line_share", "short_line_share", "newline_word_ratio"),
    *("duplicate_line_share", "duplicate_line_character_share"),
    *("duplicate_paragraph_share", "duplicate_paragraph_character_share"),
    *(f"top_{size}gram_character_share" for size in (2, 3, 4)),
    *(f"duplicate_{size}gram_character_share" for size in (5, 6, 7, 8, 9, 10)),
)
"""Columns of `measure_texts`, in order. Shares are of all lines, paragraphs, tokens or characters; lengths in characters."""

_SPACE, _SYMBOL, _DIGIT, _LETTER = 0, 1, 2, 3
_NEWLINE, _HASH, _APOSTROPHE, _FULL_STOP, _HYPHEN = 10, 35, 39, 46, 45
_RIGHT_QUOTE, _BULLET, _ELLIPSIS = 0x2019, 0x2022, 0x2026
_SHORT_LINE_CHARACTERS = 30  # FineWeb (Penedo et al. 2024), section 3.6
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SEED = np.uint64(0xCBF29CE484222325)


def _ascii_kinds() -> np.ndarray:
    kinds = np.full(128, _SYMBOL, np.uint8)
    kinds[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = _SPACE
    kinds[48:58] = _DIGIT
    kinds[65:91] = _LETTER
    kinds[97:123] = _LETTER
    return kinds


def _wide_ranges() -> np.ndarray:
    """Return sorted [first, last, kind] of the characters above ASCII that are no letters."""
    spaces = [(0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F)]
    spaces += [(0x205F, 0x205F), (0x3000, 0x3000)]
    symbols = [(0x80, 0x84), (0x86, 0x9F), (0xA1, 0xA9), (0xAB, 0xB4), (0xB6, 0xB9), (0xBB, 0xBF), (0xD7, 0xD7)]
    symbols += [(0xF7, 0xF7), (0x60C, 0x60C), (0x61B, 0x61B), (0x61F, 0x61F), (0x6D4, 0x6D4), (0x964, 0x965)]
    symbols += [(0x200B, 0x2027), (0x202A, 0x202E), (0x2030, 0x205E), (0x2060, 0x206F), (0x20A0, 0x20CF)]
    symbols += [(0x2190, 0x2BFF), (0x3001, 0x3004), (0x3008, 0x3020), (0x3030, 0x3030), (0xFE10, 0xFE6F)]
    symbols += [(0xFF01, 0xFF0F), (0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF65), (0xFFF0, 0xFFFF)]
    symbols += [(0x1F000, 0x1FAFF)]
    rows = [(*span, _SPACE) for span in spaces] + [(*span, _SYMBOL) for span in symbols]
    return np.array(sorted(rows), np.int64)


_ASCII = _ascii_kinds()
_WIDE = _wide_ranges()
_LINE_ENDS = np.array(sorted(map(ord, ".!?\"'”’…。！？؟")), np.int64)


def word_hash(word: str) -> int:
    """Return the hash that the kernels give to a word of lower-case ASCII."""
    value = int(_SEED)
    for byte in word.encode("ascii"):
        value = ((value ^ byte) * int(_PRIME)) & 0xFFFFFFFFFFFFFFFF
    return value


@numba.njit(cache=True)
def measure_texts(data, offsets, stop_hashes, max_words, max_characters):  # type: ignore[no-untyped-def]
    """Return a float64 row of STATISTICS per text; NaN where a text is too long to be measured.

    Text i is `data[offsets[i]:offsets[i + 1]]`, valid UTF-8. Above `max_characters` only characters are counted, above
    `max_words` no n-grams: memory is bounded by the limits, not by the text.
    """
    num_texts = offsets.size - 1
    found = np.full((num_texts, len(STATISTICS)), np.nan)
    hashes = np.empty(max_words, np.uint64)
    lengths = np.empty(max_words, np.int64)
    for row in range(num_texts):
        text = data[offsets[row] : offsets[row + 1]]
        characters = count_characters(text)
        found[row, 0] = characters
        if characters <= max_characters:
            num_words = _measure_words(text, stop_hashes, hashes, lengths, found[row])
            _measure_lines(text, num_words, found[row])
            if num_words <= max_words:
                _measure_ngrams(hashes[:num_words], lengths[:num_words], characters, found[row])
    return found


@numba.njit(cache=True)
def count_characters(text):  # type: ignore[no-untyped-def]
    """Return the number of characters in UTF-8 bytes: of bytes that do not continue one."""
    count = 0
    for byte in text:
        if byte & 0xC0 != 0x80:
            count += 1
    return count


@numba.njit(cache=True)
def read_character(text, position):  # type: ignore[no-untyped-def]
    """Return (code point, number of bytes) of the character at `position`; a cut one ends with the text."""
    first = text[position]
    if first < 0x80:
        return np.int64(first), 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    value = np.int64(first & (0xFF >> (size + 1)))
    for index in range(position + 1, min(position + size, text.size)):
        value = value << 6 | np.int64(text[index] & 0x3F)
    return value, size


@numba.njit(cache=True)
def character_kind(value):  # type: ignore[no-untyped-def]
    """Return 0 for a space, 1 for a symbol, 2 for a digit, 3 for a letter (all other characters)."""
    if value < 128:
        return _ASCII[value]
    row = np.searchsorted(_WIDE[:, 0], value, side="right") - 1
    return _WIDE[row, 2] if row >= 0 and value <= _WIDE[row, 1] else _LETTER


@numba.njit(cache=True)
def _measure_words(text, stop_hashes, hashes, lengths, found):  # type: ignore[no-untyped-def]
    """Fill the word statistics and the first words' hashes and lengths; return the number of words."""
    num_words = word_characters = tokens = alphabetic = longest = number_signs = 0
    token = word = 0
    value = _SEED
    has_letter = False
    stops = np.zeros(stop_hashes.size, np.bool_)
    position = 0
    while position <= text.size:
        character, size = read_character(text, position) if position < text.size else (np.int64(32), 1)
        kind = character_kind(character)
        if character == _HASH:
            number_signs += 1
        if _is_inner_apostrophe(text, position, character, size, word):
            kind = _LETTER
        if kind >= _DIGIT:
            value = _add_to_word(value, text, position, size)
            word += 1
            has_letter |= kind == _LETTER
        elif word:
            if num_words < hashes.size:
                hashes[num_words] = value
                lengths[num_words] = word
            _note_stop_word(value, stop_hashes, stops)
            num_words += 1
            word_characters += word
            word = 0
            value = _SEED
        if kind == _SPACE:
            tokens += token > 0
            alphabetic += has_letter
            longest = max(longest, token)
            token = 0
            has_letter = False
        else:
            token += 1
        position += size
    found[1] = num_words
    found[2] = word_characters / max(1, num_words)
    found[3] = longest
    found[4] = alphabetic / max(1, tokens)
    found[5] = stops.sum()
    found[6] = number_signs / max(1, num_words)
    return num_words


@numba.njit(cache=True)
def _is_inner_apostrophe(text, position, character, size, word):  # type: ignore[no-untyped-def]
    if word == 0 or (character != _APOSTROPHE and character != _RIGHT_QUOTE):
        return False
    following = position + size
    return following < text.size and character_kind(read_character(text, following)[0]) == _LETTER


@numba.njit(cache=True)
def _add_to_word(value, text, position, size):  # type: ignore[no-untyped-def]
    for index in range(position, min(position + size, text.size)):
        byte = text[index]
        if 65 <= byte <= 90:
            byte += 32
        value = (value ^ np.uint64(byte)) * _PRIME
    return value


@numba.njit(cache=True)
def _note_stop_word(value, stop_hashes, stops):  # type: ignore[no-untyped-def]
    for index in range(stop_hashes.size):
        if stop_hashes[index] == value:
            stops[index] = True


@numba.njit(cache=True)
def _measure_lines(text, num_words, found):  # type: ignore[no-untyped-def]
    capacity = 1
    for byte in text:
        capacity += byte == _NEWLINE
    line_hashes = np.empty(capacity, np.uint64)
    line_characters = np.empty(capacity, np.int64)
    lines = bullets = trailing_dots = punctuated = short = ellipses = 0
    start = 0
    while start < text.size:
        end = _line_end(text, start)
        first, last = _trimmed(text, start, end)
        if first < last:
            line = text[first:last]
            line_hashes[lines] = _bytes_hash(line)
            line_characters[lines] = count_characters(line)
            short += count_characters(text[start:end]) <= _SHORT_LINE_CHARACTERS
            bullets += _is_bullet(line)
            punctuated += _has_line_end(line)
            trailing_dots += _ends_in_ellipsis(line)
            ellipses += _count_ellipses(line)
            lines += 1
        start = end + 1
    found[7] = ellipses / max(1, num_words)
    found[8] = lines
    found[9] = bullets / max(1, lines)
    found[10] = trailing_dots / max(1, lines)
    found[11] = punctuated / max(1, lines)
    found[12] = short / max(1, lines)
    found[13] = (capacity - 1) / max(1, num_words)
    found[14], found[15] = _repeated(line_hashes[:lines], line_characters[:lines], found[0])
    paragraphs = _paragraphs(text, line_hashes, line_characters)
    found[16], found[17] = _repeated(line_hashes[:paragraphs], line_characters[:paragraphs], found[0])


@numba.njit(cache=True)
def _line_end(text, start):  # type: ignore[no-untyped-def]
    end = start
    while end < text.size and text[end] != _NEWLINE:
        end += 1
    return end


@numba.njit(cache=True)
def _trimmed(text, start, end):  # type: ignore[no-untyped-def]
    """Return the span without the spaces at its ends."""
    while start < end:
        character, size = read_character(text, start)
        if character_kind(character) != _SPACE:
            break
        start += size
    while start < end:
        last = _character_start(text, end - 1)
        if character_kind(read_character(text, last)[0]) != _SPACE:
            break
        end = last
    return min(start, end), end


@numba.njit(cache=True)
def _character_start(text, position):  # type: ignore[no-untyped-def]
    while position > 0 and text[position] & 0xC0 == 0x80:
        position -= 1
    return position


@numba.njit(cache=True)
def _bytes_hash(line):  # type: ignore[no-untyped-def]
    value = _SEED
    for byte in line:
        value = (value ^ np.uint64(byte)) * _PRIME
    return _mixed(value)


@numba.njit(cache=True)
def _mixed(value):  # type: ignore[no-untyped-def]
    value ^= value >> np.uint64(32)
    value *= np.uint64(0xD6E8FEB86659FD93)
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True)
def _is_bullet(line):  # type: ignore[no-untyped-def]
    first = read_character(line, 0)[0]
    return first in (_BULLET, _HYPHEN)


@numba.njit(cache=True)
def _has_line_end(line):  # type: ignore[no-untyped-def]
    last = read_character(line, _character_start(line, line.size - 1))[0]
    index = np.searchsorted(_LINE_ENDS, last)
    return index < _LINE_ENDS.size and _LINE_ENDS[index] == last


@numba.njit(cache=True)
def _is_ellipsis_at(line, position):  # type: ignore[no-untyped-def]
    if position + 2 >= line.size:
        return False
    a, b, c = line[position], line[position + 1], line[position + 2]
    return (a == _FULL_STOP and b == _FULL_STOP and c == _FULL_STOP) or (a == 0xE2 and b == 0x80 and c == 0xA6)


@numba.njit(cache=True)
def _ends_in_ellipsis(line):  # type: ignore[no-untyped-def]
    return line.size >= 3 and _is_ellipsis_at(line, line.size - 3)


@numba.njit(cache=True)
def _count_ellipses(line):  # type: ignore[no-untyped-def]
    count = position = 0
    while position < line.size:
        is_one = _is_ellipsis_at(line, position)
        count += is_one
        position += 3 if is_one else 1
    return count


@numba.njit(cache=True)
def _paragraphs(text, hashes, characters):  # type: ignore[no-untyped-def]
    """Fill hash and length of every paragraph (runs of lines without a blank one); return how many there are."""
    count = 0
    start = 0
    open_at = -1
    last_end = 0
    while start <= text.size:
        end = _line_end(text, start)
        first, last = _trimmed(text, start, end)
        if first < last:
            if open_at < 0:
                open_at = first
            last_end = last
        elif open_at >= 0:
            hashes[count] = _bytes_hash(text[open_at:last_end])
            characters[count] = count_characters(text[open_at:last_end])
            count += 1
            open_at = -1
        start = end + 1
    if open_at >= 0:
        hashes[count] = _bytes_hash(text[open_at:last_end])
        characters[count] = count_characters(text[open_at:last_end])
        count += 1
    return count


@numba.njit(cache=True)
def _table_size(count):  # type: ignore[no-untyped-def]
    size = 16
    while size < 2 * count:
        size *= 2
    return size


@numba.njit(cache=True)
def _slot(table, key):  # type: ignore[no-untyped-def]
    """Return where `key` stands or may be put in an open hash table whose free slots hold 0."""
    mask = table.size - 1
    place = np.int64(key & np.uint64(mask))
    while table[place] != 0 and table[place] != key:
        place = (place + 1) & mask
    return place


@numba.njit(cache=True)
def _repeated(hashes, characters, all_characters):  # type: ignore[no-untyped-def]
    """Return the shares of items, and of all characters, that repeat an earlier item."""
    if hashes.size == 0:
        return 0.0, 0.0
    table = np.zeros(_table_size(hashes.size), np.uint64)
    items = repeated_characters = 0
    for index in range(hashes.size):
        key = hashes[index] | np.uint64(1)
        place = _slot(table, key)
        if table[place] == key:
            items += 1
            repeated_characters += characters[index]
        table[place] = key
    return items / hashes.size, repeated_characters / all_characters


@numba.njit(cache=True)
def _measure_ngrams(hashes, lengths, all_characters, found):  # type: ignore[no-untyped-def]
    grams = hashes.copy()
    table = np.zeros(_table_size(hashes.size), np.uint64)
    counts = np.zeros(table.size, np.int64)
    for size in range(2, 11):
        num_grams = hashes.size - size + 1
        for index in range(num_grams):
            grams[index] = _mixed(grams[index] * _PRIME + hashes[index + size - 1])
        table[:] = 0
        if size <= 4:
            counts[:] = 0
            covered = _top_gram(grams[: max(0, num_grams)], lengths, size, table, counts)
            found[16 + size] = covered / max(1, all_characters)
        else:
            covered = _repeated_grams(grams[: max(0, num_grams)], lengths, size, table)
            found[16 + size] = covered / max(1, all_characters)


@numba.njit(cache=True)
def _top_gram(grams, lengths, size, table, counts):  # type: ignore[no-untyped-def]
    """Return the characters that the most frequent n-gram covers (0 when none repeats; the longest one at a tie)."""
    highest = 1
    covered = 0
    for index in range(grams.size):
        key = grams[index] | np.uint64(1)
        place = _slot(table, key)
        table[place] = key
        counts[place] += 1
        if counts[place] >= max(2, highest):
            characters = (lengths[index : index + size].sum() + size - 1) * counts[place]
            covered = max(covered, characters) if counts[place] == highest else characters
            highest = counts[place]
    return covered


@numba.njit(cache=True)
def _repeated_grams(grams, lengths, size, table):  # type: ignore[no-untyped-def]
    """Return the characters of words in n-grams seen before; each word is counted once."""
    covered = index = 0
    while index < grams.size:
        key = grams[index] | np.uint64(1)
        place = _slot(table, key)
        if table[place] == key:
            covered += lengths[index : index + size].sum()
            index += size
        else:
            table[place] = key
            index += 1
    return covered
