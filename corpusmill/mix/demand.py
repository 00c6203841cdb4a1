"""What a mixture asks for, in exact tokens, whatever the length of its stream: groups, temperatures, phases resolved.

Legend: C = components of the mixture in its order, F = its phases, one where it has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from corpusmill.mix.apportion import apportion, exact
from corpusmill.mix.mixture import Component, Group, Mixture, Phase

_DIGITS = 12
"""Powers are rounded to this many digits, so that two processors plan the same."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The proportions that a mixture asks for."""

    names_F: tuple[str, ...]
    tokens_F: tuple[int | None, ...]
    """Lengths of phases that have one."""
    weights_F: tuple[Fraction, ...]
    """How the other phases share the rest; they sum to 1."""
    fixed_C: tuple[int, ...]
    """Tokens of components that ask for a number; 0 for the others."""
    shares_FC: tuple[tuple[Fraction, ...], ...]
    """How the other components share what those leave of a phase; they sum to 1."""
    sequence_lengths_F: tuple[int | None, ...]
    """Of phases whose sequences have another length than the mixture's."""

    def budget(self, budget_tokens: int | None) -> int | None:
        """Return the tokens of the stream where they are given, by a budget or as the sum of its parts."""
        if all(tokens is not None for tokens in self.tokens_F):
            return sum(tokens or 0 for tokens in self.tokens_F)
        if all(self.fixed_C):
            return sum(self.fixed_C)
        return budget_tokens

    def least(self) -> int:
        """Return the tokens that the parts with a fixed number need."""
        return max(1, sum(self.fixed_C), sum(tokens or 0 for tokens in self.tokens_F))

    def lengths(self, budget: int) -> list[int]:
        """Return the tokens of each phase; they sum to the budget."""
        rest = budget - sum(tokens or 0 for tokens in self.tokens_F)
        parts = apportion(rest, shares=self.weights_F) if any(self.weights_F) else [0] * len(self.weights_F)
        return [part if tokens is None else tokens for tokens, part in zip(self.tokens_F, parts, strict=True)]

    def parts(self, budget: int) -> list[list[Fraction]]:
        """Return the tokens of each component in each phase, not yet whole; those of a phase sum to its length."""
        lengths = self.lengths(budget)
        by_length = [Fraction(length) for length in lengths]
        fixed_CF = [apportion(tokens, shares=by_length) if tokens else [0] * len(lengths) for tokens in self.fixed_C]
        found = []
        for number, length in enumerate(lengths):
            fixed = [of_phase[number] for of_phase in fixed_CF]
            rest = length - sum(fixed)
            shares = self.shares_FC[number]
            found.append([Fraction(own) + rest * share for own, share in zip(fixed, shares, strict=True)])
        return found

    def shares(self) -> list[Fraction]:
        """Return each component's share of the stream where no part has a fixed number of tokens."""
        return [
            sum((weight * share for weight, share in zip(self.weights_F, shares, strict=True)), start=Fraction(0))
            for shares in zip(*self.shares_FC, strict=True)
        ]

    def wanted(self, budget: int) -> list[Fraction]:
        """Return the tokens of each component in the whole stream."""
        return [sum(of_phase, start=Fraction(0)) for of_phase in zip(*self.parts(budget), strict=True)]


def demand(mixture: Mixture, tokens_C: Sequence[int]) -> Demand:
    """Return what a mixture asks for; `tokens_C` is what each component holds, for groups with a temperature.

    Raises ValueError where a phase or a group is left without any weight, or fixed and planned lengths contradict.
    """
    phases = mixture.phases or (Phase(name="main", weight=1.0),)
    weights = [exact(phase.weight or 0) for phase in phases]
    found = Demand(
        names_F=tuple(phase.name for phase in phases),
        tokens_F=tuple(phase.tokens for phase in phases),
        weights_F=tuple(weight / (sum(weights) or 1) for weight in weights),
        fixed_C=tuple(component.tokens or 0 for component in mixture.components),
        shares_FC=tuple(_shares(mixture, phase, tokens_C) for phase in phases),
        sequence_lengths_F=tuple(
            None if mixture.length_of(phase) == mixture.sequence_length else phase.sequence_length for phase in phases
        ),
    )
    _check_lengths(mixture, found)
    return found


def weights_as_shares(mixture: Mixture) -> str | None:
    """Return a sentence that says which shares weights are taken for that do not sum to 1; None where they do."""
    members = [one for one in _members(mixture, None) if one.weight is not None]
    total = sum(exact(one.weight or 0) for one in members)
    if not total or total == 1:
        return None
    spelled = ", ".join(f"{one.name} {float(exact(one.weight or 0) / total):.2%}" for one in members)
    return f"weights sum to {float(total):g}, not 1, and are taken in proportion: {spelled}"


def group_path(mixture: Mixture, name: str | None) -> str | None:
    """Return the names of the groups down to `name`, joined by `/`."""
    parents = {group.name: group.group for group in mixture.groups}
    path: list[str] = []
    while name is not None:
        path.insert(0, name)
        name = parents[name]
    return "/".join(path) or None


def _shares(mixture: Mixture, phase: Phase, tokens_C: Sequence[int]) -> tuple[Fraction, ...]:
    if all(component.tokens is not None for component in mixture.components):
        return (Fraction(0),) * len(mixture.components)
    length = mixture.length_of(phase)
    held = _held(mixture, tokens_C, length)
    read = _read_at(mixture, length)
    shares = {"": Fraction(1)}
    waiting: list[Group | None] = [None]
    while waiting:
        group = waiting.pop()
        members = [one for one in _members(mixture, group) if not (isinstance(one, Component) and one.tokens)]
        weights = [_weight(one, group, phase, held) if one.name in read else Fraction(0) for one in members]
        above, total = shares[group.name if group else ""], sum(weights)
        if above and not total:
            place = f"group {group.name!r}" if group else f"mixture {mixture.name!r}"
            raise ValueError(
                f"{place}: weights must not sum to 0, got 0 for each of {[one.name for one in members]} in phase "
                f"{phase.name!r}"
            )
        shares |= {one.name: above * weight / (total or 1) for one, weight in zip(members, weights, strict=True)}
        waiting += [one for one in members if isinstance(one, Group)]
    return tuple(shares.get(component.name, Fraction(0)) for component in mixture.components)


def _members(mixture: Mixture, group: Group | None) -> list[Component | Group]:
    name = group.name if group else None
    return [one for one in mixture.members if one.group == name]


def _weight(one: Component | Group, group: Group | None, phase: Phase, held: dict[str, int]) -> Fraction:
    given = phase.weights.get(one.name, one.weight)
    weight = exact(1 if given is None else given)
    if group is None or group.temperature is None:
        return weight
    return weight * Fraction(f"{held[one.name] ** (1 / group.temperature):.{_DIGITS}g}")


def _read_at(mixture: Mixture, length: int) -> set[str]:
    """Return the components that are read in sequences of a length, and the groups that hold one of them."""
    parents = {group.name: group.group for group in mixture.groups}
    found = set()
    for component in mixture.components:
        above: str | None = component.name if mixture.length_of(component) == length else None
        while above is not None:
            found.add(above)
            above = component.group if above == component.name else parents[above]
    return found


def _held(mixture: Mixture, tokens_C: Sequence[int], length: int) -> dict[str, int]:
    """Return the tokens that each component, and each group in sequences of a length, holds."""
    held = dict.fromkeys([group.name for group in mixture.groups], 0)
    parents = {group.name: group.group for group in mixture.groups}
    for component, tokens in zip(mixture.components, tokens_C, strict=True):
        held[component.name] = tokens
        above = component.group if mixture.length_of(component) == length else None
        while above is not None:
            held[above] += tokens
            above = parents[above]
    return held


def _check_lengths(mixture: Mixture, found: Demand) -> None:
    budget = found.budget(mixture.budget_tokens)
    if budget is None:
        if any(found.fixed_C) or any(found.tokens_F):
            raise ValueError(
                f"mixture {mixture.name!r}: some parts have a fixed number of tokens and some a weight, of which the "
                "tokens follow from the whole: set budget_tokens"
            )
        return
    if mixture.budget_tokens not in (None, budget):
        raise ValueError(
            f"mixture {mixture.name!r}: budget_tokens is {mixture.budget_tokens:,}, but its parts sum to {budget:,}; leave "
            "budget_tokens out"
        )
    fixed, lengths = sum(found.fixed_C), sum(tokens or 0 for tokens in found.tokens_F)
    too_long = lengths > budget or (lengths == budget and any(found.weights_F))
    if fixed > budget or (fixed == budget and not all(found.fixed_C)) or (fixed < budget and all(found.fixed_C)):
        raise ValueError(
            f"mixture {mixture.name!r}: components ask for {fixed:,} tokens of a stream of {budget:,}; "
            + (
                "make the stream longer, or ask for less"
                if fixed >= budget
                else "give one of them a weight, for the rest"
            )
        )
    if too_long:
        raise ValueError(
            f"mixture {mixture.name!r}: phases take {lengths:,} tokens of a stream of {budget:,}, which leaves nothing for "
            "those with a weight; raise budget_tokens"
        )
