"""The supervisor on simulated runs: how soon each kind of bad generator is stopped, and how often a good one is.

Texts are made from passages of real documents where the data are there. Chunks of 32 and of 256 outputs, accept rates of
5, 30 and 80 %, four kinds of recipe. A good run has 100 chunks of 32, or 30 of 256. Some good runs get their seeds
file by file, with accept rates that differ from document to document: in each file by hash as the task does, or,
for comparison, one after the other.
"""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.supervised_runs import STOPS, Order, Pool, Run, first_action, pools
from corpusmill.synthesize.supervise.rules import SupervisionRules

RULES = SupervisionRules()
NUM_PASSAGES = 2_000
CHUNKS = {32: 100, 256: 30}
ACCEPT_RATES = (0.05, 0.3, 0.8)
NUM_GOOD = 1_000
BAD_SEEDS = 5
WITHIN = 3
"""Chunks, the first bad one counted."""
LOOK_AFTER = 12
"""Chunks that a bad run goes on after its change."""
CHANGES = {"collapses": (8, 20), "drifts": (8, 20), "turns bad": (20,), "accepts less": (20,)}
"""The first bad chunk, by kind: early in the run and later."""


def measures() -> list[Measure]:
    """Run all runs, print what acted and when, and return the measures."""
    found = pools(NUM_PASSAGES)
    print(f"{len(found[0].seeds):,} passages, rules as they are by default")
    return [*(one for kind in CHANGES for one in _delays(kind, found)), *_false_alarms(found)]


def _false_alarms(found: list[Pool]) -> Iterator[Measure]:
    steady = list(_good_runs(found, order="any", scatter=0.0, number=NUM_GOOD))
    rough = list(_good_runs(found, order="files", scatter=0.1, number=NUM_GOOD // 5))
    neighbours = list(_good_runs(found, order="documents", scatter=0.1, number=NUM_GOOD // 5))
    for name, runs, bar in (
        ("any order", steady, at_most(0)),
        ("file by file as the task asks, uneven rates", rough, at_most(0)),
        ("document order, as no task asks, uneven rates", neighbours, None),
    ):
        actions = Counter(
            f"{action.rule}: {action.action}" for run, pool in runs if (action := first_action(run, pool, RULES))
        )
        print(f"good runs, {name}: {len(runs)} runs, acted on: {dict(actions) or 'none'}", flush=True)
        yield Measure(measure=f"good runs acted on, of {len(runs):,} ({name})", ours=sum(actions.values()), bar=bar)


def _good_runs(found: list[Pool], *, order: Order, scatter: float, number: int) -> Iterator[tuple[Run, Pool]]:
    cases = list(itertools.product(CHUNKS, ACCEPT_RATES, found))
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


def _delays(kind: str, found: list[Pool]) -> Iterator[Measure]:
    for size in CHUNKS:
        delays = [_delay(run, pool) for run, pool in _bad_runs(kind, size, found)]
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


def _bad_runs(kind: str, size: int, found: list[Pool]) -> Iterator[tuple[Run, Pool]]:
    for change, rate, pool, seed in itertools.product(CHANGES[kind], ACCEPT_RATES, found, range(BAD_SEEDS)):
        run = Run(
            kind=kind, chunk_size=size, accept_rate=rate, num_chunks=change + LOOK_AFTER, change_at=change, seed=seed
        )
        yield run, pool


def _delay(run: Run, pool: Pool) -> int:
    """Return after how many bad chunks the run is stopped; 0 where it never is, negative where it was before."""
    action = first_action(run, pool, RULES, wanted=STOPS)
    if action is None:
        return 0
    late = action.chunk - run.change_at + 1
    return late if late > 0 else -1


def _distribution(delays: Iterable[int]) -> dict[str, int]:
    names = {0: "not", -1: "before the change"}
    return {names.get(delay, str(delay)): number for delay, number in sorted(Counter(delays).items())}


if __name__ == "__main__":
    print_measures(measures())
