"""What of a mix was erased since it was planned, and at which positions that is missed.

Costs: nothing where nothing was erased of its components; else a walk of the order, about 100 ns a position.
"""

from collections.abc import Sequence

import numpy as np

from corpusmill.mix.order import IntArray
from corpusmill.mix.plan import Plan
from corpusmill.mix.walk import walk
from corpusmill.stream.index import ComponentIndex

_SHOWN = 10


class ErasedError(ValueError):
    """Tokens that a mix reads were erased."""


def erased_positions(plan: Plan, components: Sequence[ComponentIndex], start: int) -> IntArray:
    """Return the positions, from `start` on, whose sequences were erased."""
    erased = [index.erased for index in components]
    found = [np.zeros(0, np.int64)]
    for first, located in walk(plan, start, plan.num_positions if any(map(len, erased)) else start):
        is_erased = np.zeros(len(located.index_T), np.bool_)
        for number, sequences in enumerate(erased):
            is_erased |= (located.component_T == number) & np.isin(located.index_T, sequences)
        found.append(np.flatnonzero(is_erased) + first)
    return np.concatenate(found)


def check_whole(plan: Plan, components: Sequence[ComponentIndex], start: int) -> None:
    """Raise ErasedError that names the positions, from `start` on, whose sequences were erased."""
    positions = erased_positions(plan, components, start)
    if len(positions):
        raise ErasedError(
            f"mix {plan.mix}@{plan.version} cannot be replayed: the sequences at {len(positions):,} of its "
            f"{plan.num_positions:,} positions were erased: {_ranges(positions)}; stream the mix's current version, or open "
            "this one with allow_erased=True to read other positions"
        )


def _ranges(positions: IntArray) -> str:
    """Return positions for a message, neighbours as one: `3, 7-9 and 12 more`."""
    starts = np.flatnonzero(np.diff(positions, prepend=positions[0] - 2) != 1)
    ends = np.append(starts[1:], len(positions)) - 1
    pairs = [(int(positions[start]), int(positions[end])) for start, end in zip(starts, ends, strict=True)]
    shown = [f"{first}-{last}" if last > first else f"{first}" for first, last in pairs[:_SHOWN]]
    left = len(positions) - sum(last - first + 1 for first, last in pairs[:_SHOWN])
    return ", ".join(shown) + (f" and {left:,} more" if left else "")
