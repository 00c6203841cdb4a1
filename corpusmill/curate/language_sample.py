"""What of a text the language models get to see: a clean sample of bounded size, and the scripts of its letters.

A text above SAMPLE_BYTES is seen through WINDOWS windows spread evenly from its start to its end, so that a menu on top
does not decide. Runs of white space become one space; controls, surrogates, noncharacters and broken UTF-8 count as
white space, because CLD2 refuses them. Costs one pass over the sample, about 400 MB/s; the rest of a text is not read.
"""

from dataclasses import dataclass

import numba
import numpy as np

SAMPLE_BYTES = 4096
WINDOWS = 4
SCRIPTS = (
    *("latin", "cyrillic", "greek", "armenian", "hebrew", "arabic", "syriac", "thaana", "nko", "devanagari"),
    *("bengali", "gurmukhi", "gujarati", "oriya", "tamil", "telugu", "kannada", "malayalam", "sinhala", "thai"),
    *("lao", "tibetan", "myanmar", "georgian", "hangul", "ethiopic", "cherokee", "canadian", "khmer", "mongolian"),
    *("tagalog", "balinese", "javanese", "ol_chiki", "tifinagh", "vai", "meetei", "yi", "han", "kana", "grantha"),
)
MARKS = {
    "azeri": "ҝҜҹҸ",
    "schwa": "әӘ",
    "je": "јЈ",
    "ossetian": "ӕӔ",
    "chuvash": "ӑӐӗӖ",
    "eng": "ŋŊŧŦ",
    "caron": "čČšŠđĐ",
    "ewe": "ƒƑʋƲ",
    "ogonek": "įĮǫǪ",
    "stroke": "łŁ",
    "rare_han": "",
}
"""Letters that give a language away, alone or together (`language_scripts`): the columns of `marks`. `rare_han` are Chinese
characters outside of Unicode's first plane, rare in Chinese and common in Vietnamese written with Chinese characters."""

_LETTERS: tuple[tuple[int, int, str], ...] = (
    *((0x41, 0x5A, "latin"), (0x61, 0x7A, "latin"), (0xAA, 0xAA, "latin"), (0xBA, 0xBA, "latin")),
    *((0xC0, 0xD6, "latin"), (0xD8, 0xF6, "latin"), (0xF8, 0x2AF, "latin"), (0x370, 0x3FF, "greek")),
    *((0x400, 0x481, "cyrillic"), (0x48A, 0x52F, "cyrillic"), (0x531, 0x587, "armenian"), (0x591, 0x5F4, "hebrew")),
    *((0x620, 0x65F, "arabic"), (0x66E, 0x6D3, "arabic"), (0x6D5, 0x6EF, "arabic"), (0x6FA, 0x6FF, "arabic")),
    *((0x710, 0x74F, "syriac"), (0x750, 0x77F, "arabic"), (0x780, 0x7B1, "thaana"), (0x7CA, 0x7FA, "nko")),
    *((0x8A0, 0x8FF, "arabic"), (0x900, 0x963, "devanagari"), (0x971, 0x97F, "devanagari")),
    *((0x980, 0x9E5, "bengali"), (0x9F0, 0x9F1, "bengali"), (0xA01, 0xA5E, "gurmukhi"), (0xA70, 0xA75, "gurmukhi")),
    *((0xA81, 0xAE3, "gujarati"), (0xB01, 0xB63, "oriya"), (0xB82, 0xBD7, "tamil"), (0xC00, 0xC63, "telugu")),
    *((0xC80, 0xCE3, "kannada"), (0xD00, 0xD63, "malayalam"), (0xD7A, 0xD7F, "malayalam"), (0xD81, 0xDDF, "sinhala")),
    *((0xE01, 0xE3A, "thai"), (0xE40, 0xE4E, "thai"), (0xE81, 0xECD, "lao"), (0xEDC, 0xEDF, "lao")),
    *((0xF00, 0xF00, "tibetan"), (0xF40, 0xFBC, "tibetan"), (0x1000, 0x103F, "myanmar"), (0x1050, 0x108F, "myanmar")),
    *((0x10A0, 0x10FF, "georgian"), (0x1100, 0x11FF, "hangul"), (0x1200, 0x135F, "ethiopic")),
    *((0x1380, 0x138F, "ethiopic"), (0x13A0, 0x13FD, "cherokee"), (0x1401, 0x167F, "canadian")),
    *((0x1700, 0x1715, "tagalog"), (0x1780, 0x17D3, "khmer"), (0x1820, 0x18AA, "mongolian")),
    *((0x18B0, 0x18F5, "canadian"), (0x1B00, 0x1B4C, "balinese"), (0x1C5A, 0x1C7D, "ol_chiki")),
    *((0x1C80, 0x1C88, "cyrillic"), (0x1C90, 0x1CBF, "georgian"), (0x1E00, 0x1EFF, "latin"), (0x1F00, 0x1FFF, "greek")),
    *((0x2C60, 0x2C7F, "latin"), (0x2D00, 0x2D2D, "georgian"), (0x2D30, 0x2D7F, "tifinagh")),
    *((0x2D80, 0x2DDE, "ethiopic"), (0x2DE0, 0x2DFF, "cyrillic"), (0x3005, 0x3007, "han"), (0x3041, 0x30FF, "kana")),
    *((0x3131, 0x318E, "hangul"), (0x31F0, 0x31FF, "kana"), (0x3400, 0x4DBF, "han"), (0x4E00, 0x9FFF, "han")),
    *((0xA000, 0xA48C, "yi"), (0xA500, 0xA61F, "vai"), (0xA640, 0xA69F, "cyrillic"), (0xA722, 0xA7FF, "latin")),
    *((0xA980, 0xA9C0, "javanese"), (0xAA60, 0xAA7F, "myanmar"), (0xAB01, 0xAB2E, "ethiopic")),
    *((0xAB30, 0xAB6B, "latin"), (0xAB70, 0xABBF, "cherokee"), (0xABC0, 0xABED, "meetei"), (0xAC00, 0xD7A3, "hangul")),
    *((0xF900, 0xFAFF, "han"), (0xFB00, 0xFB06, "latin"), (0xFB13, 0xFB17, "armenian"), (0xFB1D, 0xFB4F, "hebrew")),
    *((0xFB50, 0xFDC7, "arabic"), (0xFDF0, 0xFDFB, "arabic"), (0xFE70, 0xFEFC, "arabic"), (0xFF21, 0xFF3A, "latin")),
    *((0xFF41, 0xFF5A, "latin"), (0xFF66, 0xFF9D, "kana"), (0xFFA1, 0xFFDC, "hangul"), (0x11301, 0x11374, "grantha")),
    *((0x1B000, 0x1B16F, "kana"), (0x20000, 0x323AF, "han")),
)
_FIRST = np.array([first for first, _, _ in _LETTERS], np.int64)
_LAST = np.array([last for _, last, _ in _LETTERS], np.int64)
_SCRIPT = np.array([SCRIPTS.index(name) for _, _, name in _LETTERS], np.int64)
_MARKED = sorted((ord(letter), index) for index, letters in enumerate(MARKS.values()) for letter in letters)
_MARKED_LETTERS = np.array([letter for letter, _ in _MARKED], np.int64)
_MARK = np.array([index for _, index in _MARKED], np.int64)
_RARE_HAN = list(MARKS).index("rare_han")
_NUM_SCRIPTS, _NUM_MARKS = len(SCRIPTS), len(MARKS)
_LAST_MARKED = int(_MARKED_LETTERS[-1])


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Clean samples of n texts; sample i is `data[offsets[i]:offsets[i + 1]]`, valid UTF-8 on one line."""

    data: np.ndarray
    offsets: np.ndarray
    letters: np.ndarray
    """int64 [n, len(SCRIPTS)]: letters of each script in the sample."""
    marks: np.ndarray
    """int64 [n, len(MARKS)]: how often each of MARKS occurs."""


def take_samples(data: np.ndarray, offsets: np.ndarray) -> Samples:
    """Return the samples of texts as `text_buffers` gives them."""
    sizes = np.minimum(np.diff(offsets), SAMPLE_BYTES + WINDOWS) + 1
    out = np.empty(int(sizes.sum()), np.uint8)
    out_offsets, letters, marks = _sample_texts(data, offsets, out)
    return Samples(data=out[: out_offsets[-1]], offsets=out_offsets, letters=letters, marks=marks)


@numba.njit(cache=True)
def _sample_texts(data, offsets, out):  # type: ignore[no-untyped-def]
    num_texts = offsets.size - 1
    out_offsets = np.zeros(num_texts + 1, np.int64)
    letters = np.zeros((num_texts, _NUM_SCRIPTS), np.int64)
    marks = np.zeros((num_texts, _NUM_MARKS), np.int64)
    end = 0
    for row in range(num_texts):
        text = data[offsets[row] : offsets[row + 1]]
        start = end
        if text.size <= SAMPLE_BYTES:
            end = _clean(text, 0, text.size, out, start, end, letters[row], marks[row])
        else:
            size = SAMPLE_BYTES // WINDOWS
            for window in range(WINDOWS):
                first = _character_start(text, window * (text.size - size) // (WINDOWS - 1))
                end = _clean(text, first, first + size, out, start, end, letters[row], marks[row])
                if end > start and out[end - 1] != 32:
                    out[end] = 32
                    end += 1
        out_offsets[row + 1] = end
    return out_offsets, letters, marks


@numba.njit(cache=True)
def _character_start(text, position):  # type: ignore[no-untyped-def]
    while position < text.size and text[position] & 0xC0 == 0x80:
        position += 1
    return position


@numba.njit(cache=True)
def _clean(text, first, last, out, start, end, letters, marks):  # type: ignore[no-untyped-def]
    """Append the characters of a span to `out`, count its letters, and return the new end; a character cut is left out."""
    position = first
    last = min(last, text.size)
    while position < last:
        value, size = _read(text, position)
        if position + size > last:
            break
        if value <= 32 or _is_refused(value):
            if end > start and out[end - 1] != 32:
                out[end] = 32
                end += 1
        else:
            for index in range(position, position + size):
                out[end] = text[index]
                end += 1
            _count(value, letters, marks)
        position += size
    return end


@numba.njit(cache=True)
def _read(text, position):  # type: ignore[no-untyped-def]
    """Return (code point, bytes) of the character at `position`; (0, 1) where the bytes are no UTF-8."""
    first = np.int64(text[position])
    if first < 0x80:
        return first, 1
    if first < 0xC2 or first > 0xF4:
        return np.int64(0), 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if position + size > text.size:
        return np.int64(0), 1
    value = first & (0xFF >> (size + 1))
    for index in range(position + 1, position + size):
        if text[index] & 0xC0 != 0x80:
            return np.int64(0), 1
        value = value << 6 | np.int64(text[index] & 0x3F)
    is_short = (size == 3 and value < 0x800) or (size == 4 and (value < 0x10000 or value > 0x10FFFF))
    return (np.int64(0), 1) if is_short else (value, size)


@numba.njit(cache=True)
def _is_refused(value):  # type: ignore[no-untyped-def]
    """Return whether CLD2 refuses a character: a control, surrogate or noncharacter; white space above ASCII, too."""
    if value < 0x7F:
        return False
    is_control = value <= 0xA0 or 0xD800 <= value <= 0xDFFF or 0xFDD0 <= value <= 0xFDEF or value & 0xFFFE == 0xFFFE
    return is_control or 0x2000 <= value <= 0x200B or value in (0x2028, 0x2029, 0x3000, 0xFEFF)


@numba.njit(cache=True)
def _count(value, letters, marks):  # type: ignore[no-untyped-def]
    row = np.searchsorted(_FIRST, value, side="right") - 1
    if row < 0 or value > _LAST[row]:
        return
    letters[_SCRIPT[row]] += 1
    if value >= 0x20000:
        marks[_RARE_HAN] += 1
    elif 0xFF < value <= _LAST_MARKED:
        place = np.searchsorted(_MARKED_LETTERS, value)
        if _MARKED_LETTERS[place] == value:
            marks[_MARK[place]] += 1
