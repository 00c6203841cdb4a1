"""The supervisor on simulated runs: how soon each kind of bad generator is stopped, and how often a good one is.

Texts are made from passages of real documents where the data are there. Chunks of 32 and of 256 outputs, accept rates of
5, 30 and 80 %, four kinds of recipe. A good run has 100 chunks of 32, or 30 of 256; accept rates are even, or differ from
document to document. Two runs at a time, about 15 minutes of one processor together.
"""

import itertools
import multiprocessing
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from benchmarks.harness import Bar, Measure, at_least, at_most, print_measures
from benchmarks.supervised_passages import GOOD as RECIPES
from benchmarks.supervised_runs import STOPS, Order, Pool, Run, first_action, pools
from corpusmill.synthesize.supervise.rules import SupervisionRules
from corpusmill.synthesize.supervise.supervisor import Decision

RULES = SupervisionRules()
NUM_PASSAGES = 2_000
NUM_PROCESSES = 2
CHUNKS = {32: 100, 256: 30}
ACCEPT_RATES = (0.05, 0.3, 0.8)
GOOD: tuple[tuple[str, Order, float, int, Bar | None], ...] = (
    ("as they are asked, even accept rates", "mixed", 0.0, 1_000, at_most(0)),
    ("as they are asked, uneven rates", "mixed", 0.1, 600, at_most(0)),
    ("as they are asked, very uneven rates", "mixed", 0.3, 400, at_most(0)),
    ("as files too large to be mixed are asked, uneven rates", "files", 0.1, 200, None),
    ("document after document, as none are asked, uneven rates", "documents", 0.1, 200, None),
)
"""Name, order of seeds, scatter of accept rates, runs, and how many may be acted on."""
BAD_SEEDS = 10
WITHIN = 3
"""Chunks, the first bad one counted."""
LOOK_AFTER = 12
"""Chunks that a bad run goes on after its change."""
CHANGES = {"collapses": (8, 20), "drifts": (8, 20), "turns bad": (20,), "accepts less": (20,)}
"""The first bad chunk, by kind: early in the run and later."""
_POOLS: list[Pool] = []
"""Of a process that runs runs."""

Case = tuple[Run, int]
"""A run, and the number of its pool."""


def measures() -> list[Measure]:
    """Run all runs, print what acted and when, and return the measures."""
    found = pools(NUM_PASSAGES)
    for pool in found:
        # Made before processes are: they share it.
        assert pool.good and pool.bad
    print(f"{len(found[0].seeds):,} passages, rules as they are by default", flush=True)
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(NUM_PROCESSES, mp_context=fork, initializer=_POOLS.extend, initargs=(found,)) as workers:
        return [*(one for kind in CHANGES for one in _delays(kind, workers)), *_false_alarms(workers)]


def _false_alarms(workers: ProcessPoolExecutor) -> Iterator[Measure]:
    for name, order, scatter, number, bar in GOOD:
        runs = list(_good_runs(order=order, scatter=scatter, number=number))
        actions = Counter(f"{one.rule}: {one.action}" for one in workers.map(_acted, runs, chunksize=10) if one)
        print(f"good runs, {name}: {len(runs)} runs, acted on: {dict(actions) or 'none'}", flush=True)
        yield Measure(measure=f"good runs acted on, of {len(runs):,} ({name})", ours=sum(actions.values()), bar=bar)


def _good_runs(*, order: Order, scatter: float, number: int) -> Iterator[Case]:
    cases = list(itertools.product(CHUNKS, ACCEPT_RATES, range(len(RECIPES))))
    for seed in range(number):
        size, rate, pool = cases[seed % len(cases)]
        run = Run(
            chunk_size=size,
            accept_rate=rate,
            num_chunks=CHUNKS[size],
            seed=seed,
            order=order,
            scatter=scatter,
        )
        yield run, pool


def _acted(case: Case) -> Decision | None:
    """Return what is decided first about a run other than to go on; called in a process of the pool."""
    run, pool = case
    return first_action(run, _POOLS[pool], RULES)


def _stopped(case: Case) -> Decision | None:
    run, pool = case
    return first_action(run, _POOLS[pool], RULES, wanted=STOPS)


def _delays(kind: str, workers: ProcessPoolExecutor) -> Iterator[Measure]:
    for size in CHUNKS:
        cases = list(_bad_runs(kind, size))
        actions = workers.map(_stopped, cases, chunksize=10)
        delays = [_delay(run, action) for (run, _), action in zip(cases, actions, strict=True)]
        early = sum(1 <= delay <= WITHIN for delay in delays)
        print(f"{kind}, chunks of {size}: chunks until it is stopped {_distribution(delays)}", flush=True)
        yield Measure(
            measure=f"runs that are stopped within {WITHIN} chunks: {kind}, chunks of {size} (share of {len(delays)})",
            ours=early / len(delays),
            bar=None if kind == "accepts less" else at_least(1.0),
        )
        seen = [delay for delay in delays if delay > 0]
        if seen:
            yield Measure(
                measure=f"median chunks until stopped: {kind}, chunks of {size}", ours=statistics.median(seen)
            )


def _bad_runs(kind: str, size: int) -> Iterator[Case]:
    every = itertools.product(CHANGES[kind], ACCEPT_RATES, range(len(RECIPES)), range(BAD_SEEDS))
    for change, rate, pool, seed in every:
        run = Run(
            kind=kind, chunk_size=size, accept_rate=rate, num_chunks=change + LOOK_AFTER, change_at=change, seed=seed
        )
        yield run, pool


def _delay(run: Run, action: Decision | None) -> int:
    """Return after how many bad chunks the run is stopped; 0 where it never is, negative where it was before."""
    if action is None:
        return 0
    late = action.chunk - run.change_at + 1
    return late if late > 0 else -1


def _distribution(delays: Iterable[int]) -> dict[str, int]:
    names = {0: "not", -1: "before the change"}
    return {names.get(delay, str(delay)): number for delay, number in sorted(Counter(delays).items())}


if __name__ == "__main__":
    print_measures(measures())
