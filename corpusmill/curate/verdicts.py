"""Assembling verdict tables: the first rule that a text breaks names why it is dropped, every statistic is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from corpusmill.curate.edits import Edit, edit_rows
from corpusmill.document import VERDICT_KEYS

Rules = TypeVar("Rules")


@dataclass(frozen=True, kw_only=True)
class Check:
    """One rule applied to a batch: what is wrong with the texts where `is_broken` holds (NaN compares as unbroken)."""

    reason: str
    is_broken: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a judge found in a batch of n texts."""

    doc_ids: pa.ChunkedArray
    languages: Sequence[str | None]
    language_scores: Sequence[float | None]
    checks: Sequence[Check]
    """In the order in which they name the drop reason."""
    edits: Sequence[Sequence[Edit]]
    statistics: Mapping[str, np.ndarray]
    """n float64 values each; NaN is stored as null."""


def verdict_schema(statistics: Sequence[str]) -> pa.Schema:
    """Return the schema of a verdicts table with these statistics."""
    return pa.schema([*VERDICT_KEYS, *(pa.field(name, pa.float64()) for name in statistics)])


def verdict_table(judged: Judged) -> pa.Table:
    """Return the verdicts without `text_file`, which only the task knows, one row a text in the texts' order."""
    schema = verdict_schema(list(judged.statistics))
    schema = schema.remove(schema.get_field_index("text_file"))
    arrays = [
        judged.doc_ids,
        pa.array(drop_reasons(len(judged.doc_ids), judged.checks), pa.string()),
        pa.array(judged.languages, pa.string()),
        pa.array(judged.language_scores, pa.float64()),
        pa.array([edit_rows(edits) for edits in judged.edits], schema.field("edits").type),
        *(pa.array(values, pa.float64(), from_pandas=True) for values in judged.statistics.values()),
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def drop_reasons(num_texts: int, checks: Sequence[Check]) -> list[str | None]:
    """Return the reason of the first broken check of each text, or None."""
    reasons: list[str | None] = [None] * num_texts
    for check in reversed(checks):
        for row in np.flatnonzero(check.is_broken):
            reasons[row] = check.reason
    return reasons


def rules_from(kind: type[Rules], parameters: Mapping[str, Any]) -> Rules:
    """Return the rules that `parameters["rules"]` changes; raises ValueError for a rule that does not exist."""
    changed = dict(parameters.get("rules", {}))
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(changed) - set(known))
    if unknown:
        raise ValueError(f"unknown rule {', '.join(unknown)}; {kind.__name__} has {', '.join(known)}")
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in changed.items()})
