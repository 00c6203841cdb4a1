"""Whether our rules keep and drop what datatrove's filters do: filter by filter, and in the first reason.

Each filter is looked at on a set of which datatrove keeps 20 to 80 %: a combined figure flatters where nearly everything is
dropped. Ours is judged with datatrove's thresholds and, by language, the same stop words.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers import peer_python
from benchmarks.texts import Sample
from corpusmill.curate.decisions import Check, drop_reasons, value_by_language
from corpusmill.curate.web import WebRules, heuristic_checks, measure

DATATROVE = ("datatrove==0.10.1", "spacy==3.8.18", "regex==2026.11.19", "pyarrow==26.0.1")
CHINESE_AND_JAPANESE = ("jieba==0.42.1", "sudachipy==0.7.0", "sudachidict-core==20261015")
SCRIPT = Path(__file__).with_name("datatrove_filters.py")
FILTERS = ("gopher_quality", "gopher_repetition", "c4", "fineweb")
_LONG_CODES = {"en": "eng", "de": "deu", "fr": "fra", "es": "spa", "ru": "rus", "zh": "cmn", "ja": "jpn"}
_STOP_WORDS = WebRules().by_language
THEIR_RULES = WebRules(
    max_curly_bracket_lines=0,
    by_language={
        language: {name: rules[name] for name in ("stop_words", "min_stop_words", "min_line_words") if name in rules}
        for language, rules in _STOP_WORDS.items()
    },
)
"""Ours with what FineWeb's published run sets, and English's thresholds for all."""
_OURS = {
    "gopher_quality": {
        "too_few_words": "gopher_short_doc",
        "too_many_words": "gopher_long_doc",
        "words_too_short": "gopher_below_avg_threshold",
        "words_too_long": "gopher_above_avg_threshold",
        "too_many_hash_signs": "gopher_too_many_hashes",
        "too_many_ellipses": "gopher_too_many_ellipsis",
        "too_many_bullet_lines": "gopher_too_many_bullets",
        "too_many_ellipsis_lines": "gopher_too_many_end_ellipsis",
        "too_few_alphabetic_words": "gopher_below_alpha_threshold",
        "too_few_stop_words": "gopher_enough_stop_words",
    },
    "gopher_repetition": {
        "repeated_paragraphs": "dup_para_frac",
        "repeated_paragraph_characters": "dup_para_char_frac",
        "repeated_lines": "dup_line_frac",
        "repeated_line_characters": "dup_line_char_frac",
        **{f"one_{size}gram_too_frequent": f"top_{size}_gram" for size in (2, 3, 4)},
        **{f"repeated_{size}grams": f"duplicated_{size}_n_grams" for size in range(5, 11)},
    },
    "c4": {name: name for name in ("lorem_ipsum", "curly_bracket", "too_few_sentences")},
    "fineweb": {
        "too_few_punctuated_lines": "line_punct_ratio",
        "too_many_short_lines": "short_line_ratio",
        "repeated_lines_fineweb": "char_dup_ratio",
        "too_many_newlines": "list_ratio",
    },
}
"""Our reasons and datatrove's, in the order in which both look."""


def our_answers(samples: Sequence[Sample]) -> list[list[str | None]]:
    """Return what each of our rule sets says to each text, in datatrove's words."""
    languages = [sample.language for sample in samples]
    column = pa.chunked_array([pa.array([sample.text for sample in samples], pa.large_string())])
    measured = measure(column, THEIR_RULES, languages).statistics
    table = pa.table({"language": languages, **measured})
    checks = heuristic_checks(table, THEIR_RULES)
    said = [drop_reasons(len(samples), _of(checks, names)).to_pylist() for names in _OURS.values()]
    return [list(row) for row in zip(*said, strict=True)]


def their_answers(samples: Sequence[Sample], *, timed: Sequence[bool]) -> tuple[list[list[str | None]], float]:
    """Return what each of datatrove's filters says to each text, and the seconds that they took for the timed ones."""
    has_asian = any(sample.language in ("zh", "ja") for sample in samples)
    python = peer_python("datatrove", DATATROVE + (CHINESE_AND_JAPANESE if has_asian else ()))
    table = pa.table(
        {
            "language": [_LONG_CODES[sample.language] for sample in samples],
            "stop_words": [list(value_by_language(THEIR_RULES, "stop_words", one.language)) for one in samples],
            "is_timed": pa.array(timed, pa.bool_()),
            "text": [sample.text for sample in samples],
        }
    )
    with tempfile.TemporaryDirectory(prefix="corpusmill-datatrove-") as folder:
        texts, answers = Path(folder) / "texts.parquet", Path(folder) / "answers.json"
        pq.write_table(table, texts)
        subprocess.run([python, SCRIPT, texts, answers], check=True, stderr=subprocess.DEVNULL)
        found = json.loads(answers.read_text(encoding="utf-8"))
    return found["answers"], float(found["seconds"])


def agreement(
    ours: Sequence[Sequence[str | None]], theirs: Sequence[Sequence[str | None]], place: int
) -> dict[str, float]:
    """Return how alike one filter's decisions are on texts of which datatrove keeps 20 to 80 %.

    Where it keeps more, texts that it keeps are left out, evenly; where it keeps fewer, texts that it drops.
    """
    is_kept = np.array([row[place] is None for row in theirs])
    is_alike = np.array(
        [(one[place] is None) == (other[place] is None) for one, other in zip(ours, theirs, strict=True)]
    )
    kept, dropped = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    chosen = np.sort(np.concatenate([_thin(kept, 4 * len(dropped)), _thin(dropped, 4 * len(kept))]))
    return {
        "agreement": float(is_alike[chosen].mean()),
        "texts": float(len(chosen)),
        "kept": float(is_kept[chosen].mean()),
    }


def first_reasons_alike(ours: Sequence[Sequence[str | None]], theirs: Sequence[Sequence[str | None]]) -> float:
    """Return the share of texts to which both give the same first reason, or none."""
    pairs = zip(map(_first, ours), map(_first, theirs), strict=True)
    return float(np.mean([one == other for one, other in pairs]))


def _thin(places: np.ndarray, most: int) -> np.ndarray:
    return places if len(places) <= most else places[np.linspace(0, len(places) - 1, most).astype(int)]


def _first(said: Sequence[str | None]) -> str | None:
    return next((reason for reason in said if reason), None)


def _of(checks: Sequence[Check], names: dict[str, str]) -> list[Check]:
    found = {check.reason: check for check in checks}
    return [Check(reason=theirs, is_broken=found[ours].is_broken) for ours, theirs in names.items()]
