"""Words and pairs of words of a text, hashed to weights: the inner loops of the quality classifier.

A word is a run of letters and digits, its capitals lowered where Latin, Greek and Cyrillic have them; each character of
a script without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) is a word of its own. A text's features are its
words and its pairs of neighbouring words; a feature is the place of its hash in a table of weights, as in fastText
(Joulin et al. 2016, arXiv 1607.01759). Costs one pass over the text; no memory for each word of a text that is scored.

All kernels are in this file because numba's cache notices a change only in the file that it compiles.
"""

import numba
import numpy as np

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SEED = np.uint64(0xCBF29CE484222325)
_ADAGRAD_START = 1e-8
_SPACELESS = np.array(
    [
        *((0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029)),
        *((0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D), (0x20000, 0x323AF)),
    ],
    np.int64,
)
_SYMBOLS = np.array(
    [
        *((0x80, 0xA9), (0xAB, 0xB4), (0xB6, 0xB9), (0xBB, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7), (0x60C, 0x60C)),
        *((0x61B, 0x61B), (0x61F, 0x61F), (0x6D4, 0x6D4), (0x964, 0x965), (0x1680, 0x1680), (0x2000, 0x206F)),
        *((0x20A0, 0x20CF), (0x2190, 0x2BFF), (0x3000, 0x3004), (0x3008, 0x3020), (0x3030, 0x303F), (0xFE10, 0xFE6F)),
        *((0xFF01, 0xFF0F), (0xFF1A, 0xFF20), (0xFF3B, 0xFF40), (0xFF5B, 0xFF65), (0xFFF0, 0xFFFF), (0x1F000, 0x1FAFF)),
    ],
    np.int64,
)
_BREAK, _LETTER, _ALONE = 0, 1, 2


@numba.njit(cache=True)
def score_texts(data, offsets, weights, bias, max_words):  # type: ignore[no-untyped-def]
    """Return the mean weight of each text's features plus the bias (log-odds); NaN for a text without a word."""
    scores = np.empty(offsets.size - 1)
    features = np.empty(2 * max_words, np.int64)
    for row in range(scores.size):
        count = _features(data[offsets[row] : offsets[row + 1]], features, weights.size - 1)
        total = 0.0
        for index in range(count):
            total += weights[features[index]]
        scores[row] = total / count + bias if count else np.nan
    return scores


@numba.njit(cache=True)
def train_epoch(data, offsets, is_positive, order, weights, squares, bias, learning_rate, max_words):  # type: ignore[no-untyped-def]
    """Take one step of AdaGrad (Duchi et al. 2011) on the log-loss of each text, in `order`; changes its arrays in place.

    `bias` is [bias, its sum of squares].
    """
    features = np.empty(2 * max_words, np.int64)
    for row in order:
        count = _features(data[offsets[row] : offsets[row + 1]], features, weights.size - 1)
        if count == 0:
            continue
        total = 0.0
        for index in range(count):
            total += weights[features[index]]
        error = 1 / (1 + np.exp(-(total / count + bias[0]))) - is_positive[row]
        bias[1] += error * error
        bias[0] -= learning_rate * error / np.sqrt(bias[1] + _ADAGRAD_START)
        step = error / count
        for index in range(count):
            feature = features[index]
            squares[feature] += step * step
            weights[feature] -= learning_rate * step / np.sqrt(squares[feature] + _ADAGRAD_START)


@numba.njit(cache=True)
def _features(text, features, mask):  # type: ignore[no-untyped-def]
    """Fill the places of a text's words and pairs of words; return how many there are."""
    count = words = 0
    previous = np.uint64(0)
    word = _SEED
    position = 0
    while position <= text.size:
        character, size = _read(text, position) if position < text.size else (np.int64(32), 1)
        kind = _kind(character)
        if kind != _LETTER and word != _SEED:
            count = _add(features, count, word, previous, mask)
            previous, word, words = word, _SEED, words + 1
        if kind != _BREAK:
            word = (word ^ np.uint64(_lowered(character))) * _PRIME
        if kind == _ALONE and count + 2 <= features.size:
            count = _add(features, count, word, previous, mask)
            previous, word, words = word, _SEED, words + 1
        if count + 2 > features.size:
            break
        position += size
    return count


@numba.njit(cache=True)
def _add(features, count, word, previous, mask):  # type: ignore[no-untyped-def]
    features[count] = np.int64(_mixed(word) & np.uint64(mask))
    if count == 0:
        return 1
    features[count + 1] = np.int64(_mixed(previous * _PRIME + word) & np.uint64(mask))
    return count + 2


@numba.njit(cache=True)
def _mixed(value):  # type: ignore[no-untyped-def]
    value ^= value >> np.uint64(32)
    value *= np.uint64(0xD6E8FEB86659FD93)
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True)
def _read(text, position):  # type: ignore[no-untyped-def]
    first = text[position]
    if first < 0x80:
        return np.int64(first), 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    value = np.int64(first & (0xFF >> (size + 1)))
    for index in range(position + 1, min(position + size, text.size)):
        value = value << 6 | np.int64(text[index] & 0x3F)
    return value, size


@numba.njit(cache=True)
def _kind(value):  # type: ignore[no-untyped-def]
    if value < 0x80:
        is_letter = 97 <= value <= 122 or 65 <= value <= 90 or 48 <= value <= 57
        return _LETTER if is_letter else _BREAK
    if value >= 0xE00 and _is_in(value, _SPACELESS):
        return _ALONE
    return _BREAK if _is_in(value, _SYMBOLS) else _LETTER


@numba.njit(cache=True)
def _is_in(value, ranges):  # type: ignore[no-untyped-def]
    row = np.searchsorted(ranges[:, 0], value, side="right") - 1
    return row >= 0 and value <= ranges[row, 1]


@numba.njit(cache=True)
def _lowered(value):  # type: ignore[no-untyped-def]
    is_shifted = 65 <= value <= 90 or (0xC0 <= value <= 0xDE and value != 0xD7)
    if is_shifted or 0x391 <= value <= 0x3A9 or 0x410 <= value <= 0x42F:
        return value + 32
    return value + 80 if 0x400 <= value <= 0x40F else value
