"""Every statistic that rules about prose need, of a whole column of texts: the kernels, put together.

Texts go through in groups small enough to stay in a core's cache from one kernel to the next.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.byte_kernels import count_characters
from corpusmill.curate.characters import character_table
from corpusmill.curate.line_kernels import LINE_STATISTICS, measure_lines
from corpusmill.curate.repetition_kernels import REPETITION_STATISTICS, measure_repetition
from corpusmill.curate.token_kernels import (
    ALPHABETIC,
    CHARACTERS,
    ELLIPSES,
    LINE_COLUMNS,
    NUMBER_SIGNS,
    TOKENS,
    WORD_CHARACTERS,
    WORDS,
    count_stop_words,
    read_texts,
    word_hash,
)

WORD_STATISTICS = (
    *("characters", "tokens", "words", "mean_word_length", "alphabetic_token_share", "stop_words"),
    *("number_sign_token_ratio", "ellipsis_token_ratio"),
)
"""Tokens are words and marks of punctuation; lengths are in characters; stop words are the distinct ones."""

STATISTICS = (*WORD_STATISTICS, *LINE_STATISTICS, *REPETITION_STATISTICS)
"""Columns of the statistics, in order."""

_GROUP_BYTES = 1 << 17
_NEWLINE = 10


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the texts of a column are read; one number a text, by its language."""

    splits: np.ndarray
    """How words split: flags of `word_kernels`."""
    stop_lists: np.ndarray
    """Which of `stop_words` count."""
    stop_words: tuple[tuple[str, ...], ...]
    min_line_words: np.ndarray
    """Lines of fewer words are cut."""
    max_word_characters: int
    """Lines with a longer word are cut."""
    max_characters: int
    """Longer texts are not measured but for their characters. Memory: 40 bytes a character of the longest text."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured: n values each, NaN where a text is too long, and what to cut."""

    statistics: dict[str, np.ndarray]
    cuts: np.ndarray
    """int64, rows of (text, first character, behind the last, place in CUT_KINDS), in order."""


def measure_texts(column: pa.ChunkedArray | pa.Array, reading: Reading) -> Measured:
    """Return the statistics and cuts of each text of a column; a null is an empty text."""
    data, offsets = text_buffers(column)
    found = np.full((offsets.size - 1, len(STATISTICS)), np.nan)
    stop_hashes, stop_starts = _stop_hashes(reading.stop_words)
    cuts = [np.empty((0, 4), np.int64)]
    lengths = _long_lengths(data, offsets, reading.max_characters)
    scratch = _Scratch()
    for first, last in _groups(offsets, lengths > reading.max_characters):
        if lengths[first] > reading.max_characters:
            found[first, 0] = lengths[first]
            continue
        rows = slice(first, last)
        own = offsets[first : last + 1]
        scratch.make_room(data, own)
        counts, token_offsets, line_offsets = read_texts(
            data, own, character_table(), reading.splits[rows], scratch.hashes, scratch.lengths, scratch.lines
        )
        stops = count_stop_words(scratch.hashes, token_offsets, reading.stop_lists[rows], stop_hashes, stop_starts)
        _note_words(counts, stops, found[rows])
        place = len(WORD_STATISTICS)
        found[rows, place : place + len(LINE_STATISTICS)], cut = measure_lines(
            data, own, character_table(), scratch.lines, line_offsets, counts[:, CHARACTERS],
            reading.min_line_words[rows], reading.max_word_characters, first,
        )  # fmt: skip
        found[rows, place + len(LINE_STATISTICS) :] = measure_repetition(
            scratch.hashes, scratch.lengths, token_offsets, counts[:, CHARACTERS]
        )
        cuts.append(cut)
    statistics = {name: np.ascontiguousarray(found[:, index]) for index, name in enumerate(STATISTICS)}
    return Measured(statistics=statistics, cuts=np.concatenate(cuts))


class _Scratch:
    """Arrays that the kernels fill, used again by the next group; grown where it needs more."""

    def __init__(self) -> None:
        self.hashes = np.empty(0, np.uint64)
        self.lengths = np.empty(0, np.int32)
        self.lines = np.empty((0, LINE_COLUMNS), np.int64)

    def make_room(self, data: np.ndarray, offsets: np.ndarray) -> None:
        num_bytes = int(offsets[-1] - offsets[0])
        num_lines = int(np.count_nonzero(data[offsets[0] : offsets[-1]] == _NEWLINE)) + offsets.size
        if num_bytes > self.hashes.size:
            self.hashes, self.lengths = np.empty(num_bytes, np.uint64), np.empty(num_bytes, np.int32)
        if num_lines > len(self.lines):
            self.lines = np.empty((num_lines, LINE_COLUMNS), np.int64)


def _stop_hashes(lists: tuple[tuple[str, ...], ...]) -> tuple[np.ndarray, np.ndarray]:
    hashes = [word_hash(np.frombuffer(word.encode(), np.uint8)) for words in lists for word in words]
    return np.array(hashes, np.uint64), np.cumsum([0, *map(len, lists)])


def _long_lengths(data: np.ndarray, offsets: np.ndarray, max_characters: int) -> np.ndarray:
    """Return the characters of the texts that may be too long, 0 for the others."""
    lengths = np.zeros(offsets.size - 1, np.int64)
    for row in np.flatnonzero(np.diff(offsets) > max_characters):
        lengths[row] = count_characters(data, offsets[row], offsets[row + 1])
    return lengths


def _groups(offsets: np.ndarray, is_long: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield spans of rows that begin within the same _GROUP_BYTES; a text that is too long is alone."""
    if not is_long.size:
        return
    starts = offsets[:-1] // _GROUP_BYTES
    is_first = np.ones(is_long.size, bool)
    is_first[1:] = (starts[1:] != starts[:-1]) | is_long[1:] | is_long[:-1]
    firsts = np.flatnonzero(is_first)
    yield from zip(firsts.tolist(), [*firsts[1:].tolist(), is_long.size], strict=True)


def _note_words(counts: np.ndarray, stop_words: np.ndarray, found: np.ndarray) -> None:
    tokens = np.maximum(1, counts[:, TOKENS])
    found[:, 0] = counts[:, CHARACTERS]
    found[:, 1] = counts[:, TOKENS]
    found[:, 2] = counts[:, WORDS]
    found[:, 3] = counts[:, WORD_CHARACTERS] / np.maximum(1, counts[:, WORDS])
    found[:, 4] = counts[:, ALPHABETIC] / tokens
    found[:, 5] = stop_words
    found[:, 6] = counts[:, NUMBER_SIGNS] / tokens
    found[:, 7] = counts[:, ELLIPSES] / tokens
