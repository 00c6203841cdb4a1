"""The classifiers of a dataset, applied to a batch: a score and a tier of each, and the best tier of all, as statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.curate.quality_model import QualityModel, load, score
from corpusmill.curate.quality_tiers import max_of, tier_of

CLASSIFIER = pa.schema(
    [
        pa.field("version", pa.string(), nullable=False),
        pa.field("card", pa.string(), nullable=False),
        pa.field("edges", pa.list_(pa.float64()), nullable=False),
        pa.field("model", pa.large_binary(), nullable=False),
    ]
)
"""The one row of a classifier's table: its version, its card as JSON, where its tiers begin, and the model."""
TIER = "quality_tier"
"""The highest tier that a classifier gives; null where none gives one."""


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """A trained model with the tiers of its scores, under the name that its columns carry."""

    name: str
    model: QualityModel
    edges: tuple[float, ...]


def classifier_from_row(name: str, row: Mapping[str, Any]) -> Classifier:
    """Return the classifier of a CLASSIFIER row."""
    return Classifier(name=name, model=load(row["model"]), edges=tuple(row["edges"]))


def statistic_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the statistics that classifiers of these names give, in order; none for no classifiers."""
    own = [f"{name}_{kind}" for name in names for kind in ("score", "tier")]
    return (*own, TIER) if names else ()


def add_statistics(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return a schema with `statistic_names` at its end; raises ValueError where it has a column of that name."""
    for column in statistic_names(names):
        if column in schema.names:
            raise ValueError(f"the classifiers {', '.join(names)} need a column {column}, which is taken: rename one")
        schema = schema.append(pa.field(column, pa.float64()))
    return schema


def quality_statistics(texts: pa.ChunkedArray, classifiers: Sequence[Classifier]) -> dict[str, np.ndarray]:
    """Return `statistic_names` as float64 columns, NaN for a text without a word."""
    found: dict[str, np.ndarray] = {}
    for classifier in classifiers:
        scores = score(texts, classifier.model)
        found[f"{classifier.name}_score"] = scores
        found[f"{classifier.name}_tier"] = _floats(tier_of(scores, classifier.edges))
    if classifiers:
        found[TIER] = max_of([found[f"{classifier.name}_tier"] for classifier in classifiers])
    return found


def _floats(tiers: pa.Array) -> np.ndarray:
    return np.asarray(tiers.cast(pa.float64()).to_numpy(zero_copy_only=False))
