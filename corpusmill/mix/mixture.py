"""What is asked for: components with weights in tokens, how they group, and how weights change. Not what the lake has.

Weights part the tokens of a group among its members, and those of the stream among what is in no group. A component may
instead ask for a fixed number of tokens; weights part what is left.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corpusmill.mix.kinds import check_kinds
from corpusmill.mix.live import Live
from corpusmill.mix.sparse_json import to_sparse_json
from corpusmill.mix.upsampling import Upsampling

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""A mixture's name is a partition, part of a tag, and stands before the @ of a version."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """One source of a mixture: partitions of a tokenized table."""

    name: str
    table: str
    """A table of packed sequences, for example `tokenized/web/sequences`."""
    weight: float | None = None
    """Share of its group's tokens, relative to the weights beside it. In a group with a temperature a factor, 1 if None."""
    tokens: int | None = None
    """Tokens that it gives, instead of a weight: spread over the stream evenly."""
    max_epochs: float = 1.0
    """How often its tokens may be read at most; need not be whole. With `upsampling`, those of any bucket."""
    min_epochs: float = 0.0
    """How often its tokens are to be read at least, on average."""
    partitions: tuple[str, ...] | None = None
    """The partitions to read, or patterns of their names such as `2024-*`; None is all committed when the plan is made."""
    group: str | None = None
    language: str | None = None
    """For the report only."""
    is_synthetic: bool = False
    """Whether its documents were generated: counted against the mixture's `synthetic_share`."""
    upsampling: Upsampling | None = None
    """How its quality or duplicate buckets share its tokens; each is then planned as `<component>:<bucket>`."""
    live: Live | None = None
    """For a component that is still being made while it is read: what it will hold, and what is done until then."""
    sequence_length: int | None = None
    """The only length at which it is read; None is that of each phase. Caps count each length by itself."""

    def __post_init__(self) -> None:
        check_kinds(self, what=f"component {self.name!r}")
        if self.table.split("/")[0] == "mixed":
            raise ValueError(
                f"component {self.name!r}: {self.table} is a mixture, which holds no tokens; name its components instead, "
                "in a group if they are to keep their proportions"
            )
        if (self.weight is not None) and (self.tokens is not None):
            raise ValueError(f"component {self.name!r}: give it a weight or tokens, not both")
        if self.weight is not None and not _is_at_least_zero(self.weight):
            raise ValueError(f"component {self.name!r}: weight must be a number above 0, got {self.weight!r}")
        if self.tokens is not None and not _is_count(self.tokens):
            raise ValueError(f"component {self.name!r}: tokens must be an int of at least 1, got {self.tokens!r}")
        if not _is_at_least_zero(self.max_epochs) or self.max_epochs == 0:
            raise ValueError(f"component {self.name!r}: max_epochs must be a number above 0, got {self.max_epochs!r}")
        if not _is_at_least_zero(self.min_epochs) or self.min_epochs > self.max_epochs:
            raise ValueError(
                f"component {self.name!r}: min_epochs must be a number from 0 to max_epochs, {self.max_epochs:g}, got "
                f"{self.min_epochs!r}"
            )
        if self.sequence_length is not None and not _is_count(self.sequence_length):
            raise ValueError(
                f"component {self.name!r}: sequence_length must be an int of at least 1, got {self.sequence_length!r}"
            )
        if self.partitions is not None and (not self.partitions or len({*self.partitions}) < len(self.partitions)):
            raise ValueError(
                f"component {self.name!r}: partitions must be different names, got {self.partitions}; "
                "leave them out to read all"
            )
        if self.live and (self.upsampling or self.max_epochs != 1 or self.min_epochs):
            raise ValueError(
                f"component {self.name!r} is live, so it is read once as it comes: leave out upsampling, min_epochs and "
                f"max_epochs, got {self.upsampling}, {self.min_epochs:g} and {self.max_epochs:g}"
            )


@dataclass(frozen=True, kw_only=True)
class Group:
    """Components, or groups of them, that share a weight: topics inside web, languages inside multilingual."""

    name: str
    weight: float | None = None
    """As a component's."""
    group: str | None = None
    temperature: float | None = None
    """Members share in proportion to (tokens held)^(1/temperature): 1 keeps the natural shares, larger ones level them."""

    def __post_init__(self) -> None:
        check_kinds(self, what=f"group {self.name!r}")
        if self.weight is not None and not _is_at_least_zero(self.weight):
            raise ValueError(f"group {self.name!r}: weight must be a number above 0, got {self.weight!r}")
        if self.temperature is not None and (not _is_at_least_zero(self.temperature) or self.temperature == 0):
            raise ValueError(f"group {self.name!r}: temperature must be a number above 0, got {self.temperature!r}")


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Consecutive tokens of the stream with weights of their own: warm-up, main, anneal, long context."""

    name: str
    weight: float | None = None
    """Its length: share of the stream's tokens, relative to the other phases' weights."""
    tokens: int | None = None
    """Its length, instead of a weight."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of components and groups in this phase, where they differ from their own; 0 leaves one out."""
    sequence_length: int | None = None
    """Tokens of its sequences, where that is not the mixture's: its components' tables must be packed to it, too."""

    def __post_init__(self) -> None:
        check_kinds(self, what=f"phase {self.name!r}")
        if (self.weight is None) == (self.tokens is None):
            raise ValueError(f"phase {self.name!r}: give its length as a weight or as tokens")
        if self.weight is not None and (not _is_at_least_zero(self.weight) or self.weight == 0):
            raise ValueError(f"phase {self.name!r}: weight must be a number above 0, got {self.weight!r}")
        if self.tokens is not None and not _is_count(self.tokens):
            raise ValueError(f"phase {self.name!r}: tokens must be an int of at least 1, got {self.tokens!r}")
        if self.sequence_length is not None and not _is_count(self.sequence_length):
            raise ValueError(
                f"phase {self.name!r}: sequence_length must be an int of at least 1, got {self.sequence_length!r}"
            )
        bad = {name: weight for name, weight in self.weights.items() if not _is_at_least_zero(weight)}
        if bad:
            raise ValueError(f"phase {self.name!r}: weights must not be negative, got {bad}")


@dataclass(frozen=True, kw_only=True)
class Continues:
    """Where a mixture takes over from an earlier version of itself, whose stream before stays as it was."""

    mix_version: str
    position: int
    """The first position with the new weights."""

    def __post_init__(self) -> None:
        check_kinds(self, what="continues")


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """What a training run is to read."""

    name: str
    components: tuple[Component, ...]
    sequence_length: int
    budget_tokens: int | None = None
    """Tokens to plan; None is as many as the caps allow, or as the parts with fixed tokens sum to."""
    seed: int = 0
    groups: tuple[Group, ...] = ()
    phases: tuple[Phase, ...] = ()
    """In the order in which they come; without any, weights never change."""
    synthetic_share: tuple[float, float] | None = None
    """Bounds on the share of all tokens that synthetic components give."""
    allowed_licences: tuple[str, ...] | None = None
    """Licences that sources may have; None allows all. Checked against the documents when the plan is reported."""
    allowed_teacher_licences: tuple[str, ...] | None = None
    """Licences that generators of synthetic documents may have; None allows all."""
    continues: Continues | None = None
    max_exposure: float | None = None
    """How often a source document may be met at most: itself, its duplicates, and all that was made from any of them."""
    live_window: int | None = None
    """Positions after which a live component that is short is looked for again; None is a thousandth of the stream, 256 at
    least."""

    def __post_init__(self) -> None:
        self._check_kinds()
        names = [component.name for component in self.components]
        if not names or len({*names}) < len(names):
            raise ValueError(f"mixture {self.name!r}: needs components with different names, got {names}")
        self._check_groups()
        self._check_weights()
        self._check_live()
        bounds = self.synthetic_share
        if bounds is not None and not (_is_pair(bounds) and 0 <= bounds[0] <= bounds[1] <= 1):
            raise ValueError(f"mixture {self.name!r}: synthetic_share must be two shares from 0 to 1, got {bounds}")
        check_kinds(self, what=f"mixture {self.name!r}")

    @property
    def members(self) -> list[Component | Group]:
        """All that can have a weight."""
        return [*self.components, *self.groups]

    def length_of(self, part: Component | Phase) -> int:
        """Return the tokens of a sequence of a component or a phase."""
        return part.sequence_length or self.sequence_length

    @property
    def tables(self) -> list[str]:
        """The tables that its components read."""
        return sorted({table for one in self.components for table in _tables(one)})

    @property
    def pinned_tables(self) -> list[str]:
        """The tables of which its plan pins partitions: those that not only live components read."""
        return sorted({table for one in self.components if not one.live for table in _tables(one)})

    def _check_kinds(self) -> None:
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise ValueError(
                "a mixture's name has 1 to 80 of A-Z a-z 0-9 . _ - and begins with a letter or digit, got "
                f"{self.name!r:.100}"
            )
        for name, kind in (("components", Component), ("groups", Group), ("phases", Phase)):
            given = getattr(self, name)
            if not isinstance(given, tuple | list) or not all(isinstance(one, kind) for one in given):
                raise ValueError(f"mixture {self.name!r}: {name} must be a tuple of {kind.__name__}, got {given!r}")
        optional = {"budget_tokens": self.budget_tokens, "live_window": self.live_window}
        for name, count in {"sequence_length": self.sequence_length, **optional}.items():
            if not (_is_count(count) or (name in optional and count is None)):
                raise ValueError(f"mixture {self.name!r}: {name} must be an int of at least 1, got {count!r}")
        if self.max_exposure is not None and not (_is_at_least_zero(self.max_exposure) and self.max_exposure >= 1):
            raise ValueError(
                f"mixture {self.name!r}: max_exposure must be a number of at least 1, got {self.max_exposure!r}"
            )
        if not _is_int(self.seed):
            raise ValueError(f"mixture {self.name!r}: seed must be an int, got {self.seed!r}")

    def _check_groups(self) -> None:
        names = [one.name for one in self.members]
        if len({*names}) < len(names):
            raise ValueError(f"mixture {self.name!r}: groups and components need different names, got {sorted(names)}")
        parents = {group.name: group.group for group in self.groups}
        missing = sorted({one.group for one in self.members if one.group} - {*parents})
        if missing:
            raise ValueError(f"mixture {self.name!r}: there is no group {missing[0]!r}; it has {sorted(parents)}")
        empty = {*parents} - {one.group for one in self.members}
        if empty:
            raise ValueError(f"mixture {self.name!r}: group {min(empty)!r} has no member")
        for name in parents:
            above = [name]
            while (parent := parents[above[-1]]) is not None:
                if parent in above:
                    raise ValueError(f"mixture {self.name!r}: groups {[*above, parent]} are inside one another")
                above.append(parent)
        if len({phase.name for phase in self.phases}) < len(self.phases):
            raise ValueError(f"mixture {self.name!r}: phases need different names, got {[p.name for p in self.phases]}")

    def _check_weights(self) -> None:
        heated = {group.name for group in self.groups if group.temperature is not None}
        for one in self.members:
            has_tokens = isinstance(one, Component) and one.tokens is not None
            if one.weight is None and not has_tokens and one.group not in heated:
                raise ValueError(f"mixture {self.name!r}: {one.name!r} needs a weight")
        weighted = [one for one in self.components if one.tokens is None]
        if weighted and all(one.weight == 0 for one in weighted) and not self.phases:
            raise ValueError(
                f"mixture {self.name!r}: weights must not sum to 0, got 0 for each of {[one.name for one in weighted]}"
            )
        named = {name for phase in self.phases for name, weight in phase.weights.items() if weight > 0}
        unweighted = [one.name for one in self.members if one.weight == 0 and one.name not in named]
        if unweighted:
            raise ValueError(f"mixture {self.name!r}: {unweighted} have weight 0; leave them out or give them a weight")
        known = {one.name for one in weighted} | {group.name for group in self.groups}
        for phase in self.phases:
            if unknown := sorted({*phase.weights} - known):
                raise ValueError(
                    f"mixture {self.name!r}: phase {phase.name!r} weighs {unknown}, which no component with a weight and "
                    f"no group is named; there are {sorted(known)}"
                )

    def _check_live(self) -> None:
        live = [one for one in self.components if one.live]
        if live and self.continues:
            raise ValueError(
                f"mixture {self.name!r}: a mixture that continues another cannot have live components, got "
                f"{[one.name for one in live]}; name what they hold by now as components of their own"
            )
        if live and self.max_exposure is not None:
            raise ValueError(
                f"mixture {self.name!r}: max_exposure cannot be promised of live components, whose documents are not known "
                f"yet; leave it out, or {[one.name for one in live]}"
            )
        if len(live) == len(self.components):
            raise ValueError(f"mixture {self.name!r}: needs a component that is not live, got only live ones")
        lenders = [one.name for one in self.components if not one.live and not one.upsampling]
        for one in live:
            if one.live and (unfit := sorted({*one.live.lenders} - {*lenders})):
                raise ValueError(
                    f"mixture {self.name!r}: {one.name!r} cannot borrow from {unfit}: lenders are components that are not "
                    f"live and have no upsampling; there are {lenders}"
                )

    def to_json(self) -> dict[str, Any]:
        return to_sparse_json(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Mixture":
        given = dict(value)
        for name, kind in (("groups", Group), ("phases", Phase)):
            if name in given:
                given[name] = tuple(kind(**item) for item in given[name])
        for name in ("synthetic_share", "allowed_licences", "allowed_teacher_licences"):
            if given.get(name) is not None:
                given[name] = tuple(given[name])
        if given.get("continues") is not None:
            given["continues"] = Continues(**given["continues"])
        return cls(**{**given, "components": tuple(_component_from_json(item) for item in value["components"])})


def _component_from_json(value: Mapping[str, Any]) -> Component:
    given = dict(value)
    if given.get("partitions") is not None:
        given["partitions"] = tuple(given["partitions"])
    if given.get("upsampling") is not None:
        given["upsampling"] = Upsampling.from_json(given["upsampling"])
    if given.get("live") is not None:
        given["live"] = Live(**{**given["live"], "lenders": tuple(given["live"].get("lenders", ()))})
    return Component(**given)


def _tables(component: Component) -> list[str]:
    if component.upsampling is None:
        return [component.table]
    return [bucket.table or component.table for bucket in component.upsampling.buckets]


def _is_at_least_zero(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _is_count(value: Any) -> bool:
    return _is_int(value) and value >= 1


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(_is_at_least_zero(one) for one in value)
