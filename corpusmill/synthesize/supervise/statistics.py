"""What a chunk of outputs looks like: accept rate and reasons, lengths, diversity, likeness to its seeds, cost.

Everything is a count or a sum, so statistics of chunks add up, and take about 8 KB whatever they are of. Failed outputs
(the engine gave no answer) are counted apart: they say nothing of what the generator writes.

Diversity is measured on pairs of outputs of a chunk, and each output is in one pair only: so the pairs are as independent
as the outputs, and a test of their counts is exact. The two of a pair stand half a chunk apart, and what their seeds
share is taken off: pages of one site look alike before and after.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpusmill.synthesize.supervise.exact import wilson_interval
from corpusmill.synthesize.supervise.features import ACCEPTED, DIMENSIONS, EMPTY_SLOT, SLOTS, Features, TextFeatures

EDGES: Mapping[str, NDArray[np.float64]] = {
    "length_ratio": np.linspace(-8, 16, 49),
    "pair_overlap": np.linspace(-1, 1, 41),
    "pair_closeness": np.linspace(-1, 1, 41),
    "seed_closeness": np.linspace(-1, 1, 41),
    "start_closeness": np.linspace(-1, 1, 41),
    "likeness": np.linspace(-1, 1, 41),
}
"""Edges of the bins. `length_ratio` is log2 of characters out per character of the seed. Closeness is the cosine of two
bags of words: of a pair less that of their seeds; of an output and its seed; of an output and the mean of the run's first
chunk, less the same of its seed. `pair_overlap` is the Jaccard of a pair's word runs, less that of their seeds. `likeness`
is the correlation, over the run's first outputs, of an output's closeness to each with its seed's closeness to theirs: what
is written from like seeds is alike, in a translation too, as long as outputs are about their seeds."""
START_MEMBERS = 32
"""Of the first chunk's outputs, so many are what `likeness` is measured on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Start:
    """The vectors of a run's first outputs and of their seeds: where later outputs are measured from."""

    output: NDArray[np.float64]
    """The sum."""
    seed: NDArray[np.float64]
    output_members: NDArray[np.float64]
    """The first START_MEMBERS, a row each."""
    seed_members: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """Sums over outputs; `+` joins those of two chunks."""

    reasons: Mapping[str, int]
    """Of answered outputs, with ACCEPTED among them."""
    failures: Mapping[str, int]
    num_pairs: int
    same_opening: int
    """Pairs that begin with the same words, where their seeds do not."""
    same_closing: int
    histograms: Mapping[str, NDArray[np.int64]]
    """By name of EDGES: outputs, or pairs, by bin."""
    vector: NDArray[np.float64]
    """Sum of the outputs' vectors."""
    num_runs: int
    sketch: NDArray[np.uint32]
    """Slot minima over all outputs: what the number of distinct word runs is estimated from."""
    characters: int
    prompt_tokens: int
    completion_tokens: int
    accepted_tokens: int
    device_seconds: float

    @property
    def num_outputs(self) -> int:
        """How many outputs were answered."""
        return sum(self.reasons.values())

    @property
    def num_failed(self) -> int:
        return sum(self.failures.values())

    @property
    def num_accepted(self) -> int:
        return self.reasons.get(ACCEPTED, 0)

    @cached_property
    def shares_below(self) -> Mapping[str, NDArray[np.float64]]:
        """By name of EDGES: the share of outputs, or pairs, below each inner edge; 0 where there are none."""
        return {name: np.cumsum(bins)[:-1] / max(1, int(bins.sum())) for name, bins in self.histograms.items()}

    def __add__(self, other: "Statistics") -> "Statistics":
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        return Statistics(
            reasons=_sum(self.reasons, other.reasons),
            failures=_sum(self.failures, other.failures),
            histograms={name: bins + other.histograms[name] for name, bins in self.histograms.items()},
            sketch=np.minimum(self.sketch, other.sketch),
            **sums,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what people and decisions' rows show: scalars and the reasons."""
        low, high = wilson_interval(self.num_accepted, self.num_outputs)
        outputs = self.num_outputs or 1
        return {
            "outputs": self.num_outputs,
            "accepted": self.num_accepted,
            "accept_rate": round(self.num_accepted / outputs, 4),
            "accept_rate_low": round(low, 4),
            "accept_rate_high": round(high, 4),
            "reasons": {name: number for name, number in sorted(self.reasons.items()) if name != ACCEPTED},
            "failures": dict(sorted(self.failures.items())),
            "mean_characters": round(self.characters / outputs, 1),
            "distinct_runs": round(distinct_share(self), 4),
            "spread": round(spread(self), 4),
            "mean_pair_overlap": round(mean_value("pair_overlap", self), 4),
            "same_opening": round(self.same_opening / (self.num_pairs or 1), 4),
            "same_closing": round(self.same_closing / (self.num_pairs or 1), 4),
            "mean_seed_closeness": round(mean_value("seed_closeness", self), 4),
            "mean_likeness": round(mean_value("likeness", self), 4),
            "tokens": self.prompt_tokens + self.completion_tokens,
            "tokens_per_accepted_token": tokens_per_accepted_token(self),
            "device_seconds": round(self.device_seconds, 3),
        }


_SUMS = (
    "num_pairs",
    "same_opening",
    "same_closing",
    "vector",
    "num_runs",
    "characters",
    "prompt_tokens",
    "completion_tokens",
    "accepted_tokens",
    "device_seconds",
)


def chunk_statistics(outputs: Sequence[Features], start: Start | None = None, *, is_start: bool = False) -> Statistics:
    """Return the statistics of a chunk; without `start` nothing is said of the distance from the run's start.

    `is_start`: the start is of these very outputs, each of which is measured from all others.
    """
    answered = [item for item in outputs if not item.is_failed]
    texts, seeds = [item.output for item in answered], [item.seed for item in answered]
    vectors, seed_vectors = _vectors(texts), _vectors(seeds)
    overlaps = _pair_overlaps(texts) - _pair_overlaps(seeds) * _have_text(seeds)
    closeness = _pair_closeness(vectors) - _pair_closeness(seed_vectors)
    values = {
        "length_ratio": np.log2([(item.output.characters + 1) / (item.seed.characters + 1) for item in answered]),
        "pair_overlap": overlaps,
        "pair_closeness": closeness,
        "seed_closeness": (vectors * seed_vectors).sum(axis=1),
        "start_closeness": _closeness(vectors, start.output, is_start) - _closeness(seed_vectors, start.seed, is_start)
        if start
        else np.zeros(0),
        "likeness": _likeness(vectors, seed_vectors, start) if start else np.zeros(0),
    }
    return Statistics(
        reasons=Counter(item.reason for item in answered),
        failures=Counter(item.reason for item in outputs if item.is_failed),
        num_pairs=len(overlaps),
        same_opening=int((_same(texts, "opening") & ~(_same(seeds, "opening") & _have_text(seeds))).sum()),
        same_closing=int((_same(texts, "closing") & ~(_same(seeds, "closing") & _have_text(seeds))).sum()),
        histograms={name: _histogram(name, found) for name, found in values.items()},
        vector=vectors.sum(axis=0),
        num_runs=sum(item.num_runs for item in texts),
        sketch=reduce(np.minimum, (item.sketch for item in texts), np.full(SLOTS, EMPTY_SLOT)),
        characters=sum(item.characters for item in texts),
        prompt_tokens=sum(item.prompt_tokens for item in outputs),
        completion_tokens=sum(item.completion_tokens for item in outputs),
        accepted_tokens=sum(item.completion_tokens for item in answered if item.reason == ACCEPTED),
        device_seconds=sum(item.device_seconds for item in outputs),
    )


def start_of(outputs: Sequence[Features]) -> Start:
    """Return where a run starts, from its first outputs."""
    answered = [item for item in outputs if not item.is_failed]
    texts, seeds = (_vectors([getattr(item, side) for item in answered]) for side in ("output", "seed"))
    return Start(
        output=texts.sum(axis=0),
        seed=seeds.sum(axis=0),
        output_members=texts[:START_MEMBERS],
        seed_members=seeds[:START_MEMBERS],
    )


def spread(statistics: Statistics) -> float:
    """Return the mean cosine distance of two outputs, from 0 (all the same words) to about 1."""
    number = statistics.num_outputs
    if number < 2:
        return 1.0
    squared = float(statistics.vector @ statistics.vector)
    return 1 - (squared - number) / (number * (number - 1))


def distinct_share(statistics: Statistics) -> float:
    """Return about which share of all word runs are distinct: distinct-3, within 10 % of its value.

    The number of distinct hashes that fell into a slot is about the range of hashes over their minimum.
    """
    if not statistics.num_runs:
        return 1.0
    distinct = SLOTS * SLOTS * float(EMPTY_SLOT) / float(statistics.sketch.astype(np.float64).sum()) - SLOTS
    return min(1.0, max(1.0, distinct) / statistics.num_runs)


def tokens_per_accepted_token(statistics: Statistics) -> float | None:
    """Return prompt and output tokens for each output token of an accepted document; None where there is none."""
    if not statistics.accepted_tokens:
        return None
    tokens = statistics.prompt_tokens + statistics.completion_tokens
    return round(tokens / statistics.accepted_tokens, 3)


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _vectors(texts: Sequence[TextFeatures]) -> NDArray[np.float64]:
    return np.array([item.vector for item in texts], np.float64).reshape(-1, DIMENSIONS)


def _closeness(vectors: NDArray[np.float64], total: NDArray[np.float64], is_own: bool) -> NDArray[np.float64]:
    """Return the cosine of each vector with a sum of vectors, without its own part where it has one; 0 of nothing."""
    others = total - vectors if is_own else np.broadcast_to(total, vectors.shape)
    found: NDArray[np.float64] = (vectors * others).sum(axis=1) / np.maximum(np.linalg.norm(others, axis=1), 1e-9)
    return found


def _likeness(vectors: NDArray[np.float64], seed_vectors: NDArray[np.float64], start: Start) -> NDArray[np.float64]:
    """Return for each output the correlation of its closeness to the start's members with that of its seed; 0 of none.

    Members with just its words and its seed's, as it is one itself, are left out.
    """
    # Not by matrix product: its threads cost a hundred times what they save on so little.
    closeness = (
        np.einsum("id,jd->ij", vectors, start.output_members),
        np.einsum("id,jd->ij", seed_vectors, start.seed_members),
    )
    is_other = np.minimum(*closeness) < 1 - 1e-5
    left, right = (_deviations(side, is_other) for side in closeness)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    found: NDArray[np.float64] = (left * right).sum(axis=1) / np.maximum(lengths, 1e-9)
    return found


def _deviations(values: NDArray[np.float64], is_used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return how far the used values of each row lie from their mean; 0 for the others."""
    means = (values * is_used).sum(axis=1) / np.maximum(1, is_used.sum(axis=1))
    found: NDArray[np.float64] = (values - means[:, None]) * is_used
    return found


def _pair_overlaps(texts: Sequence[TextFeatures]) -> NDArray[np.float64]:
    half = len(texts) // 2
    sketches = np.array([item.sketch for item in texts], np.uint32).reshape(-1, SLOTS)
    left, right = sketches[:half], sketches[half : 2 * half]
    is_filled = (left != EMPTY_SLOT) | (right != EMPTY_SLOT)
    same = ((left == right) & is_filled).sum(axis=1)
    return same / np.maximum(1, is_filled.sum(axis=1))


def _pair_closeness(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    half = len(vectors) // 2
    found: NDArray[np.float64] = (vectors[:half] * vectors[half : 2 * half]).sum(axis=1)
    return found


def _same(texts: Sequence[TextFeatures], edge: str) -> NDArray[np.bool_]:
    """Return for each pair whether both have the same opening or closing."""
    half = len(texts) // 2
    found = np.array([getattr(item, edge) for item in texts], np.int64)
    return found[:half] == found[half : 2 * half]


def _have_text(texts: Sequence[TextFeatures]) -> NDArray[np.bool_]:
    """Return for each pair whether there is text: seeds that were not given have nothing in common."""
    half = len(texts) // 2
    found = np.array([item.characters > 0 for item in texts], np.bool_)
    return found[:half] & found[half : 2 * half]


def _histogram(name: str, values: NDArray[np.float64]) -> NDArray[np.int64]:
    edges = EDGES[name]
    places = np.searchsorted(edges[1:-1], values, side="right")
    return np.bincount(places, minlength=len(edges) - 1).astype(np.int64)


def mean_value(name: str, statistics: Statistics) -> float:
    """Return the mean of a histogram's values, to half a bin."""
    bins, edges = statistics.histograms[name], EDGES[name]
    return float(bins @ ((edges[:-1] + edges[1:]) / 2) / (bins.sum() or 1))
