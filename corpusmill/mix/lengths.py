"""Phases of several lengths: a component that is read at two is planned as two, because they are different sequences.

A document is packed to one length of its table, so each length has documents, tokens and epochs of its own. `code` at the
mixture's length keeps its name, at 8,192 tokens it is `code:8192`, with the weight that `code` has in such phases.
"""

from dataclasses import replace

from corpusmill.mix.mixture import Component, Mixture, Phase


def by_length(mixture: Mixture) -> Mixture:
    """Return the mixture with a component for each length at which one is read.

    Raises ValueError for a component with a length that no phase has, a phase that reads none, and fixed tokens where
    lengths differ, as well as live components.
    """
    phases = mixture.phases or (Phase(name="main", weight=1.0),)
    parts: list[Component | Phase] = [*phases, *mixture.components]
    if {mixture.length_of(part) for part in parts} == {mixture.sequence_length}:
        return mixture
    _check_fixed(mixture, phases)
    components = [one for component in mixture.components for one in _at_lengths(mixture, component, phases)]
    for phase in phases:
        length = mixture.length_of(phase)
        if all(mixture.length_of(one) != length for one in components):
            raise ValueError(
                f"mixture {mixture.name!r}: no component is read in phase {phase.name!r}, in sequences of {length:,} tokens"
            )
    renamed = tuple(replace(phase, weights=_weights(mixture, phase, components)) for phase in mixture.phases)
    return replace(mixture, components=tuple(components), phases=renamed)


def _check_fixed(mixture: Mixture, phases: tuple[Phase, ...]) -> None:
    lengths = sorted({mixture.length_of(phase) for phase in phases})
    for component in mixture.components:
        own = component.sequence_length
        asked = [
            phase.name for phase in phases if mixture.length_of(phase) != own and phase.weights.get(component.name)
        ]
        if own is not None and (own not in lengths or asked):
            where = (
                f"phase {asked[0]!r} asks for it in others" if own in lengths else f"the phases are of {lengths} tokens"
            )
            raise ValueError(
                f"component {component.name!r} is read in sequences of {own:,} tokens only, and {where}; leave its "
                "sequence_length out, or give it to a phase"
            )
        if component.live:
            raise ValueError(
                f"component {component.name!r} is live, and mixture {mixture.name!r} has sequences of several lengths: a "
                f"mixture with live components has one, {mixture.sequence_length:,} tokens; leave the other lengths out"
            )
        if component.tokens is not None and len(lengths) > 1:
            raise ValueError(
                f"component {component.name!r}: a fixed number of tokens is spread over the whole stream, whose phases are of "
                f"{lengths} tokens a sequence; give it a weight instead"
            )


def _at_lengths(mixture: Mixture, component: Component, phases: tuple[Phase, ...]) -> list[Component]:
    lengths = list(dict.fromkeys(mixture.length_of(phase) for phase in phases if _comes(mixture, component, phase)))
    if component.sequence_length is not None or not lengths:
        return [component]
    return [replace(component, name=_name(mixture, component, one), sequence_length=one) for one in lengths]


def _comes(mixture: Mixture, component: Component, phase: Phase) -> bool:
    """Return whether neither the component nor a group that it is in weighs 0 in a phase."""
    groups = {group.name: group for group in mixture.groups}
    weights, above = [phase.weights.get(component.name, component.weight)], component.group
    while above is not None:
        weights.append(phase.weights.get(above, groups[above].weight))
        above = groups[above].group
    return 0 not in weights


def _name(mixture: Mixture, component: Component, length: int) -> str:
    is_named = component.sequence_length is not None or length == mixture.sequence_length
    return component.name if is_named else f"{component.name}:{length}"


def _weights(mixture: Mixture, phase: Phase, components: list[Component]) -> dict[str, float]:
    """Return the weights of a phase under the names that its components have at its length."""
    length = mixture.length_of(phase)
    read = {one.name for one in components if mixture.length_of(one) == length} | {one.name for one in mixture.groups}
    named = {one.name: _name(mixture, one, length) for one in mixture.components}
    renamed = {named.get(name, name): weight for name, weight in phase.weights.items()}
    return {name: weight for name, weight in renamed.items() if name in read}
