"""What the page of a verdicts asset shows of a partition: languages, tiers, how each statistic is spread.

Read from the written verdict files, a few columns at a time. Memory: MAX_ROWS values a statistic, whatever the partition.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate.quality import TIER
from corpusmill.lake.files import WrittenFile
from corpusmill.lake.reading import read_batches
from corpusmill.lake.store import Store

MAX_ROWS = 100_000
"""Rows that the spreads are taken from; of more rows every k-th counts."""
QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}


def language_table(store: Store, files: Sequence[WrittenFile]) -> list[dict[str, Any]]:
    """Return each detected language with its documents and how many of them were dropped, most frequent first."""
    documents, dropped = _counts_by(store, files, "language")
    return [
        {"language": language or "none", "documents": number, "dropped": dropped[language]}
        for language, number in sorted(documents.items(), key=lambda item: (-item[1], item[0] or ""))
    ]


def tier_table(store: Store, files: Sequence[WrittenFile]) -> list[dict[str, Any]]:
    """Return each quality tier with its documents and how many of them were dropped, the best first, no tier last."""
    documents, dropped = _counts_by(store, files, TIER)
    return [
        {"tier": "none" if tier is None else int(tier), "documents": documents[tier], "dropped": dropped[tier]}
        for tier in sorted(documents, key=lambda tier: -1.0 if tier is None else tier, reverse=True)
    ]


def spread_table(store: Store, files: Sequence[WrittenFile], schema: pa.Schema) -> list[dict[str, Any]]:
    """Return quantiles of every float statistic of the verdicts `schema` over kept and dropped documents together."""
    names = [item.name for item in schema if pa.types.is_floating(item.type)]
    step = -(-sum(file.num_rows for file in files) // MAX_ROWS) or 1
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
    position = 0
    for file in files:
        for batch in read_batches(store, store.key(file.path), columns=names):
            chosen = np.flatnonzero((position + np.arange(len(batch))) % step == 0)
            position += len(batch)
            for name in names:
                parts[name].append(_floats(batch[name])[chosen])
    return [_spread(name, np.concatenate(values)) for name, values in parts.items() if values]


def _counts_by(store: Store, files: Sequence[WrittenFile], column: str) -> tuple[Counter[Any], Counter[Any]]:
    """Return how many documents, and how many dropped ones, there are of each value of a column."""
    documents: Counter[Any] = Counter()
    dropped: Counter[Any] = Counter()
    for file in files:
        for batch in read_batches(store, store.key(file.path), columns=[column, "drop_reason"]):
            documents.update(batch[column].to_pylist())
            dropped.update(batch.filter(batch["drop_reason"].is_valid())[column].to_pylist())
    return documents, dropped


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    values: np.ndarray = column.to_numpy()
    return values.astype(np.float64)


def _spread(name: str, values: np.ndarray) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    spread = {label: float(np.quantile(known, share)) if known.size else None for label, share in QUANTILES.items()}
    return {"statistic": name, "documents": int(known.size), **spread}
