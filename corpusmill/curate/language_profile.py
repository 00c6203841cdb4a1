"""Rules for one more language, from text of it: its stop words, and English thresholds moved to where its words lie.

As in FineWeb2 (Penedo et al. 2025, arXiv 2506.20920), both come from reference texts of each language: stop words are its
most frequent words, and a threshold is moved with the statistic that it limits. How far is ours: the ratio of the medians
that the language and English have in texts that say the same.
`python -m benchmarks.language_profiles` made `language_rules` with these functions.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate.web import WebRules, measure

MIN_STOP_WORD_SHARE = 0.008
"""Ours, like the next: one word in 125, and the eight most frequent. Gives 8 to 21 words a language; FineWeb2's published
lists have 15 (German) to 22 (Russian)."""
MIN_STOP_WORDS = 8

_WORD = re.compile(r"[^\W\d_]+")


def word_shares(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of every word in the words of the texts, in lower case."""
    counts = Counter(word for text in texts for word in _WORD.findall(text.lower()))
    return {word: count / counts.total() for word, count in counts.items()}


def stop_words(shares: Mapping[str, float]) -> tuple[str, ...]:
    """Return the stop words that shares of words make, the most frequent first."""
    ranked = sorted(shares, key=lambda word: (-shares[word], word))
    frequent = [word for word in ranked if shares[word] >= MIN_STOP_WORD_SHARE]
    return tuple(frequent if len(frequent) >= MIN_STOP_WORDS else ranked[:MIN_STOP_WORDS])


def thresholds(texts: Sequence[str], english: Sequence[str], language: str) -> dict[str, float]:
    """Return the thresholds of Gopher's word rules for a language, from texts that say the same in it and in English.

    The length of words and the share of alphabetic tokens, English's thresholds times the ratio of the medians.
    """
    rules = WebRules()
    own, other = _medians(texts, language), _medians(english, "en")
    length = own["mean_word_length"] / other["mean_word_length"]
    alphabetic = min(1.0, own["alphabetic_token_share"] / other["alphabetic_token_share"])
    return {
        "min_mean_word_characters": round(rules.min_mean_word_characters * length, 1),
        "max_mean_word_characters": round(rules.max_mean_word_characters * length, 1),
        "min_alphabetic_token_share": round(rules.min_alphabetic_token_share * alphabetic, 2),
    }


def _medians(texts: Sequence[str], language: str) -> dict[str, Any]:
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    statistics = measure(column, WebRules(), [language] * len(texts)).statistics
    return {name: float(np.median(values)) for name, values in statistics.items()}
