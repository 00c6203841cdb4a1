"""What repeats prove: how stable a ranking is, and how large the winner's gain over the baseline.

Repeats are paired: in each one every candidate met the same machine at about the same time, so what slows the machine
cancels in the ratio. Three repeats give a coarse interval: it reaches from the smallest ratio to the largest.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from corpusmill.tune.search import fastest
from corpusmill.tune.trial import Trial

NUM_RESAMPLES = 2_000
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A ratio with its bootstrap interval."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Who won the last tier."""

    winner: str | None
    """None where nothing answered."""
    gain: Interval | None
    """The winner's speed over the baseline's; None where the baseline failed."""
    tau: float | None
    """Kendall's tau of the rankings, the mean over all pairs of repeats; None of one repeat or one candidate."""
    winners: tuple[str, ...] = ()
    """Of each repeat."""

    @property
    def is_proven(self) -> bool:
        """Whether the whole interval of the gain lies above 1, or there is no baseline to be better than."""
        return self.winner is not None and (self.gain is None or self.gain.low > 1)


def verdict(trials: Sequence[Trial], *, baseline: str) -> Verdict:
    """Return who won the last tier of `trials`."""
    last = max((trial.tier for trial in trials), default=0)
    final = [trial for trial in trials if trial.tier == last]
    ranking = fastest(final)
    if not ranking:
        return Verdict(winner=None, gain=None, tau=None)
    speeds = speeds_by_repeat(final, ranking)
    winner = ranking[0]
    gain = paired_gain([(row[winner], row[baseline]) for row in speeds]) if baseline in ranking else None
    orders = [sorted(row, key=lambda name: -row[name]) for row in speeds]
    return Verdict(winner=winner, gain=gain, tau=mean_tau(orders), winners=tuple(order[0] for order in orders))


def speeds_by_repeat(trials: Sequence[Trial], names: Sequence[str]) -> list[dict[str, float]]:
    """Return tokens a second of `names`, by repeat."""
    return [
        {
            trial.candidate: trial.tokens_per_second
            for trial in trials
            if trial.repeat == repeat and trial.candidate in names
        }
        for repeat in sorted({trial.repeat for trial in trials})
    ]


def paired_gain(pairs: Sequence[tuple[float, float]], *, seed: int = 0) -> Interval:
    """Return the geometric mean of ours over theirs, with the bootstrap interval over the pairs."""
    logs = [math.log(ours / theirs) for ours, theirs in pairs]
    rng = random.Random(seed)
    means = sorted(fmean(rng.choices(logs, k=len(logs))) for _ in range(NUM_RESAMPLES))
    tail = round(NUM_RESAMPLES * (1 - CONFIDENCE) / 2)
    return Interval(ratio=math.exp(fmean(logs)), low=math.exp(means[tail]), high=math.exp(means[-1 - tail]))


def mean_tau(orders: Sequence[Sequence[str]]) -> float | None:
    """Return the mean of Kendall's tau over all pairs of orders of the same names."""
    if len(orders) < 2 or len(orders[0]) < 2:
        return None
    return fmean(kendall_tau(one, other) for one, other in combinations(orders, 2))


def kendall_tau(one: Sequence[str], other: Sequence[str]) -> float:
    """Return 1 where both orders of the same names are equal, -1 where one is the other turned round."""
    place: Mapping[str, int] = {name: number for number, name in enumerate(other)}
    pairs = list(combinations(one, 2))
    agreeing = sum(place[first] < place[second] for first, second in pairs)
    return (2 * agreeing - len(pairs)) / len(pairs)
