"""Simulated runs under the supervisor: thousands of outputs, chunk after chunk, of a generator that is good or goes bad.

Texts become numbers once (`Pool`); a run draws from them, so that long runs cost milliseconds a chunk.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from benchmarks.supervised_passages import GOOD, collapsed, elsewhere, foreign_passages, looping, passages
from corpusmill.synthesize.supervise.features import ACCEPTED, Features, Output, features
from corpusmill.synthesize.supervise.rules import SupervisionRules
from corpusmill.synthesize.supervise.supervisor import Decision, History, follow, judge, observe

REASONS: Mapping[str, float] = {"ungrounded": 0.5, "too_short": 0.2, "copied": 0.2, "repetitive": 0.1}
"""Why a good generator's other outputs are rejected."""
WORSE_REASONS: Mapping[str, float] = {"repetitive": 0.8, "cut_off": 0.2}
FILE_SEEDS = 250
"""Passages in one file."""
Order = Literal["mixed", "files", "documents"]
KINDS = ("good", "collapses", "drifts", "turns bad", "accepts less")
STOPS = frozenset({"demote", "stop", "pause"})


@dataclass(frozen=True)
class Pool:
    """One recipe's material: what a good generator and each bad one make of the same passages."""

    seeds: Sequence[str]
    foreign: Sequence[str]
    """What a generator may drift to."""
    recipe: str

    @cached_property
    def good(self) -> list[Features]:
        chance = random.Random(f"good {self.recipe}")
        return [_features(seed, GOOD[self.recipe](seed, chance)) for seed in self.seeds]

    @cached_property
    def bad(self) -> dict[str, list[Features]]:
        chance = random.Random(f"bad {self.recipe}")
        writers = {
            "collapses": collapsed,
            "drifts": elsewhere(self.foreign, GOOD[self.recipe]),
            "turns bad": looping,
        }
        return {kind: [_features(seed, write(seed, chance)) for seed in self.seeds] for kind, write in writers.items()}


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one run goes."""

    kind: str = "good"
    chunk_size: int = 32
    accept_rate: float = 0.3
    num_chunks: int = 100
    change_at: int = 50
    """The first chunk of the bad kind."""
    ramp: int = 3
    """A drift grows over so many chunks until all outputs are drifted."""
    seed: int = 0
    order: Order = "mixed"
    """How seeds come: by the hash of their ids, as the task asks; file by file and in each by hash, as it asks where each
    file is too large to be mixed with others; or document after document, as it never does."""
    scatter: float = 0.0
    """How much accept rates of neighbouring seeds differ from one another: 0 not at all, 1 each is 0 or 1."""


def pools(limit: int) -> list[Pool]:
    """Return the material of every good recipe."""
    found, foreign = passages(limit), foreign_passages(limit)
    return [Pool(found, foreign, recipe) for recipe in GOOD]


def first_action(
    run: Run, pool: Pool, rules: SupervisionRules, *, wanted: frozenset[str] = STOPS | {"lower_share"}
) -> Decision | None:
    """Return the first decision of a run whose action is wanted, None where there is none."""
    chance = random.Random(f"{run}")
    order = _order(run, len(pool.seeds), chance)
    history = History()
    for number in range(run.num_chunks):
        chosen = [order[(number * run.chunk_size + at) % len(order)] for at in range(run.chunk_size)]
        history = observe(history, [_output(index, number, run, pool, chance) for index in chosen], rules)
        decision = judge(history, rules)
        if decision.action in wanted:
            return decision
        history = follow(history, decision)
    return None


def _order(run: Run, number: int, chance: random.Random) -> list[int]:
    order = list(range(number))
    if run.order == "mixed":
        chance.shuffle(order)
        return order
    start = chance.randrange(number)
    order = order[start:] + order[:start]
    if run.order == "documents":
        return order
    files = [order[at : at + FILE_SEEDS] for at in range(0, number, FILE_SEEDS)]
    return [seed for file in files for seed in chance.sample(file, len(file))]


def _output(index: int, chunk: int, run: Run, pool: Pool, chance: random.Random) -> Features:
    is_bad = _is_bad(run, chunk, chance)
    rate, reasons = _local_rate(run, index), REASONS
    found = pool.good[index]
    if is_bad and run.kind == "accepts less":
        rate *= 0.05
    elif is_bad:
        found = pool.bad[run.kind][index]
        if run.kind == "turns bad":
            rate, reasons = rate * 0.05, WORSE_REASONS
    reason = ACCEPTED if chance.random() < rate else chance.choices([*reasons], [*reasons.values()])[0]
    return replace(found, reason=reason)


def _is_bad(run: Run, chunk: int, chance: random.Random) -> bool:
    if run.kind == "good" or chunk < run.change_at:
        return False
    if run.kind != "drifts":
        return True
    return chance.random() < (chunk - run.change_at + 1) / run.ramp


def _local_rate(run: Run, index: int) -> float:
    """Twenty neighbours share a rate."""
    return _drawn_rate(run.seed, index // 20, run.accept_rate, run.scatter) if run.scatter else run.accept_rate


@lru_cache(maxsize=1_000)
def _drawn_rate(seed: int, group: int, accept_rate: float, scatter: float) -> float:
    """Return a rate drawn from a Beta distribution around the run's."""
    strength = 1 / scatter - 1
    return random.Random(f"{seed} {group}").betavariate(accept_rate * strength, (1 - accept_rate) * strength)


def _features(seed: str, text: str) -> Features:
    tokens = len(text.split())
    return features(Output(text=text, seed=seed, prompt_tokens=len(seed.split()) + 60, completion_tokens=tokens))
