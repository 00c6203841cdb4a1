"""Walking a mix's order from one position to another, about 100 ns each."""

from collections.abc import Iterator

import numpy as np

from corpusmill.mix.order import Located
from corpusmill.mix.plan import Plan

_STEP = 1 << 18


def walk(plan: Plan, start: int, stop: int) -> Iterator[tuple[int, Located]]:
    """Yield the first of some positions in a row, and where they lead, until `stop` (left out) is reached."""
    order = plan.order()
    for first in range(start, stop, _STEP):
        yield first, order.locate(np.arange(first, min(first + _STEP, stop)))
