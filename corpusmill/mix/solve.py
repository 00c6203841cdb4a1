"""From a mixture and an inventory to a plan that meets every constraint, or an error that says what would.

Weights are shares of tokens, but the stream deals in sequences, and those of one component may be emptier than those of
another. So a component's part in tokens is divided by its own mean tokens a sequence. With weights 1 : 1, 1,000 tokens
and means of 10 and 5 tokens, 50 sequences of the first stand against 100 of the second.

Tokens are parted exactly (largest remainders) phase by phase; sequences of a phase add up to whole periods of the order,
so that it ends exactly on its integer weights. All arithmetic is exact; 200 components take well under a second.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from corpusmill.mix.apportion import apportion
from corpusmill.mix.constraints import check_constraints, largest_budget, no_room, over_cap, too_small
from corpusmill.mix.demand import Demand, demand, group_path
from corpusmill.mix.exposure import Families, FindFamilies, met_too_often, over_exposed
from corpusmill.mix.inventory import Inventory
from corpusmill.mix.lengths import by_length
from corpusmill.mix.live import Promise
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.past import Leaf, Past
from corpusmill.mix.plan import Plan, PlannedComponent, PlannedPhase
from corpusmill.mix.sources import find_sources

BLOCK_BYTES = 16 << 20
"""Tokens read in one piece: enough for an object store to be asked for megabytes, not for single sequences."""

MAX_PERIOD = 1 << 20
"""Longest sum of the phases' periods: 6 MB of index. A longer stream repeats them."""

_LIVE_WINDOW = 256


def plan(
    mixture: Mixture, inventory: Inventory, *, past: Past | None = None, find_families: FindFamilies | None = None
) -> Plan:
    """Return the plan of `mixture` over `inventory`; with `past` the mixture is what comes after it, caps count both.

    A mixture with `max_exposure` needs `find_families` (`corpusmill.trace.families`). Raises ValueError when a component is
    missing, empty, made with another tokenizer or length, shared by two components, or when a constraint cannot be met.
    """
    made = _plan(mixture, inventory, past)
    if mixture.max_exposure is None:
        return made
    if find_families is None:
        raise ValueError(f"mixture {mixture.name!r} has a max_exposure: find_families must say which documents are kin")
    families = find_families(made)
    over = met_too_often(mixture, made, families)
    if not over:
        return made
    shorter = _largest_met(mixture, inventory, past, made, families)
    if shorter and mixture.budget_tokens is None:
        return shorter
    raise ValueError(over_exposed(mixture, made, over, largest=_new_tokens(shorter, past) if shorter else 0))


def _largest_met(
    mixture: Mixture, inventory: Inventory, past: Past | None, made: Plan, families: Sequence[Families]
) -> Plan | None:
    """Return the longest plan that keeps to the cap on exposure, by halving; None where no shorter stream does.

    A stream that is too short for one of its components is taken for one that must be longer.
    """
    found, least, most = None, 1, _new_tokens(made, past) - 1
    while least <= most:
        middle = (least + most) // 2
        try:
            tried = _plan(replace(mixture, budget_tokens=middle), inventory, past)
        except ValueError:
            least = middle + 1
            continue
        if met_too_often(mixture, tried, families):
            most = middle - 1
        else:
            found, least = tried, middle + 1
    return found


def _new_tokens(made: Plan, past: Past | None) -> int:
    """Return the tokens that a plan has behind its past."""
    begin = past.position if past else 0
    stretches = zip(made.starts, made.stretches, strict=False)
    return sum(sum(phase.planned_tokens) for start, phase in stretches if start >= begin)


def _plan(mixture: Mixture, inventory: Inventory, past: Past | None) -> Plan:
    mixture = by_length(mixture)
    if past:
        past.check(seed=mixture.seed, sequence_length=mixture.sequence_length)
    sources = find_sources(mixture, inventory, past)
    asked = demand(mixture, [source.num_tokens for source in sources])
    budget = asked.budget(mixture.budget_tokens) or largest_budget(mixture, sources, asked) or asked.least()
    check_constraints(mixture, sources, asked, budget)
    wanted = asked.wanted(budget)
    leaves = [leaf for source in sources for leaf in source.leaves(wanted[source.number], budget)]
    leaves += past.unused({leaf.name for leaf in leaves}) if past else []
    parts_FL = _parts(asked, leaves, budget)
    phases: list[PlannedPhase] = []
    left = [leaf.sequences_left for leaf in leaves]
    for number, length in enumerate(asked.lengths(budget)):
        most = MAX_PERIOD // len(asked.tokens_F)
        tokens_L = _settled(leaves, apportion(length, shares=parts_FL[number]), most)
        periods, weights_L, total = _order_weights(leaves, tokens_L, left, most)
        for leaf, part, tokens, weight in zip(leaves, parts_FL[number], tokens_L, weights_L, strict=True):
            if not weight and (tokens or (part and not leaf.is_bucket)):
                raise ValueError(
                    too_small(mixture, sources, asked, leaf, phase=number, num_sequences=total, budget=budget)
                )
        left = [room - periods * weight for room, weight in zip(left, weights_L, strict=True)]
        phases.append(
            PlannedPhase(
                name=asked.names_F[number],
                num_positions=periods * sum(weights_L),
                planned_tokens=tuple(tokens_L),
                order_weights=tuple(weights_L),
                sequence_length=asked.sequence_lengths_F[number],
            )
        )
    return _joined(mixture, leaves, phases, inventory, past)


def _parts(asked: Demand, leaves: Sequence[Leaf], budget: int) -> list[list[Fraction]]:
    """Return the tokens of each leaf in each phase, not yet whole."""
    return [
        [Fraction(0) if leaf.source is None else parts[leaf.source] * leaf.share for leaf in leaves]
        for parts in asked.parts(budget)
    ]


def _settled(leaves: Sequence[Leaf], tokens_L: Sequence[int], max_period: int) -> list[int]:
    """Return the tokens with those of a bucket that is too small for a position of a period in the next better bucket."""
    settled = list(tokens_L)
    if not any(leaf.is_bucket for leaf in leaves):
        return settled
    periods, _ = _wanted(leaves, settled, max_period)
    for number, leaf in enumerate(leaves[:-1]):
        has_better = leaf.is_bucket and leaves[number + 1].source == leaf.source
        if not has_better or not settled[number]:
            continue
        if settled[number] * leaf.num_sequences < periods * leaf.num_tokens:
            settled[number + 1] += settled[number]
            settled[number] = 0
    return settled


def _wanted(leaves: Sequence[Leaf], tokens_L: Sequence[int], max_period: int) -> tuple[int, list[Fraction]]:
    """Return the periods of a phase, and the sequences of each leaf in it, not yet whole."""
    wanted = [Fraction(part * leaf.num_sequences, leaf.num_tokens) for leaf, part in zip(leaves, tokens_L, strict=True)]
    return -(-max(1, round(sum(wanted))) // max_period), wanted


def _order_weights(
    leaves: Sequence[Leaf], tokens_L: Sequence[int], left: Sequence[int], max_period: int
) -> tuple[int, list[int], int]:
    """Return how many periods a phase has, each leaf's positions in one, and how many sequences were asked for."""
    periods, wanted = _wanted(leaves, tokens_L, max_period)
    total = max(1, round(sum(wanted)))
    for leaf, tokens, room in zip(leaves, tokens_L, left, strict=True):
        if tokens and room < periods:
            raise ValueError(no_room(leaf, periods))
    parts = apportion(total // periods, shares=wanted)
    for leaf, part, room in zip(leaves, parts, left, strict=True):
        # Caps are checked by component and in tokens: whole sequences of a bucket may pass its cap by the rounding, no more.
        if part > room // periods + 2:
            raise ValueError(over_cap(leaf, part * periods))
    return periods, [min(room // periods, part) for room, part in zip(left, parts, strict=True)], total


def _joined(
    mixture: Mixture, leaves: Sequence[Leaf], phases: Sequence[PlannedPhase], inventory: Inventory, past: Past | None
) -> Plan:
    """Return the plan, with what came before it and the components numbered as they were then."""
    before: list[PlannedPhase] = []
    if past:
        numbers = past.in_order([leaf.name for leaf in leaves])
        leaves = [leaves[number] for number in numbers]
        phases = past.renamed([_reordered(phase, numbers) for phase in phases])
        before = past.phases(len(leaves))
    found = {leaf.pins[0].table for leaf in leaves if not leaf.live} & {*inventory.snapshots}
    snapshots = {table: inventory.snapshots[table] for table in sorted(found)}
    has_phases = bool(mixture.phases or past)
    numbers_by_name = {leaf.name: number for number, leaf in enumerate(leaves)}
    made = Plan(
        mix=mixture.name,
        seed=mixture.seed,
        sequence_length=mixture.sequence_length,
        tokenizer=leaves[0].pins[0].tokenizer,
        block_sequences=max(1, BLOCK_BYTES // (4 * mixture.sequence_length)),
        components=tuple(
            replace(
                _component(
                    mixture, leaf, [phase.planned_tokens[number] for phase in (*before, *phases)], numbers_by_name
                ),
                planned_sequences=leaf.drawn + sum(_num_drawn(phase, number) for phase in phases),
                order_weight=0 if has_phases else phases[0].order_weights[number],
            )
            for number, leaf in enumerate(leaves)
        ),
        snapshots=past.snapshots(snapshots, inventory) if past else snapshots,
        phases=(*before, *phases) if has_phases else (),
        amended=past.amended if past else (),
        allowed_licences=mixture.allowed_licences,
        allowed_teacher_licences=mixture.allowed_teacher_licences,
    )
    if not made.is_live:
        return made
    return replace(made, live_window=mixture.live_window or max(_LIVE_WINDOW, made.num_positions // 1000))


def _component(mixture: Mixture, leaf: Leaf, tokens_F: Sequence[int], numbers: Mapping[str, int]) -> PlannedComponent:
    return PlannedComponent(
        name=leaf.name,
        table=leaf.pins[0].table,
        weight=leaf.weight,
        max_epochs=leaf.max_epochs,
        pins=() if leaf.live else leaf.pins,
        planned_tokens=sum(tokens_F),
        planned_sequences=0,
        order_weight=0,
        group=group_path(mixture, leaf.group),
        language=leaf.language,
        is_synthetic=leaf.is_synthetic,
        min_epochs=leaf.min_epochs,
        live=_promise(leaf, numbers),
    )


def _promise(leaf: Leaf, numbers: Mapping[str, int]) -> Promise | None:
    if leaf.live is None:
        return None
    return Promise(
        num_sequences=leaf.num_sequences,
        num_tokens=leaf.num_tokens,
        lenders=tuple(numbers[name] for name in leaf.live.lenders),
        partitions=leaf.partitions,
    )


def _num_drawn(phase: PlannedPhase, number: int) -> int:
    return phase.num_positions // sum(phase.order_weights) * phase.order_weights[number]


def _reordered(phase: PlannedPhase, numbers: Sequence[int]) -> PlannedPhase:
    return replace(
        phase,
        planned_tokens=tuple(phase.planned_tokens[number] for number in numbers),
        order_weights=tuple(phase.order_weights[number] for number in numbers),
    )
