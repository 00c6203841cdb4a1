"""The stream of a plan with live components, as far as it is decided: a plan of its own, with an order that is asked alike.

A position's slot and how often it came before are the plan's. The decision of the position says how many of the slot's
places go to each column, and Bresenham's lines spread them: the first column takes place d of n when m of n places are its
and floor((d + 1) m / n) > floor(d m / n); the next ones part what is left in the same way. With 2 of 5 places for a lender
and 3 for an arrival these are places 2 and 4, and 0, 1 and 3. A column is drawn from in the order in which decisions, and in
them slots, take from it, so nothing is drawn twice in an epoch.

Costs: log2 of the decisions, and the slot's few columns, a position; 16 bytes a slot and 32 a route, a decision.

Legend: T = positions asked, D = decisions, S = slots, R = routes.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any

import numba
import numpy as np

from corpusmill.mix.availability import Arrival, Decided
from corpusmill.mix.order import IntArray, Located, Order
from corpusmill.mix.permutation import mix_key, permute_in_blocks, short_block_slot
from corpusmill.mix.plan import Plan, PlannedComponent


@dataclass(frozen=True, kw_only=True)
class DecidedPlan(Plan):
    """What is decided of a plan: its components, then what arrived of live ones as components that are as they were seen."""

    decided: Decided

    @functools.cached_property
    def version(self) -> str:
        """The plan's: what is decided is part of it."""
        return self.decided.plan.version

    @property
    def num_positions(self) -> int:
        """How many positions are decided."""
        return self.decided.position

    @property
    def is_whole(self) -> bool:
        """Whether every position is decided."""
        return self.decided.position == self.decided.plan.num_positions

    def to_json(self) -> dict[str, Any]:
        """Return the plan alone: what is decided is kept in its log."""
        return self.decided.plan.to_json()

    def order(self) -> "DecidedOrder":  # type: ignore[override]
        return build_decided_order(self.decided)


@dataclass(frozen=True, kw_only=True)
class DecidedOrder:
    """An order ready to be asked. Build it with `build_decided_order`."""

    base: Order
    stop_D: IntArray
    before_DS: IntArray
    """How often each slot came before the decision."""
    routes_DS: IntArray
    """Number of the slot's first route, in a decision; its last one ends where the next slot's begins."""
    column_R: IntArray
    count_R: IntArray
    first_R: IntArray
    """How often the column was drawn from before."""
    num_sequences_K: IntArray
    """Of every column."""

    @property
    def num_bytes(self) -> int:
        """Memory of the decisions."""
        return sum(one.nbytes for one in vars(self).values() if isinstance(one, np.ndarray))

    def locate(self, positions: Sequence[int] | IntArray) -> Located:
        """Return column, epoch and index of every position; one that is not decided raises ValueError."""
        position_T = np.asarray(positions, np.int64)
        end = int(self.stop_D[-1]) if len(self.stop_D) else 0
        if position_T.size and not 0 <= position_T.min() <= position_T.max() < end:
            raise ValueError(f"positions 0 to {end - 1} are decided, got {position_T.min()} to {position_T.max()}")
        slot_T, draw_T = self.base.draws(position_T)
        found_3T = np.empty((3, len(position_T)), np.int64)
        key = np.uint64(mix_key(np.uint64(0), self.base.seed))
        decisions = (self.stop_D, self.before_DS, self.routes_DS)
        routes = (self.column_R, self.count_R, self.first_R)
        # All components of a mixture with live ones have one sequence length, and so one size of blocks.
        shuffle = (self.num_sequences_K, key, int(self.base.block_C[0]))
        _locate(position_T, slot_T, draw_T, decisions, routes, shuffle, found_3T)
        return Located(component_T=found_3T[0], epoch_T=found_3T[1], index_T=found_3T[2])


def decided_plan(decided: Decided) -> DecidedPlan:
    """Return what is decided of a plan as a plan: a column's planned sequences are those that were given."""
    plan = decided.plan
    arrived = [_arrived(plan, number, one) for number, one in enumerate(decided.arrivals, start=1)]
    columns = [*(replace(one, live=None) if one.live else one for one in plan.components), *arrived]
    kept = {item.name: getattr(plan, item.name) for item in fields(Plan)}
    given = tuple(_given(column, count) for column, count in zip(columns, decided.drawn, strict=True))
    return DecidedPlan(**{**kept, "components": given}, decided=decided)


def build_decided_order(decided: Decided) -> DecidedOrder:
    """Return the order of all decided positions."""
    num_slots, num_decisions = len(decided.plan.components), len(decided.decisions)
    before_DS, routes_DS = (
        np.zeros((num_decisions, num_slots), np.int64),
        np.zeros((num_decisions, num_slots + 1), np.int64),
    )
    drawn = [0] * (num_slots + len(decided.arrivals))
    routes: list[tuple[int, int, int]] = []
    for number, decision in enumerate(decided.decisions):
        before_DS[number] = decided.order.count(decision.start)
        held = [0] * num_slots
        for route in decided.routes(decision):
            routes.append((route.column, route.count, drawn[route.column]))
            drawn[route.column] += route.count
            held[route.slot] += 1
        routes_DS[number] = [*accumulate(held, initial=len(routes) - sum(held))]
    column_R, count_R, first_R = np.asarray(routes, np.int64).reshape(-1, 3).T.copy()
    return DecidedOrder(
        base=decided.order,
        stop_D=np.asarray([one.stop for one in decided.decisions], np.int64),
        before_DS=before_DS,
        routes_DS=routes_DS,
        column_R=column_R,
        count_R=count_R,
        first_R=first_R,
        num_sequences_K=np.asarray(
            [*(one.num_sequences for one in decided.plan.components), *(one.num_sequences for one in decided.arrivals)],
            np.int64,
        ),
    )


def _arrived(plan: Plan, number: int, arrival: Arrival) -> PlannedComponent:
    component = plan.components[arrival.slot]
    return replace(
        component, name=f"{component.name}+{number}", live=None, pins=arrival.pins, snapshot_id=arrival.snapshot_id
    )


def _given(column: PlannedComponent, count: int) -> PlannedComponent:
    tokens = count * column.num_tokens // column.num_sequences if count else 0
    return replace(column, planned_sequences=count, planned_tokens=tokens)


@numba.njit(cache=True, error_model="numpy")
def _locate(
    position_T: Any, slot_T: Any, draw_T: Any, decisions: Any, routes: Any, shuffle: Any, found_3T: Any
) -> None:
    stop_D, before_DS, routes_DS = decisions
    column_R, count_R, first_R = routes
    num_sequences_K, key, block = shuffle
    for i in range(len(position_T)):
        slot = slot_T[i]
        number = np.searchsorted(stop_D, position_T[i], side="right")
        place = draw_T[i] - before_DS[number, slot]
        route, last = routes_DS[number, slot], routes_DS[number, slot + 1] - 1
        places = 0
        for other in range(route, last + 1):
            places += count_R[other]
        while route < last:
            before = place * count_R[route] // places
            if (place + 1) * count_R[route] // places > before:
                place = before
                break
            place -= before
            places -= count_R[route]
            route += 1
        column = column_R[route]
        size = num_sequences_K[column]
        draw = first_R[route] + place
        epoch = draw // size
        of_epoch = mix_key(mix_key(key, column), epoch)
        found_3T[0, i] = column
        found_3T[1, i] = epoch
        found_3T[2, i] = permute_in_blocks(
            draw - epoch * size, size, block, of_epoch, short_block_slot(size, block, of_epoch)
        )
