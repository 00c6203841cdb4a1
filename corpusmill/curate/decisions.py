"""From statistics to drop reasons: the first rule that a text breaks names why it is dropped.

The only place where texts are decided on: a judge calls it on what it has just measured, `redecide` on a stored verdict
table. Costs a few comparisons of numpy arrays a rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, kw_only=True)
class Check:
    """One rule applied to texts: what is wrong with those where `is_broken` holds (NaN compares as unbroken)."""

    reason: str
    is_broken: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One rule: a text whose `statistic` lies beyond `rules.<field>` is dropped for `reason`."""

    reason: str
    statistic: str
    field: str
    is_minimum: bool = False
    place: int | None = None
    """Where the threshold stands, when the field holds several."""


def at_least(field: str, statistic: str, reason: str) -> Limit:
    """Return the rule that drops texts whose statistic is below a field."""
    return Limit(reason=reason, statistic=statistic, field=field, is_minimum=True)


def at_most(field: str, statistic: str, reason: str, place: int | None = None) -> Limit:
    """Return the rule that drops texts whose statistic is above a field."""
    return Limit(reason=reason, statistic=statistic, field=field, place=place)


def limit_checks(limits: Sequence[Limit], verdicts: pa.Table, rules: Any) -> list[Check]:
    """Return the limits applied to a table's statistics; a row's thresholds are those of its `language`, where `rules`
    has its own."""
    return [_check(limit, verdicts, rules) for limit in limits]


def language_checks(verdicts: pa.Table, rules: Any) -> list[Check]:
    """Return the checks of `rules.languages` (empty keeps all) and `rules.min_language_score`; no language is no wanted one."""
    if not rules.languages:
        return []
    unclear = Limit(reason="language_unclear", statistic="language_score", field="min_language_score", is_minimum=True)
    is_other = ~is_one_of(verdicts["language"], rules.languages)
    return [Check(reason="language_not_wanted", is_broken=is_other), *limit_checks([unclear], verdicts, rules)]


def value_by_language(rules: Any, field: str, language: str | None) -> Any:
    """Return what a field of the rules says about texts of a language."""
    special = getattr(rules, "by_language", {}).get(language, {})
    return special.get(field, getattr(rules, field))


def numbers(verdicts: pa.Table, name: str) -> np.ndarray:
    """Return a statistic as float64; null becomes NaN."""
    column = verdicts[name]
    return column.to_numpy() if column.null_count == 0 else pc.fill_null(column, np.nan).to_numpy()


def is_one_of(column: pa.ChunkedArray, values: Sequence[str]) -> np.ndarray:
    """Return whether each value of a text column is one of `values`; null is none."""
    return pc.is_in(column, value_set=pa.array(values, column.type)).to_numpy()


def drop_reasons(num_texts: int, checks: Sequence[Check]) -> pa.Array:
    """Return the reason of the first broken check of each text, or null."""
    first = np.full(num_texts, len(checks), np.int32)
    for place, check in reversed(list(enumerate(checks))):
        first[check.is_broken] = place
    reasons = pa.array([*(check.reason for check in checks), None], pa.string())
    return reasons.take(pa.array(first))


def _check(limit: Limit, verdicts: pa.Table, rules: Any) -> Check:
    found = numbers(verdicts, limit.statistic)
    threshold = _thresholds(limit, verdicts, rules)
    return Check(reason=limit.reason, is_broken=found < threshold if limit.is_minimum else found > threshold)


def _thresholds(limit: Limit, verdicts: pa.Table, rules: Any) -> np.ndarray | float:
    """Return the threshold of each row, or the one of all."""
    by_language = getattr(rules, "by_language", {})
    if not any(limit.field in special for special in by_language.values()):
        return float(_at(getattr(rules, limit.field), limit.place))
    encoded = verdicts["language"].combine_chunks().dictionary_encode(null_encoding="encode")
    values = [
        float(_at(value_by_language(rules, limit.field, language), limit.place))
        for language in encoded.dictionary.to_pylist()
    ]
    return np.array(values, np.float64)[encoded.indices.to_numpy()]


def _at(value: Any, place: int | None) -> Any:
    return value if place is None else value[place]
