"""What must hold of a plan besides its proportions, and what to say when it cannot: which source is short, and what helps.

An error names how much is missing and the numbers that would work, one by one: any of them, alone, is enough.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from corpusmill.mix.apportion import exact
from corpusmill.mix.demand import Demand
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.past import Leaf
from corpusmill.mix.sources import Source


def check_constraints(mixture: Mixture, sources: Sequence[Source], asked: Demand, budget: int) -> None:
    """Raise ValueError when a stream of `budget` tokens breaks a cap, a minimum or the bounds of the synthetic share."""
    wanted = asked.wanted(budget)
    _check_caps(mixture, sources, asked, wanted)
    _check_minimums(mixture, sources, wanted)
    _check_synthetic(mixture, sources, wanted)


def largest_budget(mixture: Mixture, sources: Sequence[Source], asked: Demand) -> int:
    """Return the most tokens for which no component passes its cap; 0 when there are none."""
    least, most = asked.least(), math.floor(sum(map(_room, sources)))
    if not any(asked.fixed_C) and not any(asked.tokens_F):
        # Tokens grow with the budget but for the rounding of phases, so the answer is at most a few tokens lower.
        most = math.floor(min(_room(one) / part for one, part in zip(sources, asked.shares(), strict=True) if part))
        least = max(least, most - len(asked.tokens_F))
        if most >= least and _fits(sources, asked, most):
            return most
    if most < least or not _fits(sources, asked, least):
        return 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if _fits(sources, asked, middle) else (least, middle - 1)
    return least


def no_room(leaf: Leaf, periods: int) -> str:
    """Say that a component's cap is less than one sequence a period."""
    needed = math.ceil(1000 * (periods + leaf.drawn) / leaf.num_sequences) / 1000
    return (
        f"component {leaf.name!r} may give less than one sequence to each of {periods} periods: raise its "
        f"max_epochs of {leaf.max_epochs:g}, of {leaf.num_sequences:,} sequences, to at least {needed:g}, or leave it out"
    )


def over_cap(leaf: Leaf, sequences: int) -> str:
    """Say that a bucket was read too often before weights changed for what its component's curve asks of it now."""
    return (
        f"component {leaf.name!r} is asked for {sequences:,} sequences and may give {leaf.sequences_left:,} more: "
        f"{leaf.drawn:,} were read before, of {leaf.max_epochs:g} epochs of {leaf.num_sequences:,}. Raise its max_epochs, or "
        "give its component less weight"
    )


def too_small(
    mixture: Mixture,
    sources: Sequence[Source],
    asked: Demand,
    leaf: Leaf,
    *,
    phase: int,
    num_sequences: int,
    budget: int,
) -> str:
    """Say why a component gets no sequence: its own weight is small, or another component or the budget ends the stream."""
    assert leaf.source is not None
    length = asked.lengths(budget)[phase]
    share = asked.parts(budget)[phase][leaf.source] * leaf.share / length
    needed = math.ceil(Fraction(leaf.num_tokens, leaf.num_sequences) / share)
    stream = f"phase {asked.names_F[phase]!r}" if mixture.phases else "stream"
    begin = (
        f"component {leaf.name!r} gets less than one sequence of {num_sequences:,}: its share of {float(share):.4g} "
        f"needs a {stream} of about {needed:,} tokens, and this one has"
    )
    if mixture.phases:
        return f"{begin} {length:,}. Make the phase longer, or give {leaf.name!r} a higher weight in it, or 0"
    if mixture.budget_tokens is not None:
        return f"{begin} budget_tokens of {budget:,}. Raise one of the two, or leave {leaf.name!r} out"
    shares = [part / budget for part in asked.wanted(budget)]
    first = min(range(len(sources)), key=lambda at: _room(sources[at]) / shares[at])
    limiting = sources[first].component
    return (
        f"{begin} {budget:,}: it ends where {limiting.name!r} has been read {limiting.max_epochs:g} "
        f"times, which holds {sources[first].num_tokens:,} tokens for a share of {float(shares[first]):.4g}. Give "
        f"{limiting.name!r} more data, a lower weight or more max_epochs, or {leaf.name!r} a higher weight, or leave one of "
        "them out"
    )


def _check_caps(mixture: Mixture, sources: Sequence[Source], asked: Demand, wanted: Sequence[Fraction]) -> None:
    short, epochs = [], []
    total = sum(wanted)
    for source, tokens in zip(sources, wanted, strict=True):
        name, room = source.component.name, _room(source)
        if tokens <= room:
            continue
        before = f", of which {math.ceil(source.used_tokens):,} were read before" if any(source.drawn) else ""
        buckets = " with its buckets" if source.component.upsampling else ""
        short.append(
            f"{name!r} is short by {math.ceil(tokens - room):,} tokens (its share of {float(tokens / total):.4g} "
            f"is {math.ceil(tokens):,}; {source.component.max_epochs:g} epochs of {source.num_tokens:,}{buckets} are "
            f"{math.floor(source.cap_tokens):,}{before})"
        )
        one_epoch = source.cap_tokens / source.max_epochs
        epochs.append(f"{name}={math.ceil(1000 * (tokens + source.used_tokens) / one_epoch) / 1000:.15g}")
    if short:
        raise ValueError(
            f"mixture {mixture.name!r} wants {math.ceil(total):,} tokens and cannot have them: {'; '.join(short)}. "
            f"To make it work, {_smaller(mixture, sources, asked)}max_epochs to at least {', '.join(epochs)}."
        )


def _smaller(mixture: Mixture, sources: Sequence[Source], asked: Demand) -> str:
    """Return the advice of a smaller stream, up to the word `set` of what else could be set."""
    if all(tokens is not None for tokens in asked.tokens_F):
        wanted = asked.wanted(sum(tokens or 0 for tokens in asked.tokens_F))
        fitting = min(_room(source) / tokens for source, tokens in zip(sources, wanted, strict=True) if tokens)
        return f"shorten all phases to at most {math.floor(10_000 * fitting) / 10_000:g} of their tokens, or set "
    if all(asked.fixed_C):
        most = ", ".join(
            f"{source.component.name}={math.floor(_room(source))}"
            for source, tokens in zip(sources, asked.fixed_C, strict=True)
            if tokens > _room(source)
        )
        return f"set tokens to at most {most}, or "
    largest = largest_budget(mixture, sources, asked)
    return f"set budget_tokens to at most {largest}, or " if largest else "set "


def _check_minimums(mixture: Mixture, sources: Sequence[Source], wanted: Sequence[Fraction]) -> None:
    total = sum(wanted)
    for source, tokens in zip(sources, wanted, strict=True):
        component = source.component
        least = exact(component.min_epochs) * source.num_tokens - source.used_tokens
        if tokens < least:
            reached = (tokens + source.used_tokens) / source.num_tokens
            raise ValueError(
                f"mixture {mixture.name!r} reads component {component.name!r} too little: it is short by "
                f"{math.ceil(least - tokens):,} tokens of {component.min_epochs:g} epochs of {source.num_tokens:,} (its "
                f"share of {float(tokens / total):.4g} of {math.ceil(total):,} is {math.floor(tokens):,}). To make it work, "
                f"set its min_epochs to at most {math.floor(1000 * reached) / 1000:g}, or raise its share to at least "
                f"{math.ceil(10_000 * least / total) / 10_000:g}."
            )


def _check_synthetic(mixture: Mixture, sources: Sequence[Source], wanted: Sequence[Fraction]) -> None:
    if mixture.synthetic_share is None:
        return
    total = sum(wanted)
    given = sum(
        (tokens for source, tokens in zip(sources, wanted, strict=True) if source.component.is_synthetic), Fraction(0)
    )
    names = [source.component.name for source in sources if source.component.is_synthetic]
    low, high = map(exact, mixture.synthetic_share)
    share = given / total
    if low <= share <= high:
        return
    bound, much, side = (low, "few", "at least") if share < low else (high, "many", "at most")
    limit = math.ceil(bound * total) if share < low else math.floor(bound * total)
    raise ValueError(
        f"mixture {mixture.name!r}: {names} give a synthetic share of {float(share):.4g}, allowed is {float(low):g} to "
        f"{float(high):g}: {math.ceil(abs(given - bound * total)):,} tokens too {much}. To make it work, set synthetic_share "
        f"to allow {float(share):.4g}, or give them {side} {limit:,} tokens of {math.ceil(total):,} by their weights."
    )


def _fits(sources: Sequence[Source], asked: Demand, budget: int) -> bool:
    return all(tokens <= _room(source) for source, tokens in zip(sources, asked.wanted(budget), strict=True))


def _room(source: Source) -> Fraction:
    """Return the tokens that may still be read."""
    return source.cap_tokens - source.used_tokens
