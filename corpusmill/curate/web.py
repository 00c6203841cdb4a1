"""Web pages worth training on: the rules of Gopher, C4 and FineWeb, language, and what to mask or cut.

Every statistic is measured for every page, so that a threshold can be moved by a query instead of a run. Costs: numba
kernels for the statistics, a few Python calls a page for language, addresses and line cuts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate import verdicts
from corpusmill.curate.decisions import (
    Check,
    at_least,
    at_most,
    language_checks,
    limit_checks,
    numbers,
    value_by_language,
)
from corpusmill.curate.edit_columns import edits_column
from corpusmill.curate.language import IDENTIFIED, identify
from corpusmill.curate.language_codes import language_code
from corpusmill.curate.language_names import check_languages
from corpusmill.curate.language_rules import LANGUAGE_RULES, word_splits
from corpusmill.curate.pii import STATISTICS as PII_STATISTICS
from corpusmill.curate.pii_kinds import WEB_PII
from corpusmill.curate.pii_rules import find_personal_data, personal_data_check, pii_policy
from corpusmill.curate.quality import Classifier, quality_statistics
from corpusmill.curate.quality_rules import (
    check_classifiers,
    check_tiers,
    check_tiers_are_known,
    spare_best_tiers,
    tier_checks,
)
from corpusmill.curate.text_statistics import STATISTICS, Measured, Reading, measure_texts
from corpusmill.curate.verdicts import Judged

_FOR_ALL_LANGUAGES = (
    "languages",
    "identifies_language",
    "max_word_characters",
    "masks_pii",
    "pii_actions",
    "max_characters",
    "spared_tiers_from",
    "min_quality_tier",
)


@dataclass(frozen=True, kw_only=True)
class WebRules:
    """Thresholds, each from the paper named; a page is dropped when a statistic lies outside."""

    languages: tuple[str, ...] = ("en",)
    """ISO 639-1 codes, 639-3 where there is none (`language_codes`); empty keeps every language."""
    identifies_language: bool = True
    """False takes the language that each record declares, where a source is known to be right; its score is null."""
    min_language_score: float = 0.65
    """FineWeb (Penedo et al. 2024, arXiv 2406.17557), section 3.1."""
    min_words: int = 50
    """Gopher (Rae et al. 2021, arXiv 2112.11446), section A1.1, like all up to `min_stop_words`."""
    max_words: int = 100_000
    min_mean_word_characters: float = 3.0
    max_mean_word_characters: float = 10.0
    max_number_sign_ratio: float = 0.1
    """Number signs per token; words and marks of punctuation are tokens, as in datatrove."""
    max_ellipsis_ratio: float = 0.1
    max_bullet_line_share: float = 0.9
    max_ellipsis_line_share: float = 0.3
    min_alphabetic_token_share: float = 0.8
    min_stop_words: int = 2
    stop_words: tuple[str, ...] = ("the", "be", "to", "of", "and", "that", "have", "with")
    """Distinct ones that must occur, as they are spelled here."""
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
    max_lorem_ipsum_lines: int = 0
    """C4, as above, like the next."""
    max_curly_bracket_lines: float = float("inf")
    """C4 drops every page with one (0 does so); FineWeb section 3.5 found its gain not worth the loss."""
    min_punctuated_line_share: float = 0.12
    """FineWeb, section 3.6, like the next two."""
    max_fineweb_duplicate_line_character_share: float = 0.1
    max_short_line_share: float = 0.67
    """Lines of at most 30 characters."""
    max_newline_ratio: float = 0.3
    """FineWeb's published code (datatrove, `new_line_ratio`): newlines per token."""
    masks_pii: bool = True
    """The kinds of WEB_PII; False looks for none."""
    pii_actions: Mapping[str, str] = field(default_factory=dict)
    """By kind of personal data: `mask`, `drop` or `leave`, where that differs from WEB_PII."""
    max_characters: int = 10_000_000
    """Ours: bounds a judge's memory to about 0.5 GB. C4's longest page has under 2,000,000."""
    spared_tiers_from: int | None = None
    """Pages of this quality tier (0 to 19) or a better one are not dropped by Gopher's, C4's and FineWeb's rules, but for
    those of length: as Nemotron-CC does (Su et al. 2024, arXiv 2412.02595). Needs classifiers, like the next."""
    min_quality_tier: int | None = None
    """Pages of a lower tier are dropped; those without a word have no tier, and stay."""
    by_language: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: LANGUAGE_RULES)
    """What differs for a language, by its code and the names above; `{}` judges all languages alike."""

    def __post_init__(self) -> None:
        check_languages((*self.languages, *self.by_language), are_declared=not self.identifies_language)
        pii_policy(WEB_PII, self)
        check_tiers(spared_tiers_from=self.spared_tiers_from, min_quality_tier=self.min_quality_tier)
        for shares, sizes in ((self.max_top_ngram_shares, "2 to 4"), (self.max_duplicate_ngram_shares, "5 to 10")):
            wanted = 3 if sizes == "2 to 4" else 6
            if len(shares) != wanted:
                raise ValueError(f"n-grams of {sizes} words need {wanted} shares, got {shares}")
        names = {one.name for one in fields(self)} - {"by_language", *_FOR_ALL_LANGUAGES}
        for language, changed in self.by_language.items():
            if unknown := sorted(set(changed) - names):
                raise ValueError(
                    f"{', '.join(unknown)} cannot differ for {language!r}; what can: {', '.join(sorted(names))}"
                )


MEASURED_WITH = (
    "stop_words",
    "min_line_words",
    "max_word_characters",
    "masks_pii",
    "pii_actions",
    "identifies_language",
)
MEASURED = "words"

_LENGTHS = (
    at_least("min_words", "words", "too_few_words"),
    at_most("max_words", "words", "too_many_words"),
)
HEURISTICS = (
    at_least("min_mean_word_characters", "mean_word_length", "words_too_short"),
    at_most("max_mean_word_characters", "mean_word_length", "words_too_long"),
    at_most("max_number_sign_ratio", "number_sign_token_ratio", "too_many_hash_signs"),
    at_most("max_ellipsis_ratio", "ellipsis_token_ratio", "too_many_ellipses"),
    at_most("max_bullet_line_share", "bullet_line_share", "too_many_bullet_lines"),
    at_most("max_ellipsis_line_share", "ellipsis_line_share", "too_many_ellipsis_lines"),
    at_least("min_alphabetic_token_share", "alphabetic_token_share", "too_few_alphabetic_words"),
    at_least("min_stop_words", "stop_words", "too_few_stop_words"),
    at_most("max_duplicate_paragraph_share", "duplicate_paragraph_share", "repeated_paragraphs"),
    at_most(
        "max_duplicate_paragraph_character_share",
        "duplicate_paragraph_character_share",
        "repeated_paragraph_characters",
    ),
    at_most("max_duplicate_line_share", "duplicate_line_share", "repeated_lines"),
    at_most("max_duplicate_line_character_share", "duplicate_line_character_share", "repeated_line_characters"),
    *(
        at_most("max_top_ngram_shares", f"top_{size}gram_character_share", f"one_{size}gram_too_frequent", size - 2)
        for size in (2, 3, 4)
    ),
    *(
        at_most(
            "max_duplicate_ngram_shares", f"duplicate_{size}gram_character_share", f"repeated_{size}grams", size - 5
        )
        for size in (5, 6, 7, 8, 9, 10)
    ),
    at_most("max_lorem_ipsum_lines", "lorem_ipsum_lines", "lorem_ipsum"),
    at_most("max_curly_bracket_lines", "curly_bracket_lines", "curly_bracket"),
    at_least("min_sentences", "sentences", "too_few_sentences"),
    at_least("min_punctuated_line_share", "punctuated_line_share", "too_few_punctuated_lines"),
    at_most("max_short_line_share", "short_line_share", "too_many_short_lines"),
    at_most(
        "max_fineweb_duplicate_line_character_share", "duplicate_kept_line_character_share", "repeated_lines_fineweb"
    ),
    at_most("max_newline_ratio", "newline_token_ratio", "too_many_newlines"),
)
"""In the order in which they name the drop reason: Gopher, C4, FineWeb."""
_LIMITS = (*_LENGTHS, *HEURISTICS)


DECISIVE = ("language", "language_score", *(limit.statistic for limit in _LIMITS), *PII_STATISTICS)


def verdict_schema() -> pa.Schema:
    """Return the schema of a verdicts table of web pages."""
    return verdicts.verdict_schema([*STATISTICS, *PII_STATISTICS, "main_language_share"], IDENTIFIED.field("languages"))


def rules(parameters: Mapping[str, Any]) -> WebRules:
    """Return the rules that `parameters["rules"]` makes of WebRules; those of tiers need `parameters["classifiers"]`."""
    own = verdicts.rules_from(WebRules, parameters)
    check_tiers_are_known(own, parameters)
    return own


def judge(texts: pa.Table, parameters: Mapping[str, Any], *, classifiers: Sequence[Classifier] = ()) -> pa.Table:
    """Return one verdict per EXTRACTED row that has a text, in their order; `parameters["rules"]` changes WebRules.

    `classifiers` are those that `parameters["classifiers"]` names.
    """
    own = rules(parameters)
    check_classifiers(classifiers, parameters)
    return verdicts.judge_in_batches(texts, lambda few: _judge(few, own, classifiers))


def checks(measured: pa.Table, own: WebRules) -> list[Check]:
    """Return every rule applied to what is stored about texts."""
    too_long = numbers(measured, "characters") > own.max_characters
    return [
        Check(reason="too_long", is_broken=too_long),
        *language_checks(measured, own),
        *heuristic_checks(measured, own),
        *tier_checks(measured, own.min_quality_tier),
        personal_data_check(measured, pii_policy(WEB_PII, own)),
    ]


def heuristic_checks(measured: pa.Table, own: WebRules) -> list[Check]:
    """Return the rules of Gopher, C4 and FineWeb alone, on statistics and `language`; tiers where rules spare some."""
    lengths, heuristics = limit_checks(_LENGTHS, measured, own), limit_checks(HEURISTICS, measured, own)
    return [*lengths, *spare_best_tiers(heuristics, measured, own.spared_tiers_from)]


def _judge(texts: pa.Table, own: WebRules, classifiers: Sequence[Classifier]) -> pa.Table:
    identified = identify(texts["text"]) if own.identifies_language else _declared(texts)
    languages = identified["language"].to_pylist()
    measured = measure(texts["text"], own, languages)
    masks, pii_counts = find_personal_data(texts["text"], WEB_PII, own)
    judged = Judged(
        doc_ids=texts["doc_id"],
        languages=languages,
        language_scores=identified["language_score"].to_pylist(),
        edits=edits_column(measured.cuts, masks),
        statistics={
            **measured.statistics,
            **pii_counts,
            "main_language_share": identified["main_language_share"].to_numpy(),
            "languages": identified["languages"],
            **quality_statistics(texts["text"], classifiers),
        },
    )
    return verdicts.verdict_table(judged, lambda table: checks(table, own))


def measure(column: pa.ChunkedArray, own: WebRules, languages: Sequence[str | None]) -> Measured:
    """Return the statistics and cuts of each text of a column, read as its language is."""
    distinct = sorted(set(languages), key=str)
    place = {language: number for number, language in enumerate(distinct)}
    rows = np.array([place[language] for language in languages], np.int64)
    splits = np.array([word_splits(language) for language in distinct], np.int64)
    min_words = np.array([value_by_language(own, "min_line_words", language) for language in distinct], np.int64)
    reading = Reading(
        splits=splits[rows],
        stop_lists=rows,
        stop_words=tuple(tuple(value_by_language(own, "stop_words", language)) for language in distinct),
        min_line_words=min_words[rows],
        max_word_characters=own.max_word_characters,
        max_characters=own.max_characters,
    )
    return measure_texts(column, reading)


def _declared(texts: pa.Table) -> pa.Table:
    """Return IDENTIFIED rows of the languages that the records declare, without region (`en` of `en-US`), without scores."""
    declared = [tag and language_code(tag.partition("-")[0].lower()) for tag in texts["declared_language"].to_pylist()]
    return pa.Table.from_pylist([{"language": language} for language in declared], schema=IDENTIFIED)
