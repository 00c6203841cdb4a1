"""Where a run of characters without spaces splits into words and marks, for `token_kernels`: spaCy's rules, told anew.

Numba's cache notices a change only in the file of the kernel that it compiled: after a change here, remove `__pycache__`.
"""

import numba

from corpusmill.curate.byte_kernels import character_kinds, character_start, read_character
from corpusmill.curate.characters import (
    ALPHA,
    CLOSES,
    DIGIT,
    HYPHEN,
    ICON,
    IDEOGRAPH,
    LOWER,
    OPENS,
    QUOTE,
    SYMBOL,
    UPPER,
)

SPLITS_HYPHENS, SPLITS_HYPHENS_AT_DIGITS, IS_GERMAN, SPLITS_ELISIONS, IS_ENGLISH = 1, 2, 4, 8, 16
"""How a language splits its words: at hyphens between letters, behind digits too, as German does, behind an elided
article (`l'eau`), contractions in two (`do`, `n't`)."""

_NUMBER_SIGN, _PERCENT, _APOSTROPHE, _PLUS, _COMMA = 35, 37, 39, 43, 44
_MINUS, _FULL_STOP, _SLASH, _COLON, _LESS, _EQUAL, _GREATER, _AT, _CARET = 45, 46, 47, 58, 60, 61, 62, 64, 94
_ELLIPSIS, _RIGHT_QUOTE, _FIRST_WIDE, _LETTER_S = 0x2026, 0x2019, 0x3000, 115


@numba.njit(cache=True)
def count_dots(data, position, end):  # type: ignore[no-untyped-def]
    """Return how many full stops stand at `position`, when at least two do, else 0."""
    last = position
    while last < end and data[last] == _FULL_STOP:
        last += 1
    return last - position if last - position > 1 else 0


@numba.njit(cache=True)
def opens_as_plus(data, position, end):  # type: ignore[no-untyped-def]
    return data[position] == _PLUS and not (position + 1 < end and 48 <= data[position + 1] <= 57)


@numba.njit(cache=True)
def core_end(data, start, end, table, split):  # type: ignore[no-untyped-def]
    """Return where the marks at the end of a chunk begin."""
    while start < end:
        last = end - 1
        if data[last] < 128:
            character = int(data[last])
        else:
            last = character_start(data, last)
            character, _ = read_character(data, last, end)
        kinds = character_kinds(table, character)
        if character == _FULL_STOP:
            if last > start and data[last - 1] == _FULL_STOP:
                while end > start and data[end - 1] == _FULL_STOP:
                    end -= 1
                continue
            if last == start or not _full_stop_ends(data, start, last, table, split):
                return end
        elif kinds & CLOSES == 0:
            before = last - 1
            if character | 32 == _LETTER_S and split & IS_GERMAN == 0 and last > start:
                before = character_start(data, before)
                if not is_apostrophe(read_character(data, before, end)[0]):
                    return end
                last = before
            elif not (last > start and 48 <= data[before] <= 57 and _is_unit(table, character)):
                return end
        end = last
    return end


@numba.njit(cache=True)
def mark_length(data, position, end, character, size, kinds, previous, table, split):  # type: ignore[no-untyped-def]
    """Return how many bytes at `position`, inside a chunk, are a token of their own; 0 when the mark belongs to the word."""
    dots = count_dots(data, position, end)
    if dots:
        return dots
    if kinds & (ICON | IDEOGRAPH) or character == _ELLIPSIS or (kinds & SYMBOL and character >= _FIRST_WIDE):
        return size
    following = position + size
    after = character_kinds(table, read_character(data, following, end)[0]) if following < end else 0
    is_in_word = previous & ALPHA and after & ALPHA
    if character == _FULL_STOP:
        return size if previous & (LOWER | QUOTE) and after & (UPPER | QUOTE) else 0
    if character == _COMMA:
        return size if is_in_word else 0
    if character == _SLASH and split & IS_GERMAN:
        return size if previous & (ALPHA | DIGIT) and after & (ALPHA | DIGIT) else 0
    if character in (_COLON, _LESS, _GREATER, _EQUAL, _SLASH):
        return size if previous & (ALPHA | DIGIT) and after & ALPHA else 0
    if kinds & HYPHEN:
        if split & IS_GERMAN:
            return size if previous & DIGIT and after & DIGIT else 0
        is_split = is_in_word and split & SPLITS_HYPHENS
        is_split |= previous & DIGIT and after & ALPHA and split & SPLITS_HYPHENS_AT_DIGITS
        return size if is_split or (character == _MINUS and previous & DIGIT and after & DIGIT) else 0
    if character in (_PLUS, 42, _CARET):
        return size if previous & DIGIT and after & DIGIT and split & IS_GERMAN == 0 else 0
    if is_apostrophe(character):
        return size if split & SPLITS_ELISIONS and is_in_word else 0
    if split & IS_GERMAN and is_in_word:
        return size if kinds & QUOTE or character in (33, 40, 41, 63, 91, 93) else 0
    return 0


@numba.njit(cache=True)
def contraction_start(data, start, end):  # type: ignore[no-untyped-def]
    """Return where the second half of a contraction begins (`do|n't`, `we|'ll`), or `end`."""
    for width in (1, 2):
        position = end - width - 1
        size = 1
        if position > start and data[position] & 0xC0 == 0x80:
            position = character_start(data, position)
            size = 3
        if (
            position <= start
            or end - position != size + width
            or not is_apostrophe(read_character(data, position, end)[0])
        ):
            continue
        letter, other = data[end - width] | 32, data[end - 1] | 32
        if width == 1 and letter == 116 and data[position - 1] | 32 == 110:
            return position - 1 if position - 1 > start else end
        if width == 1 and (letter == 109 or letter == 100):
            return position
        if width == 2 and ((letter == 108 and other == 108) or (other == 101 and (letter == 114 or letter == 118))):
            return position
    return end


@numba.njit(cache=True)
def is_address(data, start, end):  # type: ignore[no-untyped-def]
    """Return whether a chunk is an address of the web or of mail, which stays one token: a host with a lower-case top
    level, or any scheme."""
    position = start
    label = 0
    has_dot = False
    while position < end:
        byte = data[position]
        if byte == _COLON and position + 2 < end and data[position + 1] == _SLASH and data[position + 2] == _SLASH:
            return position > start + 1
        if byte in (_SLASH, _COLON, _NUMBER_SIGN, 63):
            break
        if byte == _AT:
            label, has_dot = 0, False
        elif byte == _FULL_STOP:
            if label == 0:
                return False
            has_dot = position > start
            label = 0
        elif 97 <= byte <= 122:
            label += label >= 0
        elif 48 <= byte <= 57 or 65 <= byte <= 90 or byte in (_MINUS, 95) or byte > 127:
            label = -1000
        else:
            return False
        position += 1
    return has_dot and label >= 2


@numba.njit(cache=True)
def is_apostrophe(character):  # type: ignore[no-untyped-def]
    return character in (_APOSTROPHE, _RIGHT_QUOTE)


@numba.njit(cache=True)
def _is_unit(table, character):  # type: ignore[no-untyped-def]
    """Return whether a sign behind a number is a token of its own: +, % and currencies."""
    is_currency = character == 36 or (character > 127 and character_kinds(table, character) & (OPENS | CLOSES) == OPENS)
    return character in (_PLUS, _PERCENT) or is_currency


@numba.njit(cache=True)
def _full_stop_ends(data, start, last, table, split):  # type: ignore[no-untyped-def]
    """Return whether the full stop at `last` is a token of its own, not the end of an abbreviation or an initial."""
    before = character_start(data, last - 1)
    previous = character_kinds(table, read_character(data, before, last)[0])
    if previous & DIGIT:
        return split & IS_GERMAN == 0
    if previous & (CLOSES | QUOTE) or data[last - 1] in (_PERCENT, _MINUS, _PLUS):
        return True
    if before == start:
        return False  # one letter
    second = character_start(data, before - 1)
    if previous & UPPER:
        return character_kinds(table, read_character(data, second, last)[0]) & UPPER != 0
    return previous & LOWER != 0 and data[second] != _FULL_STOP
