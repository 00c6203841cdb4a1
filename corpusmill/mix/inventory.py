"""What the lake holds of packed sequences: one pin per committed partition, as its commit described it."""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from corpusmill.meant import did_you_mean

LENGTH_SEQUENCES = 1 << 56
"""Room for the numbers of a length: the n-th of a partition's lengths counts its sequences from n times this."""


@dataclass(frozen=True, kw_only=True)
class PartitionPin:
    """One partition of a tokenized table, named by its content."""

    table: str
    partition: str
    content_hash: str
    num_sequences: int
    num_tokens: int
    tokenizer: str
    """`corpusmill.mix.tokenize.tokenizer_version` of the tokenizer that made it."""
    sequence_length: int
    bucket: int | None = None
    """Which of the partition's lengths this is; None where it has one."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """The partitions that a plan may use, and the snapshot of each table in which they were seen."""

    pins: Sequence[PartitionPin]
    snapshots: Mapping[str, int] = field(default_factory=dict)
    known: Sequence[str] = ()
    """Tables of sequences that nobody asked for; a message names them."""

    def select(
        self, table: str, partitions: Sequence[str] | None, *, sequence_length: int | None = None
    ) -> tuple[PartitionPin, ...]:
        """Return the pins of `partitions` (names or patterns; None is all) by name; raises ValueError when one is missing.

        Of a partition that has no sequences of that length, those of all its lengths.
        """
        held: dict[str, list[PartitionPin]] = {}
        for pin in self.pins:
            if pin.table == table:
                held.setdefault(pin.partition, []).append(pin)
        if not held:
            tables = sorted({pin.table for pin in self.pins} | {*self.known})
            raise ValueError(
                f"{table} has no committed sequences; tables that have some: {shown(tables) or 'none'}"
                f"{did_you_mean(table, tables, likeness=0.85)}"
            )
        found = {asked: matching(asked, held) for asked in partitions or ["*"]}
        missing = sorted(asked for asked, names in found.items() if not names)
        if missing:
            raise ValueError(
                f"{table} has no committed partitions {shown(missing)}; it has {shown(sorted(held))}. Materialize them first"
            )
        names = sorted({name for names in found.values() for name in names})
        return tuple(
            pin
            for name in names
            for pin in [one for one in held[name] if one.sequence_length == sequence_length] or held[name]
        )


def matching(asked: str, names: Iterable[str]) -> list[str]:
    """Return the one name that is asked for, or those that match a pattern such as `2024-*`."""
    return [asked] if asked in (names := list(names)) else fnmatch.filter(names, asked)


def shown(names: Sequence[str], most: int = 10) -> str:
    """Return names for a message: the first ones, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def pin_partition(
    table: str, *, partition: str, content_hash: str, num_sequences: int, state: Mapping[str, Any]
) -> list[PartitionPin]:
    """Return the pins of a committed partition, one a length; `state` is what packing gave its commit."""
    lengths = state.get("lengths")
    buckets = [{**state, "num_sequences": num_sequences}] if lengths is None else [{**state, **one} for one in lengths]
    wanted = ("num_sequences", "num_tokens", "tokenizer", "sequence_length")
    missing = [name for name in wanted for bucket in buckets if name not in bucket]
    if missing:
        raise ValueError(
            f"{table}, partition {partition!r}, is no table of packed sequences: its state lacks {missing}"
        )
    return [
        PartitionPin(
            table=table,
            partition=partition,
            content_hash=content_hash,
            bucket=None if lengths is None else number,
            **{name: bucket[name] for name in wanted},
        )
        for number, bucket in enumerate(buckets)
    ]
