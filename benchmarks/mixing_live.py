"""A mix with a live component: what a position costs once some 1,000 decisions are in its log, and what a decision costs.

    python -m benchmarks.mixing_live

Long: the stream of the order's benchmark, 10^9 sequences of 12 components and three phases, of which one is live. It arrives
in 1,000 parts, too late at first, borrows from two others meanwhile and pays back. Times are of the processor, the best of five
runs. Real: a small lake whose live component never comes, so that each of 1,000 positions is decided by itself; then the
stream is opened again, which reads the log, in seconds on the clock.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness import Measure, at_most, print_measures
from benchmarks.mixing_order import LENGTH, SEQUENCES, nanoseconds, planned
from benchmarks.mixing_packed import MIX, commit_plan, make_lake
from corpusmill.lake.tables import Lake
from corpusmill.mix.availability import Arrival, Decided, Decision, decide
from corpusmill.mix.decided import build_decided_order
from corpusmill.mix.inventory import PartitionPin
from corpusmill.mix.live import Live, Promise
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.plan import Plan
from corpusmill.mix.solve import plan
from corpusmill.stream.inventory import read_inventory
from corpusmill.stream.loader import MixtureStream

LIVE, LENDERS, PARTS = 3, (0, 1), 1_000
WINDOWS = 5_000
DECISIONS, REAL_LENGTH = 1_000, 64


def measures() -> list[Measure]:
    """Return what positions and decisions cost, and whether all was paid back."""
    return [*_long(), *_real()]


def _long() -> list[Measure]:
    made = _with_a_live_component(planned(1000 * SEQUENCES * LENGTH))
    started = time.process_time()
    decided = _decided(made)
    seconds = time.process_time() - started
    order = build_decided_order(decided)
    start = made.num_positions // 3
    at_random = np.random.default_rng(1).integers(0, made.num_positions, SEQUENCES)
    return [
        Measure(measure="decisions in the log", ours=len(decided.decisions)),
        Measure(measure="places of the live component that lenders filled", ours=_borrowed(decided)),
        Measure(measure="of those not given back at the end", ours=sum(decided.owed.values()), bar=at_most(0)),
        Measure(measure="a decision of a stream of 10^9 (CPU ms)", ours=1000 * seconds / len(decided.decisions)),
        Measure(
            measure="a position, in order (ns)",
            ours=nanoseconds(order, np.arange(start, start + SEQUENCES)),
            other=nanoseconds(decided.order, np.arange(start, start + SEQUENCES)),
            other_name="the same plan without a live component",
            bar=at_most(300.0),
        ),
        Measure(
            measure="a position, at random of 10^9 (ns)",
            ours=nanoseconds(order, at_random),
            other=nanoseconds(decided.order, at_random),
            other_name="the same plan without a live component",
            bar=at_most(1000.0),
        ),
        Measure(measure="memory of the decisions (MB)", ours=order.num_bytes / 1e6, bar=at_most(8.0)),
    ]


def _with_a_live_component(made: Plan) -> Plan:
    components = list(made.components)
    late = components[LIVE]
    promise = Promise(num_sequences=late.planned_sequences, num_tokens=late.planned_tokens, lenders=LENDERS)
    components[LIVE] = replace(late, pins=(), live=promise)
    return replace(made, components=tuple(components), live_window=made.num_positions // WINDOWS)


def _decided(made: Plan) -> Decided:
    """Decide a whole stream; parts come evenly, the first one after a tenth of it and the last one before six sevenths."""
    decided, number, end = Decided.of(made), 0, made.num_positions
    size = -(-made.components[LIVE].planned_sequences // PARTS)
    while decided.position < end:
        comes: list[Arrival] = []
        while number < PARTS and decided.position >= end // 10 + number * (3 * end // 4) // PARTS:
            comes.append(_part(made, number, size))
            number += 1
        found = decide(decided, comes, {})
        assert isinstance(found, Decision)
        decided = decided.after(found)
    return decided


def _part(made: Plan, number: int, size: int) -> Arrival:
    pin = PartitionPin(
        table=made.components[LIVE].table,
        partition=f"p{number}",
        content_hash="",
        num_sequences=size,
        num_tokens=size * LENGTH,
        tokenizer=made.tokenizer,
        sequence_length=LENGTH,
    )
    return Arrival(slot=LIVE, snapshot_id=number, pins=(pin,))


def _borrowed(decided: Decided) -> int:
    return sum(
        route.count
        for one in decided.decisions
        for route in one.routes
        if route.slot == LIVE and route.column in LENDERS
    )


def _real() -> list[Measure]:
    with tempfile.TemporaryDirectory() as folder:
        settings = make_lake(Path(folder), {"web": 20_000}, sequence_length=REAL_LENGTH)
        lake = Lake(settings)
        commit_plan(lake, plan(_mixture(), read_inventory(lake, _mixture().pinned_tables)))
        lake.close()
        stream = MixtureStream(settings, MIX)
        next(iter(stream))
        started = time.perf_counter()
        stream.read(range(DECISIONS))
        decided = time.perf_counter() - started
        started, cpu_started = time.perf_counter(), time.process_time()
        again = MixtureStream(settings, MIX)
        opened, cpu_opened = time.perf_counter() - started, time.process_time() - cpu_started
        assert again.plan.num_positions == DECISIONS
    return [
        Measure(measure="a decision in a real lake, on the clock (ms)", ours=1000 * decided / (DECISIONS - 1)),
        Measure(measure="a stream with 1,000 decisions opened, on the clock (s)", ours=opened, bar=at_most(1.0)),
        Measure(measure="of that CPU (s)", ours=cpu_opened),
    ]


def _mixture() -> Mixture:
    return Mixture(
        name=MIX,
        seed=1,
        sequence_length=REAL_LENGTH,
        components=(
            Component(name="web", table="tokenized/web/sequences", weight=1, max_epochs=2),
            Component(
                name="late",
                table="tokenized/late/sequences",
                weight=1,
                live=Live(expected_tokens=10_000 * REAL_LENGTH, lenders=("web",)),
            ),
        ),
        budget_tokens=20_000 * REAL_LENGTH,
        live_window=1,
    )


if __name__ == "__main__":
    print_measures(measures())
