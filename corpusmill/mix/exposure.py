"""A cap on how often a run meets a source document: as it is, as its duplicates, and as all that was made from any of them.

Met is counted in whole readings: a component that is read 2.5 times reads half of its documents three times, so it counts
for 3 of each. That is the most that any source is met; nothing less could be promised of every one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corpusmill.mix.mixture import Mixture
from corpusmill.mix.plan import Plan, PlannedComponent

_MOST_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Families:
    """Sources with as many documents in each component: one is met as often as another."""

    members: tuple[int, ...]
    """Documents of one family in each component of the plan."""
    num_families: int
    example: str
    """The doc_id of one of the sources."""


FindFamilies = Callable[[Plan], Sequence[Families]]
"""Gives the families of all documents that a plan reads."""


def times_met(made: Plan, families: Families) -> int:
    """Return how often a run to the plan's end meets a source of these families at most."""
    return sum(number * readings for number, readings in zip(families.members, _readings(made), strict=True))


def met_too_often(mixture: Mixture, made: Plan, found: Sequence[Families]) -> list[Families]:
    """Return the families that pass the mixture's cap, those that are met most often first."""
    cap = math.inf if mixture.max_exposure is None else mixture.max_exposure
    over = [one for one in found if times_met(made, one) > cap]
    return sorted(over, key=lambda one: (-times_met(made, one), one.example))


def over_exposed(mixture: Mixture, made: Plan, over: Sequence[Families], *, largest: int) -> str:
    """Say who is met too often by how much, in which components, and what would do; `largest` is a budget that would, or 0."""
    worst = times_met(made, over[0])
    shown = "; ".join(_spelled(mixture, made, one) for one in over[:_MOST_SHOWN])
    more = f"; and {len(over) - _MOST_SHOWN} more kinds" if len(over) > _MOST_SHOWN else ""
    names = [component.name for component, _, _ in _met_in(made, over[0])]
    other = f"budget_tokens to at most {largest}" if largest else f"give fewer tokens to {names}, or leave some out"
    return (
        f"mixture {mixture.name!r} may meet sources ({sum(one.num_families for one in over):,} of them) more often than its "
        f"max_exposure of {mixture.max_exposure:g}: {shown}{more}. To make it work, set max_exposure to at least {worst}, or "
        f"{other}."
    )


def _spelled(mixture: Mixture, made: Plan, families: Families) -> str:
    parts = ", ".join(
        f"{number} of {one.name!r} read {readings} times" for one, number, readings in _met_in(made, families)
    )
    met = times_met(made, families)
    alike = f" and {families.num_families - 1:,} alike" if families.num_families > 1 else ""
    return f"{families.example}{alike} {met} times, {met - (mixture.max_exposure or 0):g} too often ({parts})"


def _met_in(made: Plan, families: Families) -> list[tuple[PlannedComponent, int, int]]:
    """Return the components that a family is met in, how many documents each has of it, and how often it reads them."""
    parts = zip(made.components, families.members, _readings(made), strict=True)
    return [(one, number, readings) for one, number, readings in parts if number * readings]


def _readings(made: Plan) -> list[int]:
    """Return how often the plan reads a sequence of each component at most."""
    return [-(-component.planned_sequences // component.num_sequences) for component in made.components]
