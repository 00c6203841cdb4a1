"""How often a mix reads each of its sequences: the order walked from the first position, about 100 ns each."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from corpusmill.mix.order import Located
from corpusmill.mix.plan import Plan
from corpusmill.mix.walk import walk as walk_order


def walk(plan: Plan, num_positions: int | None = None) -> Iterator[tuple[int, Located]]:
    """Yield the first position of each stretch of the stream, and where its positions lead."""
    yield from walk_order(plan, 0, check_positions(plan, num_positions))


def read_counts(plan: Plan, num_positions: int | None = None) -> list[np.ndarray[Any, np.dtype[np.int32]]]:
    """Return, per component, how often the first positions (None is all) read each sequence; 4 bytes a sequence."""
    counts = [np.zeros(component.num_sequences, np.int32) for component in plan.components]
    for _, found in walk(plan, num_positions):
        for number, counted in enumerate(counts):
            np.add.at(counted, found.index_T[found.component_T == number], 1)
    return counts


def check_positions(plan: Plan, num_positions: int | None) -> int:
    """Return how many positions to walk; raises ValueError where the stream has not so many."""
    if num_positions is None:
        return plan.num_positions
    if not 0 <= num_positions <= plan.num_positions:
        raise ValueError(
            f"mix {plan.mix}@{plan.version} has {plan.num_positions:,} positions, so a run has read 0 to so many of them; "
            f"got {num_positions:,}"
        )
    return num_positions


def documents_table(tables: Sequence[str], sequences: str) -> str | None:
    """Return the table of documents that a table of sequences was made from, among the tables that there are."""
    dataset = sequences.split("/")[1]
    wanted = [f"{stage}/{dataset}/documents" for stage in ("curated", "synthesized")]
    return next((table for table in wanted if table in tables), None)
