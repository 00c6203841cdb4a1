"""What each character is to the kernels: one table of bits over code points, built once from Python's Unicode data.

Which marks come off a word's ends and which split it in the middle follows what spaCy's tokenizers do, so that counts of
words and marks compare with those of datatrove, which uses them.
"""

import functools
import unicodedata

import numpy as np

SPACE, ALPHA, DIGIT, UPPER, LOWER = 1, 2, 4, 8, 16
SYMBOL = 32
"""Punctuation, symbols and control characters; a token of nothing else is no word."""
MARK = 64
"""Everything that makes a run of characters more than one plain word: symbols and ideographs."""
OPENS, CLOSES = 128, 256
"""Comes off the beginning, the end of a run of characters as a token of its own."""
QUOTE, HYPHEN, ICON = 512, 1024, 2048
ENDS_SENTENCE = 4096
IDEOGRAPH = 8192
"""Han and kana, written without spaces: each is a token of its own."""

CURLY = 16384
IN_ADDRESS = 32768
"""One of the marks that an address of the web or of mail holds: full stop, colon, at."""

TABLE_SIZE = 0x20000
"""Characters behind it are rare ideographs, private and tags: `BEYOND`."""
BEYOND = ALPHA | MARK | IDEOGRAPH

_ASCII_OPENS = set("!\"#$%&'()*,:;<=>?[]_`{}")
_ASCII_CLOSES = set("!\"#&'()*,:;<>?[]_`{}")
_QUOTES = set("'\"`´‘’‚“”„«»‹›「」『』")
_HYPHENS = set("-–—~")
_END_NAMES = ("FULL STOP", "QUESTION MARK", "EXCLAMATION", "DANDA")
_NO_ENDS = ("INVERTED", "COMMA", "DOTLESS")


@functools.cache
def character_table() -> np.ndarray:
    """Return the bits of every code point below TABLE_SIZE, uint16."""
    return np.array([_bits(chr(point)) for point in range(TABLE_SIZE)], np.uint16)


def _bits(character: str) -> int:
    category = unicodedata.category(character)
    if character.isspace():
        return SPACE
    bits = ALPHA * character.isalpha() | UPPER * character.isupper() | LOWER * character.islower()
    bits |= DIGIT * (category == "Nd")
    if category[0] in "PS" or category == "Cc":
        bits |= SYMBOL | MARK | _mark_bits(character, category)
    if _is_ideograph(character):
        bits |= MARK | IDEOGRAPH
    return bits


def _mark_bits(character: str, category: str) -> int:
    is_dash = character in "–—"
    opens = character in _ASCII_OPENS or (character > "\x7f" and (category[0] == "P" or category in ("So", "Sc")))
    closes = character in _ASCII_CLOSES or (character > "\x7f" and (category[0] == "P" or category == "So"))
    if category == "Pd" and character > "\x7f" and not is_dash:
        opens = closes = False
    bits = OPENS * opens | CLOSES * closes | CURLY * (character == "{") | IN_ADDRESS * (character in ".:@")
    bits |= QUOTE * (character in _QUOTES) | HYPHEN * (character in _HYPHENS) | ICON * (category == "So")
    return bits | ENDS_SENTENCE * _ends_sentence(character, category)


def _ends_sentence(character: str, category: str) -> bool:
    """Return whether Unicode's Sentence_Terminal property holds, told by name, as Python does not carry it."""
    name = unicodedata.name(character, "")
    return category == "Po" and any(end in name for end in _END_NAMES) and not any(no in name for no in _NO_ENDS)


def _is_ideograph(character: str) -> bool:
    name = unicodedata.name(character, "")
    return name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER", "KATAKANA LETTER"))
