"""Assembling verdict tables: why a text is dropped, what to change in it, and every statistic that decides it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar, get_type_hints

import numpy as np
import pyarrow as pa

from corpusmill.curate.decisions import Check, drop_reasons
from corpusmill.curate.rule_ranges import check_ranges
from corpusmill.curate.rule_values import check_value
from corpusmill.document import VERDICT_KEYS
from corpusmill.meant import did_you_mean

Rules = TypeVar("Rules")
FEW_TEXTS = 1024
"""Bounds what a judge holds of its texts at a time."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a judge found in a batch of n texts."""

    doc_ids: pa.ChunkedArray
    languages: Sequence[str | None]
    language_scores: Sequence[float | None]
    edits: pa.Array
    """Lists of edits, as `edits.edits_column` makes them."""
    statistics: Mapping[str, np.ndarray | pa.Array]
    """n values each; NaN is stored as null."""


def verdict_schema(statistics: Sequence[str], *others: pa.Field) -> pa.Schema:
    """Return the schema of a verdicts table with these statistics, and other columns that decide."""
    return pa.schema([*VERDICT_KEYS, *(pa.field(name, pa.float64()) for name in statistics), *others])


def verdict_table(judged: Judged, checks: Callable[[pa.Table], Sequence[Check]]) -> pa.Table:
    """Return the verdicts without `text_file`, which only the task knows, one row a text in the texts' order.

    `checks` gets the table with everything but the reasons, and nothing else: what decides a text is stored.
    """
    keys = {field.name: field for field in VERDICT_KEYS}
    columns: dict[str, Any] = {
        "language": pa.array(judged.languages, pa.string()),
        "language_score": pa.array(judged.language_scores, pa.float64()),
        "edits": judged.edits.cast(keys["edits"].type),
    }
    for name, values in judged.statistics.items():
        columns[name] = pa.array(values, pa.float64(), from_pandas=True) if isinstance(values, np.ndarray) else values
    measured = pa.table({"doc_id": judged.doc_ids, **columns})
    reasons = drop_reasons(len(measured), checks(measured))
    table = measured.add_column(1, keys["drop_reason"], reasons)
    return table.cast(pa.schema([keys.get(field.name, field) for field in table.schema]))


def judge_in_batches(texts: pa.Table, judge_few: Callable[[pa.Table], pa.Table]) -> pa.Table:
    """Return the verdicts of the rows that have a text, in their order; `judge_few` gets at most FEW_TEXTS of them.

    Rows without text failed at extraction and get no verdict.
    """
    readable = texts.filter(texts["text"].is_valid())
    starts = range(0, max(1, len(readable)), FEW_TEXTS)
    return pa.concat_tables([judge_few(readable.slice(row, FEW_TEXTS)) for row in starts])


def rules_from(kind: type[Rules], parameters: Mapping[str, Any]) -> Rules:
    """Return the rules that `parameters["rules"]` changes; raises ValueError for a rule that does not exist, a value that is
    not of its kind, and thresholds that judge all texts alike."""
    changed = dict(parameters.get("rules", {}))
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(changed) - set(known))
    if unknown:
        meant = did_you_mean(unknown[0], known)
        raise ValueError(f"unknown rule {', '.join(unknown)}{meant}; {kind.__name__} has {', '.join(known)}")
    hints = get_type_hints(kind)
    for name, value in changed.items():
        check_value(name, value, hints[name])
    for language, special in changed.get("by_language", {}).items():
        for name in set(special) & set(known):
            check_value(f"{name} for {language!r}", special[name], hints[name])
    rules = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in changed.items()})
    values = {name: getattr(rules, name) for name in known}
    check_ranges(values)
    for language, special in values.get("by_language", {}).items():
        check_ranges({**values, **special}, of=f" for {language!r}")
    return rules
