"""Which candidates to try, and how long: successive halving over tiers, the baseline in each.

A tier asks every candidate that is left the same sample of prompts; the fastest go on to the next, larger tier, where
repeats tell luck from gain. A candidate that failed once is not asked again. Costs: the sum over tiers of candidates times
repeats, each an engine's start and its sample.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from statistics import median
from typing import Any, Self

from corpusmill.tune.trial import Trial, judged

Measure = Callable[[str, int, int], Trial]
"""(candidate, tier, repeat) -> its trial."""


@dataclass(frozen=True, kw_only=True)
class Tier:
    """One round of the search."""

    requests: int
    """The size of the sample."""
    repeats: int = 1
    keep: int = 1
    """How many go on, beside the baseline; of the last tier the winner."""

    def __post_init__(self) -> None:
        if min(self.requests, self.repeats, self.keep) < 1:
            raise ValueError(f"a tier needs requests, repeats and keep of at least 1, got {asdict(self)}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)


def combinations(axes: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return every choice of one part an axis, merged; later axes win where two set the same name."""
    return [{name: value for part in parts for name, value in part.items()} for parts in product(*axes)]


def search(candidates: Sequence[str], *, baseline: str, tiers: Sequence[Tier], measure: Measure) -> list[Trial]:
    """Return every trial, in the order in which they ran."""
    if len(set(candidates)) != len(candidates):
        raise ValueError(f"candidates must differ, got {', '.join(sorted(candidates))}")
    left = [baseline, *(name for name in candidates if name != baseline)]
    trials: list[Trial] = []
    for number, tier in enumerate(tiers):
        found = _run_tier(left, number=number, tier=tier, measure=measure)
        trials += found
        best = fastest([trial for trial in found if trial.candidate != baseline])
        left = [baseline, *best[: tier.keep]]
    return trials


def fastest(trials: Sequence[Trial]) -> list[str]:
    """Return the candidates none of whose trials failed, by their median of tokens a second, the fastest first."""
    names = dict.fromkeys(trial.candidate for trial in trials)
    speeds = {
        name: [trial.tokens_per_second for trial in trials if trial.candidate == name]
        for name in names
        if not any(trial.failure for trial in trials if trial.candidate == name)
    }
    return sorted(speeds, key=lambda name: -median(speeds[name]))


def _run_tier(names: Sequence[str], *, number: int, tier: Tier, measure: Measure) -> list[Trial]:
    """Run one tier. The baseline goes first in the first repeat, to compare answers with; then the order turns round."""
    found: list[Trial] = []
    failed: set[str] = set()
    reference: Trial | None = None
    for repeat in range(tier.repeats):
        for name in names if repeat % 2 == 0 else list(reversed(names)):
            if name in failed:
                continue
            trial = judged(measure(name, number, repeat), reference)
            if name == names[0] and reference is None:
                reference = trial
            if trial.failure:
                failed.add(name)
            found.append(trial)
    return found
