"""What came of live components, decided stretch by stretch of a stream, and by whom their places are taken meanwhile.

The order of a plan says whose turn each position is; that never changes. A decision covers the positions from where the one
before it stops. For every component whose turn it is in there, it says how many of those places go to whom: to what has
arrived of a live component, to its lenders while it is short, and, later, from a lender's places back to it. So a stream is
a function of plan and decisions, whatever arrives after them, and only what is decided can be read.

A component that is not short is given its own places as far as what is there reaches, in one decision. Where a lender stands
in, or is paid back, a decision covers `Plan.live_window` positions of one phase at most. Paying back at most doubles the
live component's places in a window, unless more is needed to pay all by the end; phases that leave it out pay nothing. A
lender never gives more than its `max_epochs` leave it beside its own plan; where they leave too little, the stream waits.

Legend: slots are the components of the plan, whose turn it is; columns are what is read: those components, then, one by one,
what arrived of live ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor
from typing import Any

from corpusmill.mix.apportion import apportion, exact
from corpusmill.mix.inventory import PartitionPin
from corpusmill.mix.order import Order
from corpusmill.mix.plan import Plan
from corpusmill.mix.sparse_json import to_sparse_json


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """Partitions of a live component that were there when it was looked: one more column."""

    slot: int
    snapshot_id: int
    """Of its table, where they were seen; tagged, so that expiry spares it."""
    pins: tuple[PartitionPin, ...]

    @property
    def num_sequences(self) -> int:
        return sum(pin.num_sequences for pin in self.pins)


@dataclass(frozen=True, kw_only=True)
class Route:
    """So many of a slot's places in a decision's positions go to a column."""

    slot: int
    column: int
    count: int


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What stands for the positions `start` to `stop` (half-open)."""

    number: int
    start: int
    stop: int
    arrivals: tuple[Arrival, ...] = ()
    routes: tuple[Route, ...] = ()
    """Of the slots that do not keep all their places to themselves; live ones always have some."""
    snapshots: Mapping[str, int] = field(default_factory=dict)
    """Table of each live component -> its version when this was decided; a table that did not exist has none."""

    def to_json(self) -> dict[str, Any]:
        return to_sparse_json(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Decision":
        given = dict(value)
        given["arrivals"] = tuple(
            Arrival(**{**item, "pins": tuple(PartitionPin(**pin) for pin in item["pins"])})
            for item in value.get("arrivals", ())
        )
        given["routes"] = tuple(Route(**item) for item in value.get("routes", ()))
        return cls(**given)


@dataclass(frozen=True, kw_only=True)
class Short:
    """No position can be decided: a live component has nothing, and nobody may stand in for it."""

    slot: int


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A plan with live components, and all that was decided so far."""

    plan: Plan
    order: Order
    """The plan's own."""
    decisions: tuple[Decision, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    """Of all decisions: column `len(plan.components) + n` is number n."""
    drawn: tuple[int, ...] = ()
    """How many sequences of each column were given."""
    owed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """(live slot, lender) -> places that the lender filled and did not get back."""

    @classmethod
    def of(cls, plan: Plan, decisions: Sequence[Decision] = ()) -> "Decided":
        """Return a plan with these decisions; raises ValueError where they do not follow one another."""
        decided = cls(plan=plan, order=plan.order(), drawn=(0,) * len(plan.components))
        for decision in decisions:
            decided = decided.after(decision)
        return decided

    @property
    def position(self) -> int:
        """The first position that is not decided."""
        return self.decisions[-1].stop if self.decisions else 0

    @cached_property
    def live_slots(self) -> tuple[int, ...]:
        return tuple(slot for slot, one in enumerate(self.plan.components) if one.live)

    def after(self, decision: Decision) -> "Decided":
        """Return what stands with one more decision."""
        self._check(decision)
        arrivals = (*self.arrivals, *decision.arrivals)
        drawn = [*self.drawn, *(0 for _ in decision.arrivals)]
        owed = dict(self.owed)
        for route in self.routes(decision):
            drawn[route.column] += route.count
            taker = self.slot_of(route.column, arrivals)
            if self.plan.components[route.slot].live and taker != route.slot:
                owed[route.slot, taker] = owed.get((route.slot, taker), 0) + route.count
            elif taker != route.slot:
                owed[taker, route.slot] -= route.count
        return replace(
            self,
            decisions=(*self.decisions, decision),
            arrivals=arrivals,
            drawn=tuple(drawn),
            owed={pair: count for pair, count in owed.items() if count},
        )

    def planned(self, decision: Decision) -> list[int]:
        """Return how many of a decision's positions are each slot's turn."""
        return (self.order.count(decision.stop) - self.order.count(decision.start)).tolist()

    def routes(self, decision: Decision) -> Iterator[Route]:
        """Yield a decision's routes by slot, with those of slots that keep all their places."""
        given: dict[int, list[Route]] = {}
        for route in decision.routes:
            given.setdefault(route.slot, []).append(route)
        for slot, count in enumerate(self.planned(decision)):
            if count:
                found = given.get(slot) or [Route(slot=slot, column=slot, count=count)]
                if sum(route.count for route in found) != count:
                    raise ValueError(
                        f"decision {decision.number} gives away other than the {count} places of slot {slot}"
                    )
                yield from found

    def left(self, slot: int, arrivals: Sequence[Arrival] | None = None) -> list[tuple[int, int]]:
        """Return the columns of a live slot that have sequences to give, in turn, and how many."""
        first = len(self.plan.components)
        drawn = dict(enumerate(self.drawn))
        found = [
            (first + number, arrival.num_sequences - drawn.get(first + number, 0))
            for number, arrival in enumerate(self.arrivals if arrivals is None else arrivals)
            if arrival.slot == slot
        ]
        return [(column, count) for column, count in found if count]

    def slot_of(self, column: int, arrivals: Sequence[Arrival] | None = None) -> int:
        """Return the component that a column belongs to."""
        first = len(self.plan.components)
        return column if column < first else (self.arrivals if arrivals is None else arrivals)[column - first].slot

    def owed_by(self, slot: int) -> dict[int, int]:
        """Return what a live slot owes to each lender."""
        return {lender: count for (debtor, lender), count in sorted(self.owed.items()) if debtor == slot}

    def _check(self, decision: Decision) -> None:
        wanted = (len(self.decisions), self.position)
        if (decision.number, decision.start) != wanted or not decision.start < decision.stop <= self.plan.num_positions:
            raise ValueError(
                f"the log of mix {self.plan.mix}@{self.plan.version} is damaged: wanted decision {wanted[0]} from position "
                f"{wanted[1]}, got {decision.number} for positions {decision.start} to {decision.stop}"
            )


def decide(decided: Decided, arrivals: Sequence[Arrival], snapshots: Mapping[str, int]) -> Decision | Short:
    """Return what stands for the next positions, given what has just arrived; Short where that is nothing at all."""
    known = (*decided.arrivals, *arrivals)
    waiting = {slot for slot in decided.live_slots if not _lenders(decided, slot)}
    while True:
        work = _Window.of(decided, known, waiting)
        if work.stop == work.start:
            return Short(slot=work.shortest)
        lacking = work.route()
        if lacking is None:
            return Decision(
                number=len(decided.decisions),
                start=work.start,
                stop=work.stop,
                arrivals=tuple(arrivals),
                routes=tuple(work.routes),
                snapshots=dict(snapshots),
            )
        # Its lenders may give no more, so it waits like one without lenders.
        waiting.add(lacking)


@dataclass(kw_only=True)
class _Window:
    """The positions of a decision being made, and what is left to be given in it."""

    decided: Decided
    start: int
    stop: int
    shortest: int
    """The waiting slot that reaches least far."""
    planned: list[int]
    left: dict[int, list[tuple[int, int]]]
    free: dict[int, int]
    """Places of each slot that are not given back to somebody."""
    routes: list[Route] = field(default_factory=list)

    @classmethod
    def of(cls, decided: Decided, known: Sequence[Arrival], waiting: set[int]) -> "_Window":
        order, start = decided.order, decided.position
        left = {slot: decided.left(slot, known) for slot in decided.live_slots}
        reach = {slot: _reach(decided, slot, sum(count for _, count in left[slot])) for slot in decided.live_slots}
        ends = [first for first in order.start_F.tolist() if first > start]
        window = min([start + decided.plan.live_window, decided.plan.num_positions, *ends])
        furthest = min(reach.values())
        stop = furthest if furthest >= window and not decided.owed else min([window, *(reach[one] for one in waiting)])
        planned = (order.count(stop) - order.count(start)).tolist()
        return cls(
            decided=decided,
            start=start,
            stop=stop,
            shortest=min(waiting or reach, key=lambda slot: reach[slot]),
            planned=planned,
            left=left,
            free=dict(enumerate(planned)),
        )

    def route(self) -> int | None:
        """Fill `routes`; a slot is returned where its lenders may not give what it lacks."""
        lent: dict[int, int] = {}
        for slot in self.decided.live_slots:
            lack = self._give(slot, slot, self.planned[slot])
            if not lack:
                continue
            shares = self._lend(slot, lack, lent)
            if shares is None:
                return slot
            for lender, count in shares.items():
                lent[lender] = lent.get(lender, 0) + count
                self.routes.append(Route(slot=slot, column=lender, count=count))
        for slot in self.decided.live_slots:
            self._pay(slot)
        for slot, count in enumerate(self.planned):
            if 0 < self.free[slot] < count:
                self.routes.append(Route(slot=slot, column=slot, count=self.free[slot]))
        self.routes.sort(key=lambda one: (one.slot, one.column))
        return None

    def _give(self, slot: int, to: int, count: int) -> int:
        """Give a live slot's sequences to places of slot `to`; returns how many of the places are left."""
        columns = []
        for column, held in self.left[slot]:
            given = min(count, held)
            count -= given
            if given:
                self.routes.append(Route(slot=to, column=column, count=given))
            if held > given:
                columns.append((column, held - given))
        self.left[slot] = columns
        return count

    def _lend(self, slot: int, lack: int, lent: Mapping[int, int]) -> dict[int, int] | None:
        """Return how many places each lender fills: in proportion to its own, as far as its epochs allow."""
        room = {one: _headroom(self.decided, one) - lent.get(one, 0) for one in _lenders(self.decided, slot)}
        found = dict.fromkeys(room, 0)
        while lack:
            open_ = [one for one in room if found[one] < room[one]]
            if not open_:
                return None
            weights = [exact(max(1, self.planned[one])) for one in open_]
            for lender, part in zip(open_, apportion(lack, shares=weights), strict=True):
                count = min(part, room[lender] - found[lender])
                found[lender] += count
                lack -= count
        return {lender: count for lender, count in found.items() if count}

    def _pay(self, slot: int) -> None:
        """Give a live slot's spare sequences to places of those whom it owes."""
        owed, planned = self.decided.owed_by(slot), self.planned[slot]
        spare = sum(count for _, count in self.left[slot])
        if not owed or not planned or not spare:
            return
        to_come = self.decided.plan.components[slot].planned_sequences - int(self.decided.order.count(self.start)[slot])
        due = max(planned, -(-sum(owed.values()) * planned // to_come))
        parts = apportion(min(spare, due, sum(owed.values())), shares=[exact(count) for count in owed.values()])
        for lender, part in zip(owed, parts, strict=True):
            count = min(part, owed[lender], self.free[lender])
            if count:
                self._give(slot, lender, count)
                self.free[lender] -= count


def _lenders(decided: Decided, slot: int) -> tuple[int, ...]:
    promise = decided.plan.components[slot].live
    return promise.lenders if promise else ()


def _headroom(decided: Decided, lender: int) -> int:
    """Return how many places of others a lender may fill, beside those that it fills now and its own plan."""
    one = decided.plan.components[lender]
    owed = sum(count for (_, other), count in decided.owed.items() if other == lender)
    return max(0, floor(exact(one.max_epochs) * one.num_sequences) - one.planned_sequences - owed)


def _reach(decided: Decided, slot: int, num_sequences: int) -> int:
    """Return the first position from which a slot would need more than so many sequences of its own, or the end."""
    before = int(decided.order.count(decided.position)[slot])
    least, most = decided.position, decided.plan.num_positions
    while least < most:
        middle = (least + most + 1) // 2
        if int(decided.order.count(middle)[slot]) - before <= num_sequences:
            least = middle
        else:
            most = middle - 1
    return least
