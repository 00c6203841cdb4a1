"""Web pages worth training on: the rules of Gopher, C4 and FineWeb, language, and what to mask or cut.

Every statistic is measured for every page, so that a threshold can be moved by a query instead of a run. Costs: numba
kernels for the statistics, a few Python calls a page for language, addresses and line cuts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate import verdicts
from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.edits import merge_edits
from corpusmill.curate.language import detect_languages
from corpusmill.curate.line_cuts import LineCuts, cut_lines
from corpusmill.curate.pii import find_pii
from corpusmill.curate.pii_kinds import WEB_PII
from corpusmill.curate.text_kernels import STATISTICS, measure_texts, word_hash
from corpusmill.curate.verdicts import Check, Judged

_FEW_TEXTS = 1024


@dataclass(frozen=True, kw_only=True)
class WebRules:
    """Thresholds, each from the paper named; a page is dropped when a statistic lies outside."""

    languages: tuple[str, ...] = ("en",)
    """Codes of lid.176; empty keeps every language. The word rules are made for languages with spaces."""
    min_language_score: float = 0.65
    """FineWeb (Penedo et al. 2024, arXiv 2406.17557), section 3.1."""
    min_words: int = 50
    """Gopher (Rae et al. 2021, arXiv 2112.11446), section A1.1, like all up to `min_stop_words`."""
    max_words: int = 100_000
    min_mean_word_characters: float = 3.0
    max_mean_word_characters: float = 10.0
    max_hash_word_ratio: float = 0.1
    max_ellipsis_word_ratio: float = 0.1
    max_bullet_line_share: float = 0.9
    max_ellipsis_line_share: float = 0.3
    min_alphabetic_token_share: float = 0.8
    min_stop_words: int = 2
    stop_words: tuple[str, ...] = ("the", "be", "to", "of", "and", "that", "have", "with")
    """Distinct ones that must occur; lower-case ASCII."""
    max_duplicate_line_share: float = 0.3
    """Gopher, table A1, like all down to `max_duplicate_ngram_shares`."""
    max_duplicate_paragraph_share: float = 0.3
    max_duplicate_line_character_share: float = 0.2
    max_duplicate_paragraph_character_share: float = 0.2
    max_top_ngram_shares: tuple[float, ...] = (0.20, 0.18, 0.16)
    """For n-grams of 2, 3, 4 words."""
    max_duplicate_ngram_shares: tuple[float, ...] = (0.15, 0.14, 0.13, 0.12, 0.11, 0.10)
    """For n-grams of 5 to 10 words."""
    min_line_words: int = 3
    """C4 (Raffel et al. 2020, arXiv 1910.10683v3, section 2.2); shorter lines are cut, 0 cuts none."""
    max_word_characters: int = 1000
    """C4's published code; a line with a longer word is cut."""
    min_sentences: int = 5
    """C4, as above: a page needs so many in the lines that stay."""
    keeps_curly_brackets: bool = True
    """C4 drops every page with one; FineWeb section 3.5 found its gain not worth the loss."""
    min_punctuated_line_share: float = 0.12
    """FineWeb, section 3.6, like the next two."""
    max_fineweb_duplicate_line_character_share: float = 0.1
    max_short_line_share: float = 0.67
    """Lines of at most 30 characters."""
    max_newline_word_ratio: float = 0.3
    """FineWeb's published code (datatrove, `new_line_ratio`)."""
    masks_pii: bool = True
    max_characters: int = 10_000_000
    """Ours: bounds a judge's memory to about 0.5 GB. C4's longest page has under 2,000,000."""

    def __post_init__(self) -> None:
        if len(self.max_top_ngram_shares) != 3 or len(self.max_duplicate_ngram_shares) != 6:
            raise ValueError(
                "max_top_ngram_shares needs 3 values (2 to 4 words) and max_duplicate_ngram_shares 6 (5 to 10 words), got "
                f"{len(self.max_top_ngram_shares)} and {len(self.max_duplicate_ngram_shares)}"
            )
        if not all(word.isascii() and word == word.lower() for word in self.stop_words):
            raise ValueError(f"stop words are compared in lower-case ASCII, got {self.stop_words}")


_C4_STATISTICS = ("sentences", "cut_lines")


def verdict_schema() -> pa.Schema:
    """Return the schema of a verdicts table of web pages."""
    return verdicts.verdict_schema([*STATISTICS, *_C4_STATISTICS])


def judge(texts: pa.Table, parameters: Mapping[str, Any]) -> pa.Table:
    """Return one verdict per EXTRACTED row that has a text, in their order; `parameters["rules"]` changes WebRules.

    Rows without text failed at extraction and get no verdict.
    """
    rules = verdicts.rules_from(WebRules, parameters)
    readable = texts.filter(texts["text"].is_valid())
    parts = [_judge(readable.slice(row, _FEW_TEXTS), rules) for row in range(0, max(1, len(readable)), _FEW_TEXTS)]
    return pa.concat_tables(parts)


def _judge(texts: pa.Table, rules: WebRules) -> pa.Table:
    measured = measure(texts["text"], rules)
    is_long = measured["characters"] > rules.max_characters
    contents = ["" if too_long else text.as_py() for text, too_long in zip(texts["text"], is_long, strict=True)]
    languages, scores = detect_languages(contents)
    cuts = [_cut(text, rules) for text in contents]
    statistics = {**measured, "sentences": _floats(cuts, "num_sentences"), "cut_lines": _num_cuts(cuts)}
    checks = [
        Check(reason="too_long", is_broken=is_long),
        *_language_checks(languages, scores, rules),
        *_gopher_quality(statistics, rules),
        *_gopher_repetition(statistics, rules),
        *_c4(statistics, cuts, rules),
        *_fineweb(statistics, rules),
    ]
    pii = (
        find_pii(pa.chunked_array([contents], pa.large_string()), WEB_PII) if rules.masks_pii else [[]] * len(contents)
    )
    edits = [merge_edits([*cut.edits, *masks]) for cut, masks in zip(cuts, pii, strict=True)]
    return verdicts.verdict_table(
        Judged(
            doc_ids=texts["doc_id"],
            languages=languages,
            language_scores=scores,
            checks=checks,
            edits=edits,
            statistics=statistics,
        )
    )


def measure(column: pa.ChunkedArray, rules: WebRules) -> dict[str, np.ndarray]:
    """Return the statistics of STATISTICS for each text of a column."""
    data, offsets = text_buffers(column)
    stop_hashes = np.array([word_hash(word) for word in rules.stop_words], np.uint64)
    table = measure_texts(data, offsets, stop_hashes, rules.max_words, rules.max_characters)
    return {name: np.ascontiguousarray(table[:, index]) for index, name in enumerate(STATISTICS)}


def _cut(text: str, rules: WebRules) -> LineCuts:
    return cut_lines(text, min_words=rules.min_line_words, max_word_characters=rules.max_word_characters)


def _floats(cuts: list[LineCuts], name: str) -> np.ndarray:
    return np.array([getattr(cut, name) for cut in cuts], np.float64)


def _num_cuts(cuts: list[LineCuts]) -> np.ndarray:
    return np.array([len(cut.edits) for cut in cuts], np.float64)


def _language_checks(languages: list[str | None], scores: list[float | None], rules: WebRules) -> list[Check]:
    if not rules.languages:
        return []
    is_other = np.array([language not in rules.languages for language in languages], bool)
    is_unsure = np.array([score is not None and score < rules.min_language_score for score in scores], bool)
    return [
        Check(reason="language_not_wanted", is_broken=is_other),
        Check(reason="language_unclear", is_broken=is_unsure),
    ]


def _gopher_quality(found: Mapping[str, np.ndarray], rules: WebRules) -> list[Check]:
    return [
        Check(reason="too_few_words", is_broken=found["words"] < rules.min_words),
        Check(reason="too_many_words", is_broken=found["words"] > rules.max_words),
        Check(reason="words_too_short", is_broken=found["mean_word_length"] < rules.min_mean_word_characters),
        Check(reason="words_too_long", is_broken=found["mean_word_length"] > rules.max_mean_word_characters),
        Check(reason="too_many_hash_signs", is_broken=found["hash_word_ratio"] > rules.max_hash_word_ratio),
        Check(reason="too_many_ellipses", is_broken=found["ellipsis_word_ratio"] > rules.max_ellipsis_word_ratio),
        Check(reason="too_many_bullet_lines", is_broken=found["bullet_line_share"] > rules.max_bullet_line_share),
        Check(reason="too_many_ellipsis_lines", is_broken=found["ellipsis_line_share"] > rules.max_ellipsis_line_share),
        Check(
            reason="too_few_alphabetic_words",
            is_broken=found["alphabetic_token_share"] < rules.min_alphabetic_token_share,
        ),
        Check(reason="too_few_stop_words", is_broken=found["stop_words"] < rules.min_stop_words),
    ]


def _gopher_repetition(found: Mapping[str, np.ndarray], rules: WebRules) -> list[Check]:
    limits = {
        "duplicate_line_share": ("repeated_lines", rules.max_duplicate_line_share),
        "duplicate_paragraph_share": ("repeated_paragraphs", rules.max_duplicate_paragraph_share),
        "duplicate_line_character_share": ("repeated_line_characters", rules.max_duplicate_line_character_share),
        "duplicate_paragraph_character_share": (
            "repeated_paragraph_characters",
            rules.max_duplicate_paragraph_character_share,
        ),
    }
    for size, limit in enumerate(rules.max_top_ngram_shares, start=2):
        limits[f"top_{size}gram_character_share"] = (f"one_{size}gram_too_frequent", limit)
    for size, limit in enumerate(rules.max_duplicate_ngram_shares, start=5):
        limits[f"duplicate_{size}gram_character_share"] = (f"repeated_{size}grams", limit)
    return [Check(reason=reason, is_broken=found[name] > limit) for name, (reason, limit) in limits.items()]


def _c4(found: Mapping[str, np.ndarray], cuts: list[LineCuts], rules: WebRules) -> list[Check]:
    has_lorem_ipsum = np.array([cut.has_lorem_ipsum for cut in cuts], bool)
    has_bracket = np.array([cut.has_curly_bracket and not rules.keeps_curly_brackets for cut in cuts], bool)
    return [
        Check(reason="lorem_ipsum", is_broken=has_lorem_ipsum),
        Check(reason="curly_bracket", is_broken=has_bracket),
        Check(reason="too_few_sentences", is_broken=found["sentences"] < rules.min_sentences),
    ]


def _fineweb(found: Mapping[str, np.ndarray], rules: WebRules) -> list[Check]:
    repeated = found["duplicate_line_character_share"] > rules.max_fineweb_duplicate_line_character_share
    return [
        Check(
            reason="too_few_punctuated_lines",
            is_broken=found["punctuated_line_share"] < rules.min_punctuated_line_share,
        ),
        Check(reason="too_many_short_lines", is_broken=found["short_line_share"] > rules.max_short_line_share),
        Check(reason="repeated_lines_fineweb", is_broken=repeated),
        Check(reason="too_many_newlines", is_broken=found["newline_word_ratio"] > rules.max_newline_word_ratio),
    ]
