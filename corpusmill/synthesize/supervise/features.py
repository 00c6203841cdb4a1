"""One output as numbers: what the statistics of a chunk are made of, so that no text has to be kept.

The vector of a text is its bag of words, hashed: it knows which words a text has and nothing of what they mean. It is
no learned embedding, needs no model, and sees that outputs grow alike or turn to other words; a paraphrase in wholly
other words looks like another text to it.

Costs about 0.3 ms for a text of 300 words, and is bounded: of a longer text the first MAX_WORDS words count.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corpusmill.synthesize.verify.words import words

ACCEPTED = "accepted"
"""Stands among the reasons for an output that has none."""
FAILED = "failed/"
"""What stands before the reason of an output that the engine gave no answer for."""
DIMENSIONS = 512
SLOTS = 128
"""Slots of a sketch: in each the smallest hash of the word runs that fall into it."""
RUN_WORDS = 3
EDGE_WORDS = 5
"""An opening is the first so many words of a text, its closing the last ones."""
MAX_WORDS = 2_000
EMPTY_SLOT = np.uint32(0xFFFFFFFF)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_LOW = np.uint64(0xFFFFFFFE)


@dataclass(frozen=True, kw_only=True)
class Output:
    """What came of one primary input."""

    text: str
    """Empty where there is none."""
    seed: str = ""
    """The part of the seed that was asked about."""
    reason: str | None = None
    """Why it is no document: None for an accepted one, `failed/...` where the engine gave no answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    device_seconds: float = 0.0

    @property
    def is_failed(self) -> bool:
        return self.reason is not None and self.reason.startswith(FAILED)


@dataclass(frozen=True, kw_only=True)
class TextFeatures:
    """A text in numbers."""

    characters: int
    opening: int
    closing: int
    num_runs: int
    sketch: NDArray[np.uint32]
    """SLOTS minima: of two texts, the share of equal filled slots estimates the Jaccard of their word runs."""
    vector: NDArray[np.float32]
    """DIMENSIONS, of length 1; zero for a text without words."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """One output in numbers."""

    output: TextFeatures
    seed: TextFeatures
    reason: str
    prompt_tokens: int
    completion_tokens: int
    device_seconds: float

    @property
    def is_failed(self) -> bool:
        return self.reason.startswith(FAILED)


def features(output: Output) -> Features:
    """Return an output in numbers."""
    return Features(
        output=text_features(output.text),
        seed=text_features(output.seed),
        reason=output.reason or ACCEPTED,
        prompt_tokens=output.prompt_tokens,
        completion_tokens=output.completion_tokens,
        device_seconds=output.device_seconds,
    )


def text_features(text: str) -> TextFeatures:
    """Return a text in numbers. An empty text is like every other empty one."""
    tokens = words(text)
    hashes = np.array([zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens[:MAX_WORDS]], np.uint64)
    runs = _runs(hashes)
    return TextFeatures(
        characters=len(text),
        opening=_edge(tokens[:EDGE_WORDS]),
        closing=_edge(tokens[-EDGE_WORDS:]),
        num_runs=len(runs),
        sketch=_sketch(runs),
        vector=_vector(hashes),
    )


def _edge(tokens: Sequence[str]) -> int:
    return zlib.crc32(" ".join(tokens).encode("utf-8", "surrogatepass"))


def _runs(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hash of every run of RUN_WORDS words; a shorter text is one run."""
    size = min(RUN_WORDS, len(hashes))
    found = np.zeros(len(hashes) - size + 1, np.uint64)
    for at in range(size):
        found = (found ^ hashes[at : at + len(found)]) * _GOLDEN
    return _mixed(found)


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (hashes ^ (hashes >> np.uint64(31))) * _MIX
    return mixed ^ (mixed >> np.uint64(29))


def _sketch(runs: NDArray[np.uint64]) -> NDArray[np.uint32]:
    slots = (runs >> np.uint64(40)) % np.uint64(SLOTS)
    sketch = np.full(SLOTS, EMPTY_SLOT)
    np.minimum.at(sketch, slots.astype(np.int64), (runs & _LOW).astype(np.uint32))
    return sketch


def _vector(hashes: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Return the bag of words: the root of each word's count, at a place and with a sign of its hash."""
    found, counts = np.unique(_mixed(hashes * _GOLDEN), return_counts=True)
    places = (found % np.uint64(DIMENSIONS)).astype(np.int64)
    signs = np.where(found >> np.uint64(63), 1.0, -1.0)
    vector = np.bincount(places, weights=signs * np.sqrt(counts), minlength=DIMENSIONS)
    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)
