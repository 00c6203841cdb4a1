"""Thresholds for one language from verdicts of its own texts: where English's threshold lies among English ones.

If English's `max_newline_ratio` drops 3 of 100 English pages, the language's drops 3 of 100 of its own: the same quantile.
Needs no texts that say the same, as `language_profile` does, but verdicts of one kind of source in both languages, and
it takes for granted that these sources are equally good.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate.decisions import Limit, numbers
from corpusmill.curate.web import HEURISTICS, WebRules

MIN_TEXTS = 200
"""Ours: a threshold that drops 1 in 100 then rests on two texts of each language."""
FIELDS = (
    "min_mean_word_characters",
    "max_mean_word_characters",
    "min_alphabetic_token_share",
    "max_duplicate_line_share",
    "max_top_ngram_shares",
    "max_duplicate_ngram_shares",
    "min_punctuated_line_share",
    "max_newline_ratio",
)
"""What FineWeb2's published configurations set by language (github.com/huggingface/fineweb-2, configs/*.yml), beside the
language score and stop words."""


def quantile_thresholds(own: pa.Table, english: pa.Table, *, min_texts: int = MIN_TEXTS) -> dict[str, Any]:
    """Return the FIELDS of WebRules for a language, from web verdicts of its texts and of English ones.

    A threshold that drops no English text drops none of the language's. Raises ValueError below `min_texts`.
    """
    fewest = min(len(own), len(english))
    if fewest < min_texts:
        raise ValueError(f"thresholds by quantiles need {min_texts} verdicts of each language, got {fewest}")
    rules = WebRules()
    moved: dict[str, Any] = {}
    for field in FIELDS:
        limits = [limit for limit in HEURISTICS if limit.field == field]
        values = [_moved(limit, own, english, _threshold(limit, rules)) for limit in limits]
        moved[field] = values[0] if limits[0].place is None else values
    return moved


def _threshold(limit: Limit, rules: WebRules) -> float:
    value = getattr(rules, limit.field)
    return float(value if limit.place is None else value[limit.place])


def _moved(limit: Limit, own: pa.Table, english: pa.Table, threshold: float) -> float:
    """Return the threshold at the same quantile. At most 3 of English 1, 2, 3, 4 keeps 3 of 4: of 10, 20, 30, 40 it is 30."""
    sign = -1.0 if limit.is_minimum else 1.0
    theirs, ours = sign * _known(english, limit.statistic), np.sort(sign * _known(own, limit.statistic))
    if not len(theirs) or not len(ours):
        return threshold
    share_kept = np.mean(theirs <= sign * threshold)
    if share_kept == 1.0:
        return sign * max(sign * threshold, float(ours[-1]))
    return sign * float(ours[max(0, int(np.ceil(share_kept * len(ours))) - 1)])


def _known(verdicts: pa.Table, statistic: str) -> np.ndarray:
    values = numbers(verdicts, statistic)
    return values[~np.isnan(values)]
