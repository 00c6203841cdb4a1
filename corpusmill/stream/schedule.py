"""Which positions make which batch: as many tokens in each, whatever length the sequences of a phase have.

A batch never mixes lengths. Where the length changes, a rest of less than a whole global batch is not given, as at the end
of the stream, so that all ranks make as many steps.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby

from corpusmill.mix.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Run:
    """Consecutive batches of one shape."""

    start: int
    num_batches: int
    rows: int
    """Sequences of a batch on each rank."""
    length: int
    """Tokens of a sequence."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The batches of a stream from a position on, numbered from 0."""

    runs: Sequence[Run]
    world_size: int

    @cached_property
    def firsts(self) -> list[int]:
        """Number of each run's first batch, and after the last one how many there are."""
        return list(accumulate((run.num_batches for run in self.runs), initial=0))

    @property
    def num_batches(self) -> int:
        return self.firsts[-1]

    def run_of(self, number: int) -> Run:
        """Return the run of a batch."""
        return self.runs[bisect_right(self.firsts, number) - 1]

    def start_of(self, number: int) -> int:
        """Return the first position of a batch on any rank; of the batch after the last one, the position behind it."""
        if number and number == self.num_batches:
            run = self.run_of(number - 1)
            return self.start_of(number - 1) + run.rows * self.world_size
        run = self.run_of(number)
        return run.start + (number - self.firsts[self.runs.index(run)]) * run.rows * self.world_size


def schedule_batches(plan: Plan, *, position: int, batch_size: int, world_size: int) -> Schedule:
    """Return the batches from a position on; `batch_size` counts sequences of the plan's own length on each rank.

    Raises ValueError where as many tokens are no whole number of a phase's longer sequences.
    """
    spans = [
        (start, end, phase.sequence_length or plan.sequence_length)
        for start, end, phase in zip(plan.starts, plan.starts[1:], plan.stretches, strict=False)
        if end > position
    ]
    runs = []
    for length, together in groupby(spans, key=lambda span: span[2]):
        held = list(together)
        start, rows = max(held[0][0], position), _rows(plan, batch_size, length)
        num_batches = (held[-1][1] - start) // (rows * world_size)
        runs.append(Run(start=start, num_batches=num_batches, rows=rows, length=length))
    return Schedule(runs=[run for run in runs if run.num_batches], world_size=world_size)


def _rows(plan: Plan, batch_size: int, length: int) -> int:
    rows, rest = divmod(batch_size * plan.sequence_length, length)
    if rest:
        raise ValueError(
            f"mix {plan.mix}@{plan.version} has sequences of {length:,} tokens: batches of {batch_size} x "
            f"{plan.sequence_length:,} tokens hold no whole number of them; take a batch_size of which that is a whole number"
        )
    return rows
