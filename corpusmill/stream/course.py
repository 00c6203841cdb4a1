"""How far a stream can be read, and in which order: all of a plan, or as much as is decided of one with live components."""

import functools
from typing import Any, Protocol

from corpusmill.lake.tables import Lake
from corpusmill.mix.availability import Decided
from corpusmill.mix.decided import DecidedOrder, DecidedPlan, decided_plan
from corpusmill.mix.order import Order
from corpusmill.mix.plan import Plan
from corpusmill.stream.index import open_component
from corpusmill.stream.live import Waiting, decide_once, next_decided, wait_for_decision
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


class Source(Protocol):
    """Where the decisions of a live course come from."""

    def known(self, decided: Decided) -> Decided | None:
        """Return what stands with one or more decisions more, None where there are none."""
        ...

    def decide(self, decided: Decided) -> Decided | str:
        """Return the same, after deciding where it must be, or a line that says what that needs."""
        ...

    def open(self, plan: DecidedPlan, first: int) -> None:
        """Make the columns from number `first` on readable."""
        ...

    def close(self) -> None: ...


class LakeSource:
    """Decides in the lake, and opens there what arrived. Pickles without connections."""

    def __init__(self, lake: Lake, reader: SequenceReader) -> None:
        self._lake = lake
        self._reader = reader

    def known(self, decided: Decided) -> Decided | None:
        return next_decided(self._lake, decided)

    def decide(self, decided: Decided) -> Decided | str:
        return decide_once(self._lake, decided)

    def open(self, plan: DecidedPlan, first: int) -> None:
        columns = [open_component(self._lake, column, plan) for column in plan.components[first:]]
        self._reader.add(columns, blocks=plan.blocks[first:])

    def close(self) -> None:
        self._lake.close()


class LiveCourse:
    """A plan that is decided while it is read."""

    def __init__(self, plan: DecidedPlan, source: Source, waiting: Waiting) -> None:
        self.plan: DecidedPlan = plan
        self._source = source
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
                found = self._waited() if decides else self._source.known(self.plan.decided)
                if found is None:
                    break
                self._take(found)
        finally:
            self._source.close()
        return self.stop

    def try_next(self) -> str | None:
        """Decide once without waiting; returns a line that says what it needs where that cannot be."""
        try:
            found = self._source.decide(self.plan.decided)
            if isinstance(found, str):
                return found
            self._take(found)
        finally:
            self._source.close()
        return None

    def _waited(self) -> Decided:
        return wait_for_decision(lambda: self._source.decide(self.plan.decided), self._waiting)

    def _check(self, position: int) -> None:
        """Refuse what no run in turn asks for: it would be decided for good long before anything has come."""
        ahead = max(FURTHEST, 8 * self.plan.live_window)
        # Others may have decided more since.
        if position >= self.stop + ahead and position >= self.reach(position, decides=False) + ahead:
            raise ValueError(
                f"the first {self.stop:,} positions of mix {self.plan.mix}@{self.plan.version} are decided, got {position}: a "
                "mix with live components is decided as it is read, so it is read in turn; go on from the last checkpoint"
            )

    def _take(self, decided: Decided) -> None:
        plan = decided_plan(decided)
        # Opened first: a course whose arrivals cannot be read does not move.
        self._source.open(plan, len(self.plan.components))
        self.plan = plan
        self.__dict__.pop("order", None)
