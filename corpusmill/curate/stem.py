"""Texts of mathematics, physics and the like that hold formulas, in the languages wanted and long enough.

Formulas are TeX: `$...$`, `$$...$$`, `\\(...\\)`, `\\[...\\]` and the environments of amsmath. What extraction did not turn
into TeX is not seen here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate import verdicts
from corpusmill.curate.decisions import Check, at_least, at_most, language_checks, limit_checks
from corpusmill.curate.edit_columns import NO_CUTS, edits_column
from corpusmill.curate.language import detect_languages
from corpusmill.curate.language_names import check_languages
from corpusmill.curate.pii import STATISTICS as PII_STATISTICS
from corpusmill.curate.pii_kinds import WEB_PII
from corpusmill.curate.pii_rules import find_personal_data, personal_data_check, pii_policy
from corpusmill.curate.verdicts import Judged
from corpusmill.curate.web import WebRules, measure

_FORMULA = re.compile(
    r"\$\$(?:[^$]{1,4000})\$\$"
    r"|(?<![\\$\w])\$(?![\s\d.,]*\$)(?:[^$\n\\]|\\.){1,400}\$(?![\w$])"
    r"|\\\((?:.{1,1000}?)\\\)|\\\[(?:.{1,4000}?)\\\]"
    r"|\\begin\{(equation|align|gather|multline|eqnarray|displaymath)\*?\}(?:.{1,4000}?)\\end\{\1\*?\}",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class StemRules:
    """Thresholds, each from the paper named."""

    languages: tuple[str, ...] = ("en",)
    """ISO 639-1 codes, 639-3 where there is none (`language_codes`); empty keeps every language."""
    min_language_score: float = 0.5
    """Ours. FineWeb's 0.65 is for prose; formulas lower the score of English (measured on SymPy's manual)."""
    min_words: int = 50
    """Gopher (Rae et al. 2021, arXiv 2112.11446), section A1.1, like the next."""
    max_words: int = 100_000
    min_formulas: int = 1
    """OpenWebMath (Paster et al. 2023, arXiv 2310.06786), section 3.1: its prefilter keeps pages with a sign of LaTeX."""
    max_duplicate_line_character_share: float = 0.2
    """Gopher, table A1."""
    masks_pii: bool = True
    pii_actions: Mapping[str, str] = field(default_factory=dict)
    """What differs from `WEB_PII`, by kind: `mask`, `drop` the text, or `leave`."""
    max_characters: int = 10_000_000
    """Ours: bounds a judge's memory."""

    def __post_init__(self) -> None:
        check_languages(self.languages)
        pii_policy(WEB_PII, self)


_STATISTICS = (
    *("characters", "words", "mean_word_length", "lines", "duplicate_line_character_share"),
    *("formulas", "formula_character_share"),
)


_LIMITS = (
    at_most("max_characters", "characters", "too_long"),
    at_least("min_words", "words", "too_few_words"),
    at_most("max_words", "words", "too_many_words"),
    at_least("min_formulas", "formulas", "too_few_formulas"),
    at_most("max_duplicate_line_character_share", "duplicate_line_character_share", "repeated_line_characters"),
)
"""In the order in which they name the drop reason; language stands before the last."""


DECISIVE = ("language", "language_score", *(limit.statistic for limit in _LIMITS), *PII_STATISTICS)
MEASURED_WITH = ("masks_pii", "pii_actions")
MEASURED = "words"


def rules(parameters: Mapping[str, Any]) -> StemRules:
    """Return the rules that `parameters["rules"]` makes of StemRules."""
    return verdicts.rules_from(StemRules, parameters)


def verdict_schema() -> pa.Schema:
    """Return the schema of a verdicts table of STEM texts."""
    return verdicts.verdict_schema([*_STATISTICS, *PII_STATISTICS])


def judge(texts: pa.Table, parameters: Mapping[str, Any]) -> pa.Table:
    """Return one verdict per EXTRACTED row that has a text, in their order; `parameters["rules"]` changes StemRules."""
    own = rules(parameters)
    return verdicts.judge_in_batches(texts, lambda few: _judge(few, own))


def find_formulas(text: str) -> list[tuple[int, int]]:
    """Return the spans of the TeX formulas in a text, dollars and brackets included, in order.

    "$x^2$ costs $5 and $6" holds one: a pair of dollars around digits, or at a word, is money.
    """
    if "$" not in text and "\\" not in text:
        return []
    return [found.span() for found in _FORMULA.finditer(text)]


def checks(measured: pa.Table, own: StemRules) -> list[Check]:
    """Return every rule applied to what is stored about texts."""
    limits = limit_checks(_LIMITS, measured, own)
    pii = personal_data_check(measured, pii_policy(WEB_PII, own))
    return [*limits[:-1], *language_checks(measured, own), limits[-1], pii]


def _judge(texts: pa.Table, own: StemRules) -> pa.Table:
    limits = WebRules(max_characters=own.max_characters)
    measured = measure(texts["text"], limits, [None] * len(texts)).statistics
    is_long = measured["characters"] > own.max_characters
    contents = ["" if too_long else text.as_py() for text, too_long in zip(texts["text"], is_long, strict=True)]
    formulas = [find_formulas(text) for text in contents]
    languages, scores = detect_languages(_prose(text, spans) for text, spans in zip(contents, formulas, strict=True))
    statistics = {name: measured[name] for name in _STATISTICS if name in measured} | _formula_statistics(
        formulas, measured["characters"]
    )
    masks, pii_counts = find_personal_data(texts["text"], WEB_PII, own)
    judged = Judged(
        doc_ids=texts["doc_id"],
        languages=languages,
        language_scores=scores,
        edits=edits_column(NO_CUTS, masks),
        statistics=statistics | pii_counts,
    )
    return verdicts.verdict_table(judged, lambda table: checks(table, own))


def _prose(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the text without its formulas, which belong to no language."""
    parts = []
    position = 0
    for start, end in spans:
        parts.append(text[position:start])
        position = end
    return " ".join([*parts, text[position:]])


def _formula_statistics(formulas: list[list[tuple[int, int]]], characters: np.ndarray) -> dict[str, np.ndarray]:
    counts = np.array([len(spans) for spans in formulas], np.float64)
    covered = np.array([sum(end - start for start, end in spans) for spans in formulas], np.float64)
    return {"formulas": counts, "formula_character_share": covered / np.maximum(1.0, characters)}
