"""The solver over 200 components with caps: flat, and with groups, buckets, phases, temperatures and bounds.

Bars are on the processor's time, which the solver spends on one core and nothing else; the clock's is shown beside.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Measure, at_most, print_measures
from corpusmill.mix.inventory import Inventory, PartitionPin
from corpusmill.mix.mixture import Component, Group, Mixture, Phase
from corpusmill.mix.plan import Plan, plan_from_table, plan_to_table
from corpusmill.mix.solve import plan
from corpusmill.mix.upsampling import Bucket, Upsampling

COMPONENTS = 200
BUCKETS = 20
LENGTH = 8192
TOPICS = 24


def measures() -> list[Measure]:
    """Return how long plans take, and whether their tokens and caps are exact."""
    flat, flat_seconds, flat_clock = _timed(lambda: plan(_flat(), _inventory()))
    rich, rich_seconds, rich_clock = _timed(lambda: plan(_rich(), _inventory(buckets=TOPICS)))
    again, read_seconds, _ = _timed(lambda: plan_from_table(plan_to_table(rich), mix=rich.mix))
    assert again == rich
    return [
        Measure(measure="200 components with caps, largest stream (s)", ours=flat_seconds, bar=at_most(5.0)),
        Measure(measure="the same on the clock (s)", ours=flat_clock),
        Measure(measure="its tokens (T)", ours=flat.planned_tokens / 1e12),
        Measure(
            measure=f"the same in {TOPICS} topics of {BUCKETS} quality buckets, three phases, languages (s)",
            ours=rich_seconds,
            bar=at_most(5.0),
        ),
        Measure(measure="the same on the clock (s)", ours=rich_clock),
        Measure(measure="its planned components", ours=len(rich.components)),
        Measure(measure="its plan written and read (s)", ours=read_seconds),
        Measure(measure="tokens lost in parting", ours=_lost(flat) + _lost(rich), bar=at_most(0.0)),
        Measure(measure="components read beyond their cap", ours=_beyond(flat) + _beyond(rich), bar=at_most(0.0)),
    ]


def _flat() -> Mixture:
    return Mixture(
        name="flat",
        sequence_length=LENGTH,
        components=tuple(
            Component(name=f"c{n}", table=f"tokenized/c{n}/sequences", weight=(n % 17 + 1) / 7, max_epochs=1 + n % 5)
            for n in range(COMPONENTS)
        ),
    )


def _rich() -> Mixture:
    buckets = tuple(Bucket(name=f"q{n:02}", partitions=(f"q{n:02}",)) for n in range(BUCKETS))
    topics = tuple(
        Component(
            name=f"c{n}",
            table=f"tokenized/c{n}/sequences",
            weight=n % 5 + 1,
            max_epochs=7,
            group="web",
            upsampling=Upsampling(buckets=buckets, drop_below=0.4),
        )
        for n in range(TOPICS)
    )
    languages = tuple(
        Component(
            name=f"c{n}", table=f"tokenized/c{n}/sequences", max_epochs=4, group="languages", is_synthetic=n % 4 == 0
        )
        for n in range(TOPICS, COMPONENTS)
    )
    return Mixture(
        name="rich",
        sequence_length=LENGTH,
        components=(*topics, *languages),
        groups=(Group(name="web", weight=0.7), Group(name="languages", weight=0.3, temperature=3.3)),
        phases=(
            Phase(name="warmup", weight=0.02),
            Phase(name="main", weight=0.88),
            Phase(name="anneal", weight=0.1, weights={"web": 0.5, "languages": 0.5}),
        ),
        synthetic_share=(0.0, 0.2),
    )


def _inventory(buckets: int = 0) -> Inventory:
    pins = []
    for n in range(COMPONENTS):
        for partition in [f"q{q:02}" for q in range(BUCKETS)] if n < buckets else ["s1"]:
            sequences = 1_000_000 + n * 7919
            pins.append(
                PartitionPin(
                    table=f"tokenized/c{n}/sequences",
                    partition=partition,
                    content_hash=f"{n}-{partition}",
                    num_sequences=sequences,
                    num_tokens=sequences * (LENGTH - n),
                    tokenizer="t",
                    sequence_length=LENGTH,
                )
            )
    return Inventory(pins=pins)


def _lost(made: Plan) -> int:
    asked = sum(component.planned_tokens for component in made.components)
    return abs(asked - sum(sum(phase.planned_tokens) for phase in made.stretches))


def _beyond(made: Plan) -> int:
    counts = made.order().count(made.num_positions)
    caps = np.array([component.max_epochs * component.num_sequences for component in made.components])
    return int((counts > caps).sum())


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what work makes, and its seconds on the processor and on the clock."""
    began, started = time.process_time(), time.perf_counter()
    made = work()
    return made, time.process_time() - began, time.perf_counter() - started


if __name__ == "__main__":
    print_measures(measures())
