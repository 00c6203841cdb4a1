"""From a mixture and an inventory to a plan that meets every constraint, or an error that says what would.

Weights are shares of tokens, but the stream deals in sequences, and those of one component may be emptier than those of
another. So a component's part in tokens is divided by its own mean tokens a sequence. With weights 1 : 1, 1,000 tokens
and means of 10 and 5 tokens, 50 sequences of the first stand against 100 of the second.

Tokens are parted exactly (largest remainders); sequences add up to whole periods of the order, so that the stream ends
exactly on its integer weights. All arithmetic is exact; 200 components take well under a second.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from corpusmill.mix.apportion import apportion
from corpusmill.mix.inventory import Inventory, PartitionPin, shown
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.plan import Plan, PlannedComponent

BLOCK_BYTES = 16 << 20
"""Tokens read in one piece: enough for an object store to be asked for megabytes, not for single sequences."""

MAX_PERIOD = 1 << 20
"""Longest period of the order: 6 MB of index. A longer stream repeats it."""

Pins = tuple[PartitionPin, ...]


def plan(mixture: Mixture, inventory: Inventory) -> Plan:
    """Return the plan of `mixture` over `inventory`.

    Raises ValueError when a component is missing, empty, made with another tokenizer or length, shared by two
    components, or too small for the budget under its epoch cap.
    """
    pins = [_select(inventory, component) for component in mixture.components]
    _check_pins(mixture, pins)
    budget = _largest_budget(mixture, pins) if mixture.budget_tokens is None else mixture.budget_tokens
    _check_caps(mixture, pins, budget)
    tokens = apportion(budget, shares=_shares(mixture))
    periods, weights = _order_weights(mixture, pins, tokens)
    return Plan(
        mix=mixture.name,
        seed=mixture.seed,
        sequence_length=mixture.sequence_length,
        tokenizer=pins[0][0].tokenizer,
        block_sequences=max(1, BLOCK_BYTES // (4 * mixture.sequence_length)),
        components=tuple(
            PlannedComponent(
                name=component.name,
                table=component.table,
                weight=component.weight,
                max_epochs=component.max_epochs,
                pins=pins[number],
                planned_tokens=tokens[number],
                planned_sequences=periods * weights[number],
                order_weight=weights[number],
            )
            for number, component in enumerate(mixture.components)
        ),
        snapshots={
            pin[0].table: inventory.snapshots[pin[0].table] for pin in pins if pin[0].table in inventory.snapshots
        },
    )


def _select(inventory: Inventory, component: Component) -> Pins:
    try:
        return inventory.select(component.table, component.partitions)
    except ValueError as error:
        raise ValueError(f"component {component.name!r} cannot be read: {error}") from error


def _check_pins(mixture: Mixture, pins: Sequence[Pins]) -> None:
    for component, held in zip(mixture.components, pins, strict=True):
        if _num_tokens(held) == 0:
            names = shown([pin.partition for pin in held])
            raise ValueError(f"component {component.name!r} is empty: {component.table} holds no token in {names}")
        lengths = sorted({pin.sequence_length for pin in held})
        if lengths != [mixture.sequence_length]:
            raise ValueError(
                f"component {component.name!r} is packed to {lengths} tokens, mixture {mixture.name!r} wants "
                f"{mixture.sequence_length}; pack the table again or change sequence_length"
            )
    _check_tokenizer(mixture, pins)
    _check_disjoint(mixture, pins)


def _check_tokenizer(mixture: Mixture, pins: Sequence[Pins]) -> None:
    users: dict[str, dict[str, list[str]]] = {}
    for component, held in zip(mixture.components, pins, strict=True):
        for pin in held:
            users.setdefault(pin.tokenizer, {}).setdefault(component.name, []).append(pin.partition)
    if len(users) > 1:
        spelled = [
            f"{tokenizer} made {'; '.join(f'{name} ({shown(partitions)})' for name, partitions in sorted(made.items()))}"
            for tokenizer, made in sorted(users.items())
        ]
        raise ValueError(
            f"mixture {mixture.name!r} needs one tokenizer, got {len(users)}: {'. '.join(spelled)}. "
            "Tokenize the tables again with one file"
        )


def _check_disjoint(mixture: Mixture, pins: Sequence[Pins]) -> None:
    owners: dict[tuple[str, str], str] = {}
    for component, held in zip(mixture.components, pins, strict=True):
        for pin in held:
            owner = owners.setdefault((pin.table, pin.partition), component.name)
            if owner != component.name:
                raise ValueError(
                    f"partition {pin.partition!r} of {pin.table} is in components {owner!r} and {component.name!r}: "
                    "its epochs could not be capped; name each partition once"
                )


def _largest_budget(mixture: Mixture, pins: Sequence[Pins]) -> int:
    """Return the most tokens for which no component passes its cap."""
    shares = _shares(mixture)
    room = [_cap_tokens(*both) for both in zip(mixture.components, pins, strict=True)]
    return math.floor(min(tokens / share for tokens, share in zip(room, shares, strict=True)))


def _check_caps(mixture: Mixture, pins: Sequence[Pins], budget: int) -> None:
    short, epochs = [], []
    for component, held, share in zip(mixture.components, pins, _shares(mixture), strict=True):
        wanted, room = budget * share, _cap_tokens(component, held)
        if wanted > room:
            short.append(
                f"{component.name!r} is short by {math.ceil(wanted - room):,} tokens (its share of {float(share):.4g} "
                f"is {math.ceil(wanted):,}; {component.max_epochs:g} epochs of {_num_tokens(held):,} are "
                f"{math.floor(room):,})"
            )
            epochs.append(f"{component.name}={math.ceil(1000 * wanted / _num_tokens(held)) / 1000:.15g}")
    if short:
        largest = _largest_budget(mixture, pins)
        smaller = f"set budget_tokens to at most {largest}, or " if largest else "set "
        raise ValueError(
            f"mixture {mixture.name!r} wants {budget:,} tokens and cannot have them: {'; '.join(short)}. "
            f"To make it work, {smaller}max_epochs to at least {', '.join(epochs)}."
        )


def _order_weights(mixture: Mixture, pins: Sequence[Pins], tokens: Sequence[int]) -> tuple[int, list[int]]:
    """Return how many periods the stream has, and each component's positions in one."""
    wanted = [Fraction(part * _num_sequences(held), _num_tokens(held)) for part, held in zip(tokens, pins, strict=True)]
    total = max(1, round(sum(wanted)))
    periods = -(-total // MAX_PERIOD)
    parts = apportion(total // periods, shares=wanted)
    weights = []
    for number, (component, held, part) in enumerate(zip(mixture.components, pins, parts, strict=True)):
        cap = math.floor(_exact(component.max_epochs) * _num_sequences(held)) // periods
        if cap < 1:
            raise ValueError(
                f"component {component.name!r} may give less than one sequence to each of {periods} periods: raise its "
                f"max_epochs of {component.max_epochs:g}, of {_num_sequences(held):,} sequences, to at least "
                f"{math.ceil(1000 * periods / _num_sequences(held)) / 1000:g}, or leave it out"
            )
        if part < 1:
            raise ValueError(_too_small(mixture, pins, number, total))
        weights.append(min(cap, part))
    return periods, weights


def _too_small(mixture: Mixture, pins: Sequence[Pins], number: int, total: int) -> str:
    """Say why a component gets no sequence: its own weight is small, or another component or the budget ends the stream."""
    shares = _shares(mixture)
    component, needed = mixture.components[number], _mean_tokens(pins[number]) / shares[number]
    begin = (
        f"component {component.name!r} gets less than one sequence of {total:,}: its share of {float(shares[number]):.4g} "
        f"needs a stream of about {math.ceil(needed):,} tokens, and this one has"
    )
    if mixture.budget_tokens is not None:
        return (
            f"{begin} budget_tokens of {mixture.budget_tokens:,}. Raise one of the two, or leave {component.name!r} out"
        )
    first = min(range(len(pins)), key=lambda at: _cap_tokens(mixture.components[at], pins[at]) / shares[at])
    limiting, room = mixture.components[first], _num_tokens(pins[first])
    return (
        f"{begin} {_largest_budget(mixture, pins):,}: it ends where {limiting.name!r} has been read {limiting.max_epochs:g} "
        f"times, which holds {room:,} tokens for a share of {float(shares[first]):.4g}. Give {limiting.name!r} more data, "
        f"a lower weight or more max_epochs, or {component.name!r} a higher weight, or leave one of them out"
    )


def weights_as_shares(mixture: Mixture) -> str | None:
    """Return a sentence that says which shares weights are taken for that do not sum to 1; None where they do."""
    total = sum(_exact(component.weight) for component in mixture.components)
    if total == 1:
        return None
    shares = zip(mixture.components, _shares(mixture), strict=True)
    spelled = ", ".join(f"{component.name} {float(share):.2%}" for component, share in shares)
    return f"weights sum to {float(total):g}, not 1, and are taken in proportion: {spelled}"


def _shares(mixture: Mixture) -> list[Fraction]:
    weights = [_exact(component.weight) for component in mixture.components]
    return [weight / sum(weights) for weight in weights]


def _exact(number: float) -> Fraction:
    """Return the number as it is written: 0.1 is one tenth."""
    return Fraction(repr(number))


def _cap_tokens(component: Component, held: Pins) -> Fraction:
    return _exact(component.max_epochs) * _num_tokens(held)


def _mean_tokens(held: Pins) -> Fraction:
    return Fraction(_num_tokens(held), _num_sequences(held))


def _num_tokens(held: Pins) -> int:
    return sum(pin.num_tokens for pin in held)


def _num_sequences(held: Pins) -> int:
    return sum(pin.num_sequences for pin in held)
