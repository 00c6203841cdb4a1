"""Prints how often a page is judged as its English version is, by three kinds of thresholds.

`python -m benchmarks.language_quantiles`.
Help pages that say the same in ten languages, in ../shared/data: every second one makes the quantiles, the others are judged
by the rules of Gopher, C4 and FineWeb. Stop words are the language's own in all three.
"""

from collections import defaultdict

import numpy as np
import pyarrow as pa

from benchmarks.texts import help_page_versions
from corpusmill.curate.language_quantiles import quantile_thresholds
from corpusmill.curate.language_rules import LANGUAGE_RULES
from corpusmill.curate.web import WebRules, heuristic_checks, measure

_WORDS = ("stop_words", "min_stop_words", "min_line_words")
_KINDS = ("English's", "by medians", "by quantiles")
_MIN_TEXTS = 50


def main() -> None:
    pages = help_page_versions()
    english = pages.pop("en", {})
    same: dict[str, list[np.ndarray]] = defaultdict(list)
    for language, own in sorted(pages.items()):
        agreements = _agreements(language, own, english)
        print(language, *(f"{kind} {agreements[kind].mean():.3f}" for kind in _KINDS))
        for kind in _KINDS:
            same[kind].append(agreements[kind])
    for kind in _KINDS:
        every = np.concatenate(same[kind])
        print(f"{kind}: {every.mean():.3f} of {len(every)} pages as in English")


def _agreements(language: str, own: dict[str, str], english: dict[str, str]) -> dict[str, np.ndarray]:
    """Return for every second page whether it is kept if and only if the English one is, by kind of thresholds."""
    shared = sorted(own.keys() & english.keys())
    words = {name: value for name, value in LANGUAGE_RULES[language].items() if name in _WORDS}
    by_median = LANGUAGE_RULES[language]
    learned = (_statistics(_texts(own, shared[::2]), language), _statistics(_texts(english, shared[::2]), "en"))
    moved = quantile_thresholds(*learned, min_texts=_MIN_TEXTS)
    wanted = _kept(_statistics(_texts(english, shared[1::2]), "en"), WebRules())
    measured = _statistics(_texts(own, shared[1::2]), language)
    rules = (words, by_median, {**by_median, **moved})
    return {
        kind: _kept(measured, WebRules(by_language={language: chosen})) == wanted
        for kind, chosen in zip(_KINDS, rules, strict=True)
    }


def _texts(pages: dict[str, str], names: list[str]) -> list[str]:
    return [pages[name] for name in names]


def _statistics(texts: list[str], language: str) -> pa.Table:
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    return pa.table(
        {**measure(column, WebRules(), [language] * len(texts)).statistics, "language": [language] * len(texts)}
    )


def _kept(measured: pa.Table, rules: WebRules) -> np.ndarray:
    broken = [check.is_broken for check in heuristic_checks(measured, rules)]
    return np.asarray(~np.logical_or.reduce(broken))


if __name__ == "__main__":
    main()
