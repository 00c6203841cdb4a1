"""A change of weights at a position of a stream: what was read before it stays, to the byte, and counts against the caps.

The new plan keeps the old one's components, their numbers and their pinned partitions, because the order inside a
component follows from its number and its size. So data that came since is read by a component of its own name.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from corpusmill.mix.apportion import apportion, exact
from corpusmill.mix.inventory import Inventory, PartitionPin, matching
from corpusmill.mix.live import Live
from corpusmill.mix.order import IntArray
from corpusmill.mix.plan import Amendment, Plan, PlannedPhase

Pins = tuple[PartitionPin, ...]


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A component, or one bucket of it, as it is planned."""

    name: str
    source: int | None
    """Number of its component in the mixture; None for one that is read no more."""
    share: Fraction
    """Of its component's tokens."""
    pins: Pins
    weight: float
    """Its own, or its share of the stream where it has none."""
    max_epochs: float
    min_epochs: float = 0.0
    group: str | None = None
    language: str | None = None
    is_synthetic: bool = False
    is_bucket: bool = False
    live: Live | None = None
    """Where it is still being made; its pins are then one that stands for all that it will hold."""
    partitions: tuple[str, ...] | None = None
    """Those asked for, where it is live."""
    drawn: int = 0
    """Sequences that were read before the plan begins."""

    @property
    def num_tokens(self) -> int:
        return sum(pin.num_tokens for pin in self.pins)

    @property
    def num_sequences(self) -> int:
        return sum(pin.num_sequences for pin in self.pins)

    @property
    def sequences_left(self) -> int:
        """Sequences that may still be read under the cap."""
        return max(0, math.floor(exact(self.max_epochs) * self.num_sequences) - self.drawn)


@dataclass(frozen=True, kw_only=True)
class Past:
    """The stream of a plan before a position."""

    plan: Plan
    position: int

    def __post_init__(self) -> None:
        if not 0 < self.position <= self.plan.num_positions:
            raise ValueError(
                f"mix {self.plan.mix}@{self.plan.version} has positions 1 to {self.plan.num_positions} to change weights "
                f"at, got {self.position}"
            )
        if self.plan.is_live:
            raise ValueError(
                f"mix {self.plan.mix}@{self.plan.version} has live components, whose stream is decided as it is read; its "
                "weights cannot be changed: make a new mix of what they hold"
            )

    @functools.cached_property
    def drawn(self) -> Mapping[str, int]:
        """Component -> how many of its sequences were read."""
        counts = self.plan.order().count(self.position).tolist()
        return {component.name: count for component, count in zip(self.plan.components, counts, strict=True)}

    @property
    def amended(self) -> tuple[Amendment, ...]:
        return (*self.plan.amended, Amendment(mix_version=self.plan.version, position=self.position))

    def pins(self, name: str, table: str, partitions: Sequence[str] | None) -> Pins | None:
        """Return what a component pinned, None for a new one; raises ValueError when it is asked for something else."""
        found = [component for component in self.plan.components if component.name == name]
        if not found:
            return None
        pinned = {pin.partition for pin in found[0].pins}
        if found[0].table != table or not all(matching(asked, pinned) for asked in partitions or ()):
            raise ValueError(
                f"it was read from {found[0].table}, partitions {sorted(pinned)}, before position {self.position}, and "
                "keeps them; read others by a component of another name"
            )
        return found[0].pins

    def check(self, *, seed: int, sequence_length: int) -> None:
        """Raise ValueError when the stream could not go on as one."""
        for name, value in (("seed", seed), ("sequence_length", sequence_length)):
            if value != getattr(self.plan, name):
                raise ValueError(
                    f"mix {self.plan.mix}@{self.plan.version} has {name} {getattr(self.plan, name)}, a change at a position "
                    f"keeps it, got {value}"
                )

    def unused(self, names: set[str]) -> list[Leaf]:
        """Return the components that are read no more, all but `names`."""
        return [
            Leaf(
                name=component.name,
                source=None,
                share=Fraction(0),
                pins=component.pins,
                weight=component.weight,
                max_epochs=component.max_epochs,
                language=component.language,
                is_synthetic=component.is_synthetic,
                drawn=self.drawn[component.name],
            )
            for component in self.plan.components
            if component.name not in names
        ]

    def in_order(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of `names` with the old components first, as they were numbered."""
        old = [component.name for component in self.plan.components]
        new = [name for name in names if name not in {*old}]
        return [names.index(name) for name in (*old, *new)]

    def phases(self, num_components: int) -> list[PlannedPhase]:
        """Return the phases before the position, the last one cut short, for as many components."""
        order, starts = self.plan.order(), self.plan.starts
        found = []
        for phase, start, end in zip(self.plan.stretches, starts, starts[1:], strict=False):
            if start >= self.position:
                break
            tokens, stop = phase.planned_tokens, min(end, self.position)
            if stop < end:
                tokens = self._tokens(order.count(stop) - order.count(start))
            more = (0,) * (num_components - len(tokens))
            found.append(
                PlannedPhase(
                    name=phase.name,
                    num_positions=stop - start,
                    planned_tokens=(*tokens, *more),
                    order_weights=(*phase.order_weights, *more),
                    sequence_length=phase.sequence_length,
                )
            )
        return found

    def renamed(self, phases: Sequence[PlannedPhase]) -> list[PlannedPhase]:
        """Return new phases with names that the old ones do not have."""
        old = {phase.name for phase in self.plan.stretches}
        return [
            replace(phase, name=f"{phase.name}@{self.position}") if phase.name in old else phase for phase in phases
        ]

    def snapshots(self, found: Mapping[str, int], inventory: Inventory) -> dict[str, int]:
        """Return the snapshot of each table: the newest one where it still holds what was pinned, else the old one."""
        held = {(pin.table, pin.partition): pin.content_hash for pin in inventory.pins}
        changed = {
            pin.table
            for component in self.plan.components
            for pin in component.pins
            if held.get((pin.table, pin.partition)) != pin.content_hash
        }
        kept = {
            table: number for table, number in self.plan.snapshots.items() if table in changed or table not in found
        }
        return {**found, **kept}

    def _tokens(self, counts: IntArray) -> tuple[int, ...]:
        exact_tokens = [
            Fraction(count * component.num_tokens, component.num_sequences)
            for count, component in zip(counts.tolist(), self.plan.components, strict=True)
        ]
        return tuple(apportion(round(sum(exact_tokens)), shares=exact_tokens))
