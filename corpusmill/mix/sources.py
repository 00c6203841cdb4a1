"""The components of a mixture as the lake holds them, and the leaves that they are planned as: one each, or one a bucket."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from corpusmill.mix.apportion import exact
from corpusmill.mix.inventory import Inventory, PartitionPin, shown
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.past import Leaf, Past
from corpusmill.mix.upsampling import bucket_shares, most_tokens

Pins = tuple[PartitionPin, ...]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A component and what it holds, bucket by bucket; one bucket where it has none."""

    number: int
    component: Component
    pins: tuple[Pins, ...]
    drawn: tuple[int, ...]
    """Sequences of each bucket that were read before the plan begins."""

    @property
    def num_tokens(self) -> int:
        return sum(map(_num_tokens, self.pins))

    @property
    def used_tokens(self) -> Fraction:
        """Tokens that were read before the plan begins, if all sequences were as full as the mean one."""
        pairs = zip(self.drawn, self.pins, strict=True)
        return sum((Fraction(drawn * _num_tokens(held), _num_sequences(held)) for drawn, held in pairs), Fraction(0))

    @property
    def cap_tokens(self) -> Fraction:
        """Tokens that may be read from first to last."""
        if self.component.upsampling is None:
            return self.max_epochs * self.num_tokens
        return most_tokens(self.component.upsampling, self.bucket_tokens, max_epochs=self.max_epochs)

    @property
    def max_epochs(self) -> Fraction:
        return exact(self.component.max_epochs)

    @property
    def bucket_tokens(self) -> list[int]:
        return [_num_tokens(held) for held in self.pins]

    @property
    def mean_tokens(self) -> Fraction:
        return Fraction(self.num_tokens, sum(map(_num_sequences, self.pins)))

    def leaves(self, wanted: Fraction, budget: int) -> Iterator[Leaf]:
        """Yield what is planned of it when it is to give `wanted` tokens of a stream of `budget`."""
        if not wanted:
            raise ValueError(
                f"component {self.component.name!r} gets no token: its group weighs 0 in every phase; leave it out"
            )
        upsampling, shares = self.component.upsampling, [Fraction(1)]
        if upsampling is not None:
            shares = bucket_shares(upsampling, self.bucket_tokens, wanted=wanted, max_epochs=self.max_epochs)
        weight = float(wanted / budget) if self.component.weight is None else self.component.weight
        for number, name in enumerate(leaf_names(self.component)):
            yield Leaf(
                name=name,
                source=self.number,
                share=shares[number],
                pins=self.pins[number],
                weight=weight if upsampling is None else float(shares[number] * exact(weight)),
                max_epochs=self.component.max_epochs,
                min_epochs=0.0 if upsampling else self.component.min_epochs,
                group=self.component.group,
                language=self.component.language,
                is_synthetic=self.component.is_synthetic,
                is_bucket=upsampling is not None,
                live=self.component.live,
                partitions=self.component.partitions if self.component.live else None,
                drawn=self.drawn[number],
            )


def leaf_names(component: Component) -> list[str]:
    """Return the names under which a component is planned."""
    if component.upsampling is None:
        return [component.name]
    return [f"{component.name}:{bucket.name}" for bucket in component.upsampling.buckets]


def find_sources(mixture: Mixture, inventory: Inventory, past: Past | None) -> list[Source]:
    """Return what the lake holds of each component; of one that was read before, what was read.

    Raises ValueError for one that is missing, empty, packed to another length or by another tokenizer, or read twice.
    """
    numbered = list(enumerate(mixture.components))
    found = {number: _find(mixture, inventory, past, number) for number, one in numbered if not one.live}
    tokenizer = next(pin.tokenizer for source in found.values() for held in source.pins for pin in held)
    sources = [found.get(number) or _promised(mixture, tokenizer, number, one) for number, one in numbered]
    named = {
        name: held for source in sources for name, held in zip(leaf_names(source.component), source.pins, strict=True)
    }
    lengths = {name: mixture.length_of(it.component) for it in sources for name in leaf_names(it.component)}
    _check_pins(mixture, named, lengths)
    if past:
        named = {leaf.name: leaf.pins for leaf in past.unused({*named})} | named
    _check_tokenizer(mixture, named)
    _check_disjoint(named)
    return sources


def _find(mixture: Mixture, inventory: Inventory, past: Past | None, number: int) -> Source:
    component = mixture.components[number]
    asked: list[tuple[str, Sequence[str] | None]] = [(component.table, component.partitions)]
    if component.upsampling is not None:
        asked = [(bucket.table or component.table, bucket.partitions) for bucket in component.upsampling.buckets]
    names, length = leaf_names(component), mixture.length_of(component)
    try:
        pins = [
            (past.pins(name, table, partitions) if past else None)
            or inventory.select(table, partitions, sequence_length=length)
            for name, (table, partitions) in zip(names, asked, strict=True)
        ]
    except ValueError as error:
        raise ValueError(f"component {component.name!r} cannot be read: {error}") from error
    drawn = tuple(past.drawn.get(name, 0) if past else 0 for name in names)
    return Source(number=number, component=component, pins=tuple(pins), drawn=drawn)


def _promised(mixture: Mixture, tokenizer: str, number: int, component: Component) -> Source:
    """Return a live component as if all that it will hold were one partition, without a name, of full sequences."""
    assert component.live is not None
    tokens = component.live.expected_tokens
    pin = PartitionPin(
        table=component.table,
        partition="",
        content_hash="",
        num_sequences=-(-tokens // mixture.sequence_length),
        num_tokens=tokens,
        tokenizer=tokenizer,
        sequence_length=mixture.sequence_length,
    )
    return Source(number=number, component=component, pins=((pin,),), drawn=(0,))


def _check_pins(mixture: Mixture, named: dict[str, Pins], wanted: dict[str, int]) -> None:
    for name, held in named.items():
        table = held[0].table
        lengths = sorted({pin.sequence_length for pin in held})
        if lengths != [wanted[name]]:
            raise ValueError(
                f"component {name!r} is packed to {lengths} tokens, mixture {mixture.name!r} wants "
                f"{wanted[name]}; pack the table again or change sequence_length"
            )
        if _num_tokens(held) == 0:
            partitions = shown([pin.partition for pin in held])
            place = "" if held[0].bucket is None else f" in sequences of {wanted[name]:,}"
            raise ValueError(
                f"component {name!r} is empty: {table} holds no token in {partitions}{place}; leave it out"
            )


def _check_tokenizer(mixture: Mixture, named: dict[str, Pins]) -> None:
    users: dict[str, dict[str, list[str]]] = {}
    for name, held in named.items():
        for pin in held:
            users.setdefault(pin.tokenizer, {}).setdefault(name, []).append(pin.partition)
    if len(users) > 1:
        spelled = [
            f"{tokenizer} made {'; '.join(f'{name} ({shown(partitions)})' for name, partitions in sorted(made.items()))}"
            for tokenizer, made in sorted(users.items())
        ]
        raise ValueError(
            f"mixture {mixture.name!r} needs one tokenizer, got {len(users)}: {'. '.join(spelled)}. "
            "Tokenize the tables again with one file"
        )


def _check_disjoint(named: dict[str, Pins]) -> None:
    owners: dict[tuple[str, str, int], str] = {}
    for name, held in named.items():
        # What is live has no partition yet: it takes those that nobody else reads.
        for pin in (pin for pin in held if pin.partition):
            owner = owners.setdefault((pin.table, pin.partition, pin.sequence_length), name)
            if owner != name:
                raise ValueError(
                    f"partition {pin.partition!r} of {pin.table} is in components {owner!r} and {name!r}: "
                    "its epochs could not be capped; name each partition once"
                )


def _num_tokens(held: Pins) -> int:
    return sum(pin.num_tokens for pin in held)


def _num_sequences(held: Pins) -> int:
    return max(1, sum(pin.num_sequences for pin in held))
