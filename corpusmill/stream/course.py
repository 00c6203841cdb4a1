"""How far a stream can be read, and in which order: all of a plan, or as much as is decided of one with live components."""

import functools
from typing import Any, Protocol

from corpusmill.lake.tables import Lake
from corpusmill.mix.availability import Decided
from corpusmill.mix.decided import DecidedOrder, DecidedPlan, decided_plan
from corpusmill.mix.order import Order
from corpusmill.mix.plan import Plan
from corpusmill.stream.index import open_component
from corpusmill.stream.live import Waiting, decide_next, next_decided
from corpusmill.stream.reader import SequenceReader

FURTHEST = 1 << 20
"""Positions behind what is decided that may be asked for; or eight windows, where that is more."""


class Course(Protocol):
    """The order of a stream, whose positions before `stop` can be asked."""

    @property
    def plan(self) -> Plan: ...
    @property
    def whole(self) -> Plan: ...
    @property
    def order(self) -> Order | DecidedOrder: ...
    @property
    def stop(self) -> int: ...
    def reach(self, position: int, *, decides: bool = True) -> int:
        """Return `stop` once it lies behind a position; without `decides`, as far as others have decided."""
        ...


class FixedCourse:
    """A plan of which everything is there."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __getstate__(self) -> dict[str, Any]:
        return {"plan": self.plan}

    @functools.cached_property
    def order(self) -> Order:
        return self.plan.order()

    @property
    def whole(self) -> Plan:
        return self.plan

    @property
    def stop(self) -> int:
        return self.plan.num_positions

    def reach(self, position: int, *, decides: bool = True) -> int:
        return self.stop


class LiveCourse:
    """A plan that is decided while it is read; what arrived is handed to the reader. Pickles without connections."""

    def __init__(self, lake: Lake, plan: DecidedPlan, reader: SequenceReader, waiting: Waiting) -> None:
        self.plan: DecidedPlan = plan
        self._lake = lake
        self._reader = reader
        self._waiting = waiting

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "order"}

    @functools.cached_property
    def order(self) -> DecidedOrder:
        return self.plan.order()

    @property
    def whole(self) -> Plan:
        return self.plan.decided.plan

    @property
    def stop(self) -> int:
        return self.plan.num_positions

    def reach(self, position: int, *, decides: bool = True) -> int:
        if decides:
            self._check(position)
        try:
            while self.stop <= position:
                found = self._next(decides)
                if found is None:
                    break
                self._take(found)
        finally:
            self._lake.close()
        return self.stop

    def _check(self, position: int) -> None:
        """Refuse what no run in turn asks for: it would be decided for good long before anything has come."""
        ahead = max(FURTHEST, 8 * self.plan.live_window)
        # Others may have decided more since.
        if position >= self.stop + ahead and position >= self.reach(position, decides=False) + ahead:
            raise ValueError(
                f"the first {self.stop:,} positions of mix {self.plan.mix}@{self.plan.version} are decided, got {position}: a "
                "mix with live components is decided as it is read, so it is read in turn; go on from the last checkpoint"
            )

    def _next(self, decides: bool) -> Decided | None:
        decided = self.plan.decided
        return decide_next(self._lake, decided, self._waiting) if decides else next_decided(self._lake, decided)

    def _take(self, decided: Decided) -> None:
        num_columns = len(self.plan.components)
        plan = decided_plan(decided)
        # Opened first: a course whose arrivals cannot be read does not move.
        columns = [open_component(self._lake, column, plan) for column in plan.components[num_columns:]]
        self._reader.add(columns, blocks=plan.blocks[num_columns:])
        self.plan = plan
        self.__dict__.pop("order", None)
