"""The order of a stream of 10^6 sequences, 12 components and three phases: shares at every prefix, distances, ns a position.

The contract is with the declared integer weights; how far these are from the weights that were asked for is shown beside.
The other way is to draw each sequence's component at random by weight, as most loaders do: the right shares on average
only. Times are of the processor, the best of five runs.
"""

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.harness import Measure, at_most, print_measures
from corpusmill.mix.apportion import exact
from corpusmill.mix.decided import DecidedOrder
from corpusmill.mix.inventory import Inventory, PartitionPin
from corpusmill.mix.mixture import Component, Mixture, Phase
from corpusmill.mix.order import Order
from corpusmill.mix.plan import Plan
from corpusmill.mix.solve import plan

COMPONENTS = 12
SEQUENCES = 1_000_000
LENGTH = 2048
RUNS = 5


def measures() -> list[Measure]:
    """Return what every prefix keeps, and what a position costs."""
    made = planned(SEQUENCES * LENGTH)
    order = made.order()
    found = order.locate(np.arange(made.num_positions))
    worst, at_ends = _distances(made, found.component_T)
    drawn = _distances(made, _drawn_at_random(made))[0]
    long = planned(1000 * SEQUENCES * LENGTH)
    return [
        Measure(measure="sequences planned", ours=made.num_positions),
        Measure(
            measure="worst prefix of any phase, from its declared weights (sequences)",
            ours=worst,
            other=drawn,
            other_name="drawn at random by weight",
            bar=at_most(1.0),
        ),
        Measure(measure="the same at the ends of periods (sequences)", ours=at_ends, bar=at_most(0.0)),
        Measure(
            measure="declared from requested weights, 10^6 sequences (largest share difference)", ours=_drift(made)
        ),
        Measure(
            measure="declared from requested weights, 10^9 sequences (largest share difference)", ours=_drift(long)
        ),
        Measure(
            measure="worst prefix from the requested weights (sequences)", ours=_from_requested(made, found.component_T)
        ),
        Measure(
            measure="a position, in order (ns)",
            ours=nanoseconds(order, np.arange(made.num_positions)),
            bar=at_most(60.0),
        ),
        Measure(
            measure="a position, at random of 10^9 (ns)",
            ours=nanoseconds(long.order(), np.random.default_rng(1).integers(0, long.num_positions, SEQUENCES)),
        ),
        Measure(measure="the order built (s)", ours=_best(made.order) / 1e9),
        Measure(measure="its index, 10^6 sequences (MB)", ours=_index_bytes(order) / 1e6, bar=at_most(8.0)),
        Measure(measure="its index, 10^9 sequences (MB)", ours=_index_bytes(long.order()) / 1e6, bar=at_most(8.0)),
        Measure(measure="neighbours read together (MB)", ours=4 * LENGTH * made.block_sequences / (1 << 20)),
        Measure(
            measure="how far blocks that follow one another lie apart (1: as far as random ones)",
            ours=_spread(made, found),
        ),
    ]


def planned(budget_tokens: int) -> Plan:
    """Return the plan of warm-up, main and anneal over twelve sources with weights that no small integers have."""
    weights = np.random.default_rng(5).dirichlet(np.full(COMPONENTS, 2.0))
    late = np.random.default_rng(6).dirichlet(np.full(COMPONENTS, 2.0))
    names = [f"source{number:02}" for number in range(COMPONENTS)]
    pins = [
        PartitionPin(
            table=f"tokenized/{name}/sequences",
            partition="s1",
            content_hash=name,
            num_sequences=held,
            num_tokens=held * (LENGTH - number),
            tokenizer="t",
            sequence_length=LENGTH,
        )
        for number, name in enumerate(names)
        for held in [200_003 + 70_001 * number]
    ]
    return plan(
        Mixture(
            name="bench",
            sequence_length=LENGTH,
            budget_tokens=budget_tokens,
            components=tuple(
                Component(name=name, table=f"tokenized/{name}/sequences", weight=float(weight), max_epochs=10_000)
                for name, weight in zip(names, weights, strict=True)
            ),
            phases=(
                Phase(name="warmup", weight=0.05, weights={names[0]: 0.5}),
                Phase(name="main", weight=0.8),
                Phase(name="anneal", weight=0.15, weights=dict(zip(names, map(float, late), strict=True))),
            ),
        ),
        Inventory(pins=pins),
    )


def _distances(made: Plan, component_T: Any) -> tuple[float, float]:
    """Return the worst prefix of any phase, and the worst at an end of a period, in sequences, exactly."""
    worst, at_ends = Fraction(0), Fraction(0)
    for phase, start in zip(made.stretches, made.starts, strict=False):
        mine_T = component_T[start : start + phase.num_positions]
        period = sum(phase.order_weights)
        step_T = np.arange(1, len(mine_T) + 1)
        for number, weight in enumerate(phase.order_weights):
            scaled_T = np.abs(np.cumsum(mine_T == number) * period - step_T * weight)
            worst = max(worst, Fraction(int(scaled_T.max()), period))
            at_ends = max(at_ends, Fraction(int(scaled_T[period - 1 :: period].max()), period))
    return float(worst), float(at_ends)


def _drawn_at_random(made: Plan) -> Any:
    draw = np.random.default_rng(0)
    return np.concatenate(
        [
            draw.choice(COMPONENTS, phase.num_positions, p=np.array(phase.order_weights) / sum(phase.order_weights))
            for phase in made.stretches
        ]
    )


def _requested(made: Plan, number: int) -> list[Fraction]:
    """Return the share of sequences that was asked for of each component in a phase: tokens over mean tokens a sequence."""
    phase = made.stretches[number]
    names = [component.name for component in made.components]
    weights = [exact(component.weight) for component in made.components]
    if phase.name == "warmup":
        weights[0] = exact(0.5)
    if phase.name == "anneal":
        late = np.random.default_rng(6).dirichlet(np.full(COMPONENTS, 2.0))
        weights = [exact(float(weight)) for weight in late]
    assert len(names) == len(weights)
    parts = [
        weight * component.num_sequences / component.num_tokens
        for weight, component in zip(weights, made.components, strict=True)
    ]
    return [part / sum(parts) for part in parts]


def _drift(made: Plan) -> float:
    """Return the largest difference of a declared from a requested share."""
    return float(
        max(
            abs(Fraction(weight, sum(phase.order_weights)) - share)
            for number, phase in enumerate(made.stretches)
            for weight, share in zip(phase.order_weights, _requested(made, number), strict=True)
        )
    )


def _from_requested(made: Plan, component_T: Any) -> float:
    worst = 0.0
    for number, (phase, start) in enumerate(zip(made.stretches, made.starts, strict=False)):
        mine_T = component_T[start : start + phase.num_positions]
        step_T = np.arange(1, len(mine_T) + 1)
        for component, share in enumerate(_requested(made, number)):
            worst = max(worst, float(np.abs(np.cumsum(mine_T == component) - step_T * float(share)).max()))
    return worst


def _spread(made: Plan, found: Any) -> float:
    """Return the mean distance, in a component, of sequences eight blocks of reading apart, over that of random ones."""
    far = []
    for number, component in enumerate(made.components):
        block_T = found.index_T[found.component_T == number] // made.block_sequences
        lag = 8 * made.block_sequences
        apart_T = np.abs(block_T[lag:] - block_T[:-lag]) * made.block_sequences / component.num_sequences
        if len(apart_T):
            far.append(float(apart_T.mean()) * 3)
    return float(np.mean(far)) if far else 0.0


def _index_bytes(order: Order) -> int:
    return order.chosen_M.nbytes + order.rank_M.nbytes


def nanoseconds(order: Order | DecidedOrder, position_T: Any) -> float:
    """Return what a position costs."""
    return _best(lambda: order.locate(position_T)) / len(position_T)


def _best(work: Callable[[], Any]) -> float:
    """Return the CPU nanoseconds of the best of some runs, after one that compiles."""
    work()
    seconds = []
    for _ in range(RUNS):
        started = time.thread_time_ns()
        work()
        seconds.append(time.thread_time_ns() - started)
    return float(min(seconds))


if __name__ == "__main__":
    print_measures(measures())
