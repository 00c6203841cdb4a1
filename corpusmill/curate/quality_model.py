"""A quality classifier: how likely a text is of the kind that the positive examples are.

The model is fastText's for two classes: a weight for every word and pair of words, their mean through a logistic
function. It is trained here because fastText's own trainer gives other bytes on every run with threads, and has no
maintained package for every Python that we support. Same rows, same parameters: same bytes.

A model is one binary value: a line that names the format, the length of its card, the card (JSON: version, labels and
their licence, parameters, evaluation), the bias and the weights (little-endian float16). Scoring reads about 100 MB/s
on one core.
"""

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.buffers import text_buffers
from corpusmill.curate.quality_kernels import score_texts, train_epoch
from corpusmill.fingerprint import fingerprint

_FORMAT = b"corpusmill quality model 1\n"
LABELLED = pa.schema([pa.field("text", pa.large_string()), pa.field("label", pa.string(), nullable=False)])
"""What a classifier learns from and is judged by."""


@dataclass(frozen=True, kw_only=True)
class QualityParameters:
    """How a classifier is trained; all of it is part of its version."""

    positive: str
    """The label whose probability the score is; every other label counts against it."""
    labels_license: str
    """SPDX expression under which the labelled texts may be used."""
    weights_log2: int = 20
    """Size of the table: features whose hashes fall together share a weight. fastText's default is 2 million."""
    epochs: int = 10
    learning_rate: float = 0.5
    """Ours, like `epochs`: twice of either changes the area under the curve by less than 0.002 (docs/curation.md)."""
    max_words: int = 10_000
    """How much of a text is read, in training and in scoring."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.labels_license:
            raise ValueError("a classifier records the licence of its labels; set labels_license to an SPDX expression")
        if not 10 <= self.weights_log2 <= 26:
            raise ValueError(f"weights_log2 must be 10 to 26 (1,024 to 67 million weights), got {self.weights_log2}")
        if min(self.epochs, self.max_words) < 1 or self.learning_rate <= 0:
            raise ValueError(f"epochs, max_words and learning_rate must be above zero, got {self}")


@dataclass(frozen=True, kw_only=True)
class QualityModel:
    """A model, unpacked."""

    card: Mapping[str, Any]
    bias: float
    weights: np.ndarray
    """float32 [2 ** weights_log2]"""

    @property
    def version(self) -> str:
        """32 hex digits that name the training rows and parameters."""
        return str(self.card["version"])


def train(labelled: pa.Table, parameters: QualityParameters) -> bytes:
    """Return the model learned from LABELLED rows; raises ValueError where there are not two kinds of them.

    Rows without text are left out.
    """
    rows = _checked(labelled)
    is_positive = _is_positive(rows, parameters.positive)
    if is_positive.all() or not is_positive.any():
        raise ValueError(
            f"a classifier needs texts with the label {parameters.positive!r} and texts with another, got "
            f"{_label_counts(rows)}"
        )
    data, offsets = text_buffers(rows["text"])
    weights = np.zeros(2**parameters.weights_log2, np.float32)
    squares, bias = np.zeros_like(weights), np.zeros(2)
    random = np.random.Generator(np.random.PCG64(parameters.seed))
    for _ in range(parameters.epochs):
        order = random.permutation(len(rows))
        rate = parameters.learning_rate
        train_epoch(data, offsets, is_positive, order, weights, squares, bias, rate, parameters.max_words)
    settings = asdict(parameters)
    card = {
        "version": fingerprint({"rows": _rows_hash(rows), "parameters": settings, "format": _FORMAT.decode()}),
        "labels": _label_counts(rows),
        "labels_license": parameters.labels_license,
        "parameters": settings,
        "evaluation": None,
    }
    return _pack(card, float(bias[0]), weights)


def with_evaluation(model: bytes, evaluation: Mapping[str, Any]) -> bytes:
    """Return the model with an evaluation in its card; its version stays."""
    loaded = load(model)
    return _pack({**loaded.card, "evaluation": dict(evaluation)}, loaded.bias, loaded.weights)


def load(model: bytes) -> QualityModel:
    """Return an unpacked model; raises ValueError where the bytes are none."""
    start = len(_FORMAT) + 4
    if not model.startswith(_FORMAT) or len(model) < start:
        raise ValueError(f"wanted a quality model ({_FORMAT.decode().strip()!r}), got bytes that start {model[:30]!r}")
    (card_bytes,) = struct.unpack("<I", model[len(_FORMAT) : start])
    card = json.loads(model[start : start + card_bytes])
    (bias,) = struct.unpack("<d", model[start + card_bytes : start + card_bytes + 8])
    weights = np.frombuffer(model, "<f2", offset=start + card_bytes + 8).astype(np.float32)
    wanted = 2 ** card["parameters"]["weights_log2"]
    if len(weights) != wanted:
        raise ValueError(f"the quality model is cut: wanted {wanted} weights, got {len(weights)}; train it again")
    return QualityModel(card=card, bias=bias, weights=weights)


def score(texts: pa.ChunkedArray, model: QualityModel) -> np.ndarray:
    """Return the probability (float64) that each text is of the positive kind; NaN for one without a word."""
    data, offsets = text_buffers(texts)
    odds = score_texts(data, offsets, model.weights, model.bias, model.card["parameters"]["max_words"])
    return np.asarray(1 / (1 + np.exp(-odds)))


def evaluate(model: QualityModel, held_out: pa.Table) -> dict[str, Any]:
    """Return how a model does on LABELLED rows that it was not trained on.

    `accuracy` at 0.5, `auc` (a tie counts half; null where all labels are one), `rows`, and `calibration`: for each
    tenth of the scale with rows in it, how many there are, their mean score and the share that is positive.
    """
    rows = _checked(held_out)
    is_positive = _is_positive(rows, str(model.card["parameters"]["positive"]))
    scores = score(rows["text"], model)
    has_words = ~np.isnan(scores)
    is_positive, scores = is_positive[has_words], scores[has_words]
    if not len(scores):
        raise ValueError("there is nothing to evaluate on: no held-out row has a text with words")
    return {
        "rows": len(scores),
        "accuracy": float(np.mean((scores >= 0.5) == is_positive)),
        "auc": area_under_curve(scores, is_positive),
        "calibration": _calibration(scores, is_positive),
    }


def area_under_curve(scores: np.ndarray, is_positive: np.ndarray) -> float | None:
    """Return how often a positive scores above another (a tie counts half): [.2, .8, .8] of [0, 1, 0] gives 0.75."""
    positives = int(is_positive.sum())
    others = len(scores) - positives
    if not positives or not others:
        return None
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[is_positive].sum() - positives * (positives + 1) / 2) / (positives * others))


def _calibration(scores: np.ndarray, is_positive: np.ndarray) -> list[dict[str, float]]:
    bins = np.minimum((scores * 10).astype(int), 9)
    return [
        {
            "from": index / 10,
            "rows": int((bins == index).sum()),
            "mean_score": float(scores[bins == index].mean()),
            "share_positive": float(is_positive[bins == index].mean()),
        }
        for index in np.unique(bins).tolist()
    ]


def _checked(labelled: pa.Table) -> pa.Table:
    if not {"text", "label"} <= set(labelled.column_names):
        raise ValueError(f"labelled rows need the columns text and label, got {labelled.column_names}")
    if labelled["label"].null_count:
        raise ValueError(f"every labelled row needs a label; {labelled['label'].null_count} have none")
    return labelled.filter(pc.is_valid(labelled["text"]))


def _is_positive(rows: pa.Table, positive: str) -> np.ndarray:
    return np.asarray(pc.equal(rows["label"], positive).to_numpy(), bool)


def _label_counts(rows: pa.Table) -> dict[str, int]:
    counts = rows.group_by("label").aggregate([([], "count_all")]).sort_by("label").to_pylist()
    return {row["label"]: row["count_all"] for row in counts}


def _rows_hash(rows: pa.Table) -> str:
    digest = hashlib.sha256()
    for name in ("text", "label"):
        data, offsets = text_buffers(rows[name])
        digest.update(data[offsets[0] : offsets[-1]].tobytes())
        digest.update((offsets - offsets[0]).tobytes())
    return digest.hexdigest()[:32]


def _pack(card: Mapping[str, Any], bias: float, weights: np.ndarray) -> bytes:
    described = json.dumps(card, sort_keys=True, ensure_ascii=True).encode()
    return b"".join(
        [
            _FORMAT,
            struct.pack("<I", len(described)),
            described,
            struct.pack("<d", bias),
            weights.astype("<f2").tobytes(),
        ]
    )
