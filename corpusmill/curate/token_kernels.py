"""Texts to tokens and lines, by a numba kernel over Arrow's offsets and UTF-8 bytes: one pass over the bytes.

A token is a word or a mark of punctuation, split much as spaCy's rules for the language would (its lists of exceptions
are left out), since datatrove counts those. A run between spaces that holds letters and digits only, as most do, is one
token and costs little; marks come off the others' ends, and few of them split the middle.
"""

import numba
import numpy as np

from corpusmill.curate.byte_kernels import (
    SEED,
    TOP_BITS,
    character_kinds,
    hash_bytes,
    letters_and_digits,
    load_word,
    mix,
    plain_run,
    read_character,
    trailing_zeros,
)
from corpusmill.curate.characters import (
    ALPHA,
    CURLY,
    ENDS_SENTENCE,
    IN_ADDRESS,
    MARK,
    OPENS,
    SPACE,
    SYMBOL,
)
from corpusmill.curate.word_kernels import (
    IS_ENGLISH,
    SPLITS_ELISIONS,
    contraction_start,
    core_end,
    count_dots,
    is_address,
    is_apostrophe,
    mark_length,
    opens_as_plus,
)

TOKENS, WORDS, WORD_CHARACTERS, ALPHABETIC, NUMBER_SIGNS, ELLIPSES, CHARACTERS = range(7)
"""Columns of a text's counts."""
FIRST, LAST, CHARACTER_START, CHARACTER_END, CHUNKS, LONGEST_CHUNK, LINE_TOKENS, SENTENCES, PHRASES = range(9)
"""Columns of a line: where its text begins and ends (bytes, without spaces), its characters with the newline, runs
between spaces and the longest of them, tokens, sentences, and what stands in it (the next four, or 0)."""
LINE_COLUMNS = 9
HAS_LOREM_IPSUM, HAS_JAVASCRIPT, HAS_POLICY, HAS_CURLY_BRACKET = 1, 2, 4, 8

_NEWLINE, _NUMBER_SIGN, _PERCENT, _APOSTROPHE, _PLUS, _COMMA = 10, 35, 37, 39, 43, 44
_MINUS, _FULL_STOP, _SLASH, _COLON, _LESS, _EQUAL, _GREATER, _AT, _CARET = 45, 46, 47, 58, 60, 61, 62, 64, 94
_EXCLAMATION, _CLOSING, _SEMICOLON, _QUESTION, _LETTER_J, _LETTER_S = 33, 41, 59, 63, 106, 115
_ELLIPSIS, _RIGHT_QUOTE, _FIRST_WIDE = 0x2026, 0x2019, 0x3000
_PHRASES = {"lorem ipsum": HAS_LOREM_IPSUM, "javascript": HAS_JAVASCRIPT} | dict.fromkeys(
    ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies"), HAS_POLICY
)
"""C4 (Raffel et al. 2020, section 2.2) and its published code; case does not matter."""
_PHRASE_BYTES = np.frombuffer("".join(_PHRASES).encode(), np.uint8)
_PHRASE_STARTS = np.cumsum([0, *map(len, _PHRASES)])
_PHRASE_BITS = np.array(list(_PHRASES.values()), np.int64)
_PHRASE_BEGINS = np.zeros((256, 32), np.bool_)
for _phrase in _PHRASES:
    _PHRASE_BEGINS[[ord(_phrase[0]), ord(_phrase[0].upper())], ord(_phrase[1]) & 31] = True
_JAVASCRIPT_BYTES = 10

_BYTE_STEP = np.uint64(0x78)

# Places in the running counts behind those of the text: the line being read.
_CHUNKS, _LONGEST, _SENTENCES, _HAS_ENDED, _FOUND, _FIRST, _LAST, _END = range(7, 15)
_NUM_COUNTS = 15


@numba.njit(cache=True)
def word_hash(data):  # type: ignore[no-untyped-def]
    """Return the hash that the kernels give to a word of these UTF-8 bytes."""
    return hash_bytes(data, 0, data.size)


@numba.njit(cache=True)
def read_texts(data, offsets, table, splits, hashes, lengths, lines):  # type: ignore[no-untyped-def]
    """Fill the tokens' hashes and lengths and the lines of a few texts; return (counts, token offsets, line offsets).

    Text i is `data[offsets[i]:offsets[i + 1]]`, valid UTF-8; `table` is the `character_table`; `splits[i]` says how the
    words of its language split. `hashes` and `lengths` need a place a byte, `lines` a row a newline and text. Blank lines
    are left out.
    """
    num_texts = offsets.size - 1
    found = np.zeros((num_texts, CHARACTERS + 1), np.int64)
    token_offsets = np.zeros(num_texts + 1, np.int64)
    line_offsets = np.zeros(num_texts + 1, np.int64)
    counts = np.zeros(_NUM_COUNTS, np.int64)
    num_lines = 0
    for row in range(num_texts):
        tokens = counts[TOKENS]
        counts[WORDS:] = 0
        num_lines = _read_text(
            data, offsets[row], offsets[row + 1], table, splits[row], counts, hashes, lengths, lines, num_lines
        )
        found[row] = counts[: CHARACTERS + 1]
        found[row, TOKENS] -= tokens
        token_offsets[row + 1] = counts[TOKENS]
        line_offsets[row + 1] = num_lines
    return found, token_offsets, line_offsets


@numba.njit(cache=True)
def count_stop_words(hashes, token_offsets, lists, stop_hashes, stop_starts):  # type: ignore[no-untyped-def]
    """Return how many distinct stop words each text holds. Those of list j are `stop_hashes[stop_starts[j]:stop_starts[j + 1]]`;
    text i counts those of list `lists[i]`."""
    found = np.zeros(lists.size, np.float64)
    for row in range(lists.size):
        stops = stop_hashes[stop_starts[lists[row]] : stop_starts[lists[row] + 1]]
        is_in = np.zeros(stops.size, np.bool_)
        bits = np.uint64(0)  # most tokens are ruled out by six bits of their hash
        for stop in stops:
            bits |= np.uint64(1) << (stop & np.uint64(63))
        for index in range(token_offsets[row], token_offsets[row + 1]):
            value = hashes[index]
            if (bits >> (value & np.uint64(63))) & np.uint64(1):
                for place in range(stops.size):
                    is_in[place] |= stops[place] == value
        found[row] = is_in.sum()
    return found


@numba.njit(cache=True)
def _read_text(data, start, end, table, split, counts, hashes, lengths, lines, num_lines):  # type: ignore[no-untyped-def]
    position = start
    while position < end:
        counts[_CHUNKS:] = 0
        counts[_END] = end
        characters, tokens = counts[CHARACTERS], counts[TOKENS]
        position = _read_line(data, position, end, table, split, counts, hashes, lengths)
        counts[CHARACTERS] += position < end
        position += 1
        if counts[_CHUNKS]:
            lines[num_lines, FIRST] = counts[_FIRST]
            lines[num_lines, LAST] = counts[_LAST]
            lines[num_lines, CHARACTER_START] = characters
            lines[num_lines, CHARACTER_END] = counts[CHARACTERS]
            lines[num_lines, CHUNKS] = counts[_CHUNKS]
            lines[num_lines, LONGEST_CHUNK] = counts[_LONGEST]
            lines[num_lines, LINE_TOKENS] = counts[TOKENS] - tokens
            lines[num_lines, SENTENCES] = 1 + counts[_SENTENCES]
            lines[num_lines, PHRASES] = counts[_FOUND]
            num_lines += 1
    return num_lines


@numba.njit(cache=True)
def _read_line(data, position, end, table, split, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Read the tokens of the line at `position`; return where it ends."""
    while True:
        position = _skip_spaces(data, position, end, table, counts)
        if position >= end or data[position] == _NEWLINE:
            return position
        first = position
        before = counts[CHARACTERS]
        position = _read_plain_word(data, position, end, split, counts, hashes, lengths)
        if position == first:
            position = _read_chunk(data, position, end, table, split, counts, hashes, lengths)
        if counts[_CHUNKS] == 0:
            counts[_FIRST] = first
        counts[_CHUNKS] += 1
        counts[_LAST] = position
        counts[_LONGEST] = max(counts[_LONGEST], counts[CHARACTERS] - before)


@numba.njit(cache=True)
def _skip_spaces(data, position, end, table, counts):  # type: ignore[no-untyped-def]
    """Return where the next character stands that is no space; a newline is not skipped."""
    characters = 0
    while position < end:
        byte = data[position]
        size = 1
        if byte != 32:
            if byte == _NEWLINE or 32 < byte < 127:
                break
            character, size = read_character(data, position, end)
            if character_kinds(table, character) & SPACE == 0:
                break
        position += size
        characters += 1
    counts[CHARACTERS] += characters
    return position


@numba.njit(cache=True)
def _read_plain_word(data, position, end, split, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Read a word of ASCII letters and digits before a space, or before one mark and a space; return the place behind.

    Eight bytes at a time. Anything else is left to `_read_chunk`: then the place is `position`.
    """
    value = SEED
    letters_seen = np.uint64(0)
    last = position
    while True:
        if last + 10 > end:
            return position
        word = load_word(data, last)
        letters, digits = letters_and_digits(word)
        others = ~(letters | digits) & TOP_BITS
        if others:
            break
        value = mix(value ^ word)
        letters_seen |= letters
        last += 8
    bits = trailing_zeros(others) & _BYTE_STEP
    mask = (np.uint64(1) << bits) - np.uint64(1)
    last += np.int64(bits >> np.uint64(3))
    byte = data[last]
    has_mark = byte != 32 and byte != _NEWLINE
    if last == position or (has_mark and not _is_plain_end(data, position, last, byte, split)):
        return position
    letters_seen |= letters & mask
    place = counts[TOKENS]
    hashes[place] = mix(value ^ (word & mask))
    lengths[place] = last - position
    counts[TOKENS] = place + 1
    _note_word(data, position, last, last - position, letters_seen != 0, counts)
    if last - position > _JAVASCRIPT_BYTES:
        _look_inside(data, position, last, counts)
    counts[CHARACTERS] += last - position + has_mark
    if has_mark:
        hashes[place + 1] = mix(SEED ^ np.uint64(byte))
        lengths[place + 1] = 1
        counts[TOKENS] = place + 2
        if byte in (_FULL_STOP, _EXCLAMATION, _QUESTION):
            counts[_HAS_ENDED] = 1
    return last + has_mark


@numba.njit(cache=True)
def _is_plain_end(data, start, last, byte, split):  # type: ignore[no-untyped-def]
    """Return whether the mark at `last`, behind a plain word, is all that follows, and surely a token of its own."""
    following = data[last + 1]
    if following != 32 and following != _NEWLINE:
        return False
    if byte == _FULL_STOP:
        return last - start > 1 and 97 <= data[last - 1] <= 122
    return byte in (_COMMA, _COLON, _SEMICOLON, _EXCLAMATION, _QUESTION, _CLOSING)


@numba.njit(cache=True)
def _read_chunk(data, position, end, table, split, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Read any run of characters up to a space; return the place behind."""
    first = position
    kinds = characters = 0
    while position < end:
        byte = data[position]
        size = 1
        if byte < 128:
            kind = int(table[byte])
        else:
            character, size = read_character(data, position, end)
            kind = character_kinds(table, character)
        if kind & SPACE:
            break
        kinds |= kind
        characters += 1
        position += size
    counts[CHARACTERS] += characters
    if kinds & CURLY:
        counts[_FOUND] |= HAS_CURLY_BRACKET
    if kinds & MARK == 0:
        _add_word(data, first, position, characters, kinds, counts, hashes, lengths)
    elif position - first == 1:
        _add_mark(data[first], counts, hashes, lengths)
    else:
        _split_chunk(data, first, position, kinds, table, split, counts, hashes, lengths)
    if position - first > _JAVASCRIPT_BYTES:
        _look_inside(data, first, position, counts)
    return position


@numba.njit(cache=True)
def _look_inside(data, start, end, counts):  # type: ignore[no-untyped-def]
    for place in range(start + 1, end - _JAVASCRIPT_BYTES + 1):
        if data[place] | 32 == _LETTER_J:
            counts[_FOUND] |= _phrase_at(data, place, counts[_END])


@numba.njit(cache=True, inline="always")
def _note_word(data, start, end, characters, is_alphabetic, counts):  # type: ignore[no-untyped-def]
    counts[WORDS] += 1
    counts[WORD_CHARACTERS] += characters
    counts[ALPHABETIC] += is_alphabetic
    counts[_SENTENCES] += counts[_HAS_ENDED]
    counts[_HAS_ENDED] = 0
    if end - start > 2 and _PHRASE_BEGINS[data[start], data[start + 1] & 31]:
        counts[_FOUND] |= _phrase_at(data, start, counts[_END])


@numba.njit(cache=True, inline="always")
def _add_word(data, start, end, characters, kinds, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    place = counts[TOKENS]
    hashes[place] = hash_bytes(data, start, end)
    lengths[place] = characters
    counts[TOKENS] = place + 1
    _note_word(data, start, end, characters, kinds & ALPHA != 0, counts)


@numba.njit(cache=True, inline="always")
def _add_mark(byte, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Add a token of one ASCII mark."""
    place = counts[TOKENS]
    hashes[place] = mix(SEED ^ np.uint64(byte))
    lengths[place] = 1
    counts[TOKENS] = place + 1
    counts[NUMBER_SIGNS] += byte == _NUMBER_SIGN
    if byte in (_FULL_STOP, _EXCLAMATION, _QUESTION):
        counts[_HAS_ENDED] = 1


@numba.njit(cache=True)
def _add_piece(data, start, end, table, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Add the token at [start, end) of a chunk with marks, whatever it is of; nothing when it is empty."""
    if start >= end:
        return
    if end - start == 1 and table[data[start]] & SYMBOL:
        _add_mark(data[start], counts, hashes, lengths)
        return
    every = SYMBOL | ENDS_SENTENCE
    some = characters = 0
    position = start
    while position < end:
        character, size = read_character(data, position, end)
        kinds = character_kinds(table, character)
        every &= kinds
        some |= kinds
        characters += 1
        counts[NUMBER_SIGNS] += character == _NUMBER_SIGN
        counts[ELLIPSES] += character == _ELLIPSIS
        position += size
    if every & SYMBOL == 0:
        _add_word(data, start, end, characters, some, counts, hashes, lengths)
        return
    counts[ELLIPSES] += count_dots(data, start, end) // 3
    place = counts[TOKENS]
    hashes[place] = hash_bytes(data, start, end)
    lengths[place] = characters
    counts[TOKENS] = place + 1
    if characters == 1 and every & ENDS_SENTENCE:
        counts[_HAS_ENDED] = 1


@numba.njit(cache=True)
def _split_chunk(data, start, end, kinds, table, split, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Add the tokens of a run without spaces: marks come off both ends, the rest is split where its language does."""
    while start < end:
        size = 1
        if data[start] >= 128:
            character, size = read_character(data, start, end)
            if character_kinds(table, character) & OPENS == 0:
                break
        elif data[start] == _FULL_STOP:
            size = count_dots(data, start, end)
            if size == 0:
                break
        elif table[data[start]] & OPENS == 0 and not opens_as_plus(data, start, end):
            break
        _add_piece(data, start, start + size, table, counts, hashes, lengths)
        start += size
    core = core_end(data, start, end, table, split)
    if start < core:
        _split_core(data, start, core, kinds & IN_ADDRESS, table, split, counts, hashes, lengths)
    while core < end:
        character, size = read_character(data, core, end)
        if character == _FULL_STOP:
            size = max(1, count_dots(data, core, end))
        elif is_apostrophe(character) and core + size < end and data[core + size] | 32 == _LETTER_S:
            size += 1
        _add_piece(data, core, core + size, table, counts, hashes, lengths)
        core += size


@numba.njit(cache=True)
def _split_core(data, start, end, may_be_address, table, split, counts, hashes, lengths):  # type: ignore[no-untyped-def]
    """Add the tokens of a chunk without the marks at its ends."""
    piece = position = start
    if may_be_address and is_address(data, start, end):
        _add_piece(data, start, end, table, counts, hashes, lengths)
        return
    is_plain, has_letters, has_apostrophe = True, False, False
    previous = 0
    while position < end:
        last, some_letters = plain_run(data, position, end)
        if last > position:
            has_letters |= some_letters
            previous = int(table[data[last - 1]])
            position = last
            continue
        character, size = int(data[position]), 1
        if character >= 128:
            character, size = read_character(data, position, end)
        kinds = character_kinds(table, character)
        length = 0
        if kinds & MARK:
            has_apostrophe |= is_apostrophe(character)
            length = mark_length(data, position, end, character, size, kinds, previous, table, split)
        previous = kinds
        if length == 0:
            is_plain = False
            position += size
            continue
        mark = position
        position += length
        if split & SPLITS_ELISIONS and is_apostrophe(character):
            mark = position  # the article keeps it
            is_plain = False
        if is_plain and piece < mark:
            _add_word(data, piece, mark, mark - piece, ALPHA * has_letters, counts, hashes, lengths)
        else:
            _add_piece(data, piece, mark, table, counts, hashes, lengths)
        _add_piece(data, mark, position, table, counts, hashes, lengths)
        piece = position
        is_plain, has_letters = True, False
    if is_plain:
        if piece < end:
            _add_word(data, piece, end, end - piece, ALPHA * has_letters, counts, hashes, lengths)
        return
    if has_apostrophe and split & IS_ENGLISH:
        half = contraction_start(data, piece, end)
        _add_piece(data, piece, half, table, counts, hashes, lengths)
        piece = half
    _add_piece(data, piece, end, table, counts, hashes, lengths)


@numba.njit(cache=True)
def _phrase_at(data, position, end):  # type: ignore[no-untyped-def]
    """Return the bits of the phrase that begins at `position`, or 0."""
    for phrase in range(_PHRASE_BITS.size):
        first, last = _PHRASE_STARTS[phrase], _PHRASE_STARTS[phrase + 1]
        if position + last - first > end:
            continue
        index = first
        while index < last and (data[position] | 32) == _PHRASE_BYTES[index]:
            index += 1
            position += 1
        if index == last:
            return _PHRASE_BITS[phrase]
        position -= index - first
    return 0
