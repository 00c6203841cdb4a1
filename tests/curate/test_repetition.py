"""Repeated n-grams against a plain telling of Gopher's definitions, and texts that no kernel may stumble over."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.curate import web
from corpusmill.curate.repetition_kernels import REPETITION_STATISTICS, measure_repetition
from corpusmill.curate.token_kernels import word_hash

RULES = web.WebRules(min_line_words=0)


def shares_of(words: list[str], characters: int) -> dict[str, float]:
    hashes = np.array([word_hash(np.frombuffer(word.encode(), np.uint8)) for word in words], np.uint64)
    lengths = np.array([len(word) for word in words], np.int32)
    offsets, sizes = np.array([0, len(words)]), np.array([characters])
    return dict(
        zip(REPETITION_STATISTICS, measure_repetition(hashes, lengths, offsets, sizes)[0].tolist(), strict=True)
    )


def top(words: list[str], size: int) -> int:
    grams = [" ".join(words[place : place + size]) for place in range(len(words) - size + 1)]
    gram, count = Counter(grams).most_common(1)[0] if grams else ("", 0)
    return len(gram) * count


def repeated(words: list[str], size: int) -> int:
    seen: set[tuple[str, ...]] = set()
    covered = place = 0
    while place <= len(words) - size:
        gram = tuple(words[place : place + size])
        covered += len("".join(gram)) if gram in seen else 0
        place += size if gram in seen else 1
        seen.add(gram)
    return covered


WORDS = st.lists(st.sampled_from(["a", "be", "see", "defg"]), max_size=120)


@settings(max_examples=300, deadline=None)
@given(WORDS, st.integers(1, 3))
def test_shares_are_as_told_plainly(words, times):
    words = words * times
    found = shares_of(words, 10_000)
    for size in (2, 3, 4):
        assert found[f"top_{size}gram_character_share"] == pytest.approx(top(words, size) / 10_000)
    for size in range(5, 11):
        assert found[f"duplicate_{size}gram_character_share"] == pytest.approx(repeated(words, size) / 10_000)


def test_long_texts_are_counted_as_short_ones():
    words = [f"w{number % 997}" for number in range(50_000)]
    assert shares_of(words, 1)["top_2gram_character_share"] == 1.0  # never more than all
    assert shares_of(words, 10_000_000)["duplicate_10gram_character_share"] == pytest.approx(
        repeated(words, 10) / 10_000_000
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=5))
def test_bytes_that_are_no_text_do_not_crash(texts):
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(texts))]
    column = pa.Array.from_buffers(pa.large_string(), len(texts), buffers)
    found = web.measure(pa.chunked_array([column]), RULES, ["en"] * len(texts)).statistics
    assert all(np.isfinite(values).all() for values in found.values())


@pytest.mark.parametrize(
    "text",
    ["\x00" * 1000, "\ufeffthe \ufeff end", "a\r\nb\rc\u2028d\x85e", "שלום עולם، مرحبا", "…" * 500, "." * 500, "'" * 500,
     "a" * 100_000, "ж" * 100_000, "- " * 5000, "n't 's 'll", "#" * 100, "://", "@", ":" * 99, "\u200f\u202e"],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "de", "fr", "zh", None])
def test_odd_texts_are_measured(text, language):
    own = pa.chunked_array([pa.array([text, "behind it."], pa.large_string())])
    found = web.measure(own, RULES, [language] * 2).statistics
    assert found["characters"].tolist() == [len(text), 10]
    assert found["tokens"][1] == 3
    assert all(values[0] >= 0 for values in found.values())


def test_one_line_of_100_mb_is_too_long_and_costs_nothing_more():
    column = pa.chunked_array([pa.array(["word " * 20_000_000, "The end is here."], pa.large_string())])
    found = web.measure(column, RULES, ["en"] * 2).statistics
    assert found["characters"].tolist() == [100_000_000, 16]
    assert np.isnan(found["words"][0])
    assert found["words"][1] == 4
