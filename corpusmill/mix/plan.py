"""The plan of a mixture: which partitions, how many tokens and sequences of each, and in which proportions they come.

A plan is a value: JSON with the content hash of every partition that it reads. Its version names all that decides the
stream and no more. Snapshot ids only say where the partitions were found: they differ between two lakes with the same
rows, so they are no part of the version; nor are the licences that are allowed.

A plan without phases is spelled as it was before there were phases, so it keeps its version.
"""

import functools
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from typing import Any

import pyarrow as pa

from corpusmill.document import PLACE
from corpusmill.fingerprint import fingerprint
from corpusmill.mix.inventory import PartitionPin
from corpusmill.mix.live import Promise
from corpusmill.mix.order import Order, Stretch, build_order
from corpusmill.mix.sparse_json import to_sparse_json

PIN = pa.struct(
    [
        pa.field("partition", pa.string()),
        pa.field("content_hash", pa.string()),
        pa.field("num_sequences", pa.int64()),
        pa.field("num_tokens", pa.int64()),
    ]
)

PLAN = pa.schema(
    [
        pa.field("mix", pa.string(), nullable=False),
        pa.field("mix_version", pa.string(), nullable=False),
        pa.field("number", pa.int32(), nullable=False),
        pa.field("component", pa.string(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("weight", pa.float64(), nullable=False),
        pa.field("max_epochs", pa.float64(), nullable=False),
        pa.field("num_sequences", pa.int64(), nullable=False),
        pa.field("num_tokens", pa.int64(), nullable=False),
        pa.field("planned_tokens", pa.int64(), nullable=False),
        pa.field("planned_share", pa.float64(), nullable=False),
        pa.field("planned_sequences", pa.int64(), nullable=False),
        pa.field("epochs", pa.float64(), nullable=False),
        pa.field("order_weight", pa.int64(), nullable=False),
        pa.field("pins", pa.list_(PIN), nullable=False),
        pa.field("snapshot_id", pa.int64(), metadata=PLACE),
        pa.field("document", pa.large_string()),
        pa.field("group", pa.string()),
        pa.field("language", pa.string()),
        pa.field("is_synthetic", pa.bool_()),
        pa.field("min_epochs", pa.float64()),
        pa.field("phase_tokens", pa.list_(pa.int64())),
        pa.field("phase_weights", pa.list_(pa.int64())),
    ]
)
"""One row per component, in the order of the mixture. `document` is the plan's JSON, on the first row only.

`phase_tokens` and `phase_weights` are those of each phase in turn; a plan without phases has one.
"""

_NOT_IDENTITY = ("snapshots", "allowed_licences", "allowed_teacher_licences")


@dataclass(frozen=True, kw_only=True)
class PlannedComponent:
    """One component as planned."""

    name: str
    table: str
    weight: float
    max_epochs: float
    pins: tuple[PartitionPin, ...]
    planned_tokens: int
    """Its exact part of the plan's tokens."""
    planned_sequences: int
    """How many sequences the stream takes from it: `planned_tokens` over its mean tokens a sequence."""
    order_weight: int
    """How many positions of each period are its; 0 in a plan with phases, which have their own weights."""
    group: str | None = None
    """Names of the groups that it is in, outermost first, joined by `/`."""
    language: str | None = None
    is_synthetic: bool = False
    min_epochs: float = 0.0
    live: Promise | None = None
    """For a component that is still being made: it pins nothing."""
    snapshot_id: int | None = None
    """For what arrived of a live component: the version of its table in which it was seen."""

    @property
    def num_sequences(self) -> int:
        return self.live.num_sequences if self.live else sum(pin.num_sequences for pin in self.pins)

    @property
    def num_tokens(self) -> int:
        return self.live.num_tokens if self.live else sum(pin.num_tokens for pin in self.pins)

    @property
    def epochs(self) -> float:
        return self.planned_sequences / self.num_sequences

    @property
    def expected_tokens(self) -> float:
        """Tokens in its planned sequences if all were as full as the mean one."""
        return self.planned_sequences * self.num_tokens / self.num_sequences


@dataclass(frozen=True, kw_only=True)
class PlannedPhase:
    """Positions with the same weights."""

    name: str
    num_positions: int
    """Whole periods, unless a change of weights cut it short."""
    planned_tokens: tuple[int, ...]
    """By component."""
    order_weights: tuple[int, ...]
    """How many positions of each period belong to each component; 0 where it does not come."""
    sequence_length: int | None = None
    """Tokens of its sequences, where that is not the plan's."""


@dataclass(frozen=True, kw_only=True)
class Amendment:
    """A change of weights: before `position` the stream is that of `mix_version`."""

    mix_version: str
    position: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A mixture that can be streamed."""

    mix: str
    seed: int
    sequence_length: int
    tokenizer: str
    block_sequences: int
    """Neighbouring sequences that a component's shuffle keeps together, of the plan's length: longer ones are fewer."""
    components: tuple[PlannedComponent, ...]
    snapshots: Mapping[str, int] = field(default_factory=dict)
    """Table -> Iceberg snapshot in which its pinned partitions were seen."""
    phases: tuple[PlannedPhase, ...] = ()
    """In the order in which they come; empty where weights never change."""
    amended: tuple[Amendment, ...] = ()
    """The versions that this one goes on from, oldest first."""
    allowed_licences: tuple[str, ...] | None = None
    allowed_teacher_licences: tuple[str, ...] | None = None
    live_window: int = 0
    """Positions that are decided at a time while a live component is short; 0 in a plan without live ones."""

    @property
    def is_live(self) -> bool:
        """Whether it has components that are still being made, so that its stream is decided as it is read."""
        return any(component.live for component in self.components)

    @property
    def planned_tokens(self) -> int:
        return sum(component.planned_tokens for component in self.components)

    @property
    def num_positions(self) -> int:
        """Length of the stream in sequences."""
        return sum(component.planned_sequences for component in self.components)

    @functools.cached_property
    def version(self) -> str:
        return fingerprint({name: value for name, value in self.to_json().items() if name not in _NOT_IDENTITY})[:16]

    @property
    def stretches(self) -> tuple[PlannedPhase, ...]:
        """The phases, or the whole stream as one."""
        return self.phases or (
            PlannedPhase(
                name="main",
                num_positions=self.num_positions,
                planned_tokens=tuple(component.planned_tokens for component in self.components),
                order_weights=tuple(component.order_weight for component in self.components),
            ),
        )

    @property
    def blocks(self) -> list[int]:
        """Neighbouring sequences that the shuffle of each component keeps together: as many tokens of each."""
        tokens = self.block_sequences * self.sequence_length
        return [max(1, tokens // self.length_of(component)) for component in self.components]

    def length_of(self, component: PlannedComponent) -> int:
        """Return the tokens that a sequence of a component may hold."""
        return component.pins[0].sequence_length if component.pins else self.sequence_length

    def length_at(self, position: int) -> int:
        """Return the tokens of a sequence at a position."""
        number = bisect_right(self.starts, position) - 1
        return self.stretches[min(number, len(self.stretches) - 1)].sequence_length or self.sequence_length

    @property
    def starts(self) -> list[int]:
        """First position of each of `stretches`, and after the last one the end of the stream."""
        return list(accumulate((phase.num_positions for phase in self.stretches), initial=0))

    def order(self) -> Order:
        return build_order(
            [
                Stretch(start=start, weights=phase.order_weights)
                for start, phase in zip(self.starts, self.stretches, strict=False)
            ],
            num_sequences=[component.num_sequences for component in self.components],
            seed=self.seed,
            block_sequences=self.blocks,
        )

    def continues(self, mix_version: str, position: int) -> bool:
        """Return whether the stream up to `position` is that of another version, so that its checkpoint may go on here."""
        if mix_version == self.version:
            return True
        at = [number for number, one in enumerate(self.amended) if one.mix_version == mix_version]
        return bool(at) and position <= min(one.position for one in self.amended[at[0] :])

    def to_json(self) -> dict[str, Any]:
        return to_sparse_json(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Plan":
        given = dict(value)
        given["components"] = tuple(
            PlannedComponent(
                **{
                    **item,
                    "pins": tuple(PartitionPin(**pin) for pin in item["pins"]),
                    "live": _promise(item.get("live")),
                }
            )
            for item in value["components"]
        )
        given["phases"] = tuple(
            PlannedPhase(
                **{
                    **item,
                    "planned_tokens": tuple(item["planned_tokens"]),
                    "order_weights": tuple(item["order_weights"]),
                }
            )
            for item in value.get("phases", ())
        )
        given["amended"] = tuple(Amendment(**item) for item in value.get("amended", ()))
        for name in ("allowed_licences", "allowed_teacher_licences"):
            if given.get(name) is not None:
                given[name] = tuple(given[name])
        return cls(**given)


def _promise(value: Mapping[str, Any] | None) -> Promise | None:
    if value is None:
        return None
    partitions = value.get("partitions")
    return Promise(
        **{
            **value,
            "lenders": tuple(value.get("lenders", ())),
            "partitions": None if partitions is None else tuple(partitions),
        }
    )


def plan_to_table(plan: Plan) -> pa.Table:
    """Return the plan as PLAN rows."""
    return pa.Table.from_pylist(list(_rows(plan)), schema=PLAN)


def plan_from_table(table: pa.Table, *, mix: str) -> Plan:
    """Return the plan of `mix` from PLAN rows.

    Raises ValueError when they hold no plan of that mix, or not all of it, or not what its version says.
    """
    columns = ["mix", "mix_version", "table", "snapshot_id", "document"]
    rows = [row for row in table.select(columns).to_pylist() if row["mix"] == mix]
    first = [row for row in rows if row["document"] is not None]
    if len(first) != 1:
        raise ValueError(f"wanted one plan of mix {mix!r}, got {len(first)} in {len(rows)} rows; materialize it again")
    try:
        found = Plan.from_json(json.loads(first[0]["document"]))
    except (TypeError, KeyError) as error:
        raise ValueError(
            f"the plan of mix {mix!r} was written by another release, which this one cannot read ({error}); open it with "
            "that one, or materialize it again"
        ) from error
    if found.version != first[0]["mix_version"] or len(found.components) != len(rows):
        raise ValueError(
            f"the plan of mix {mix!r} is damaged: version {first[0]['mix_version']} in {len(rows)} rows, its document "
            f"spells {found.version} with {len(found.components)} components; materialize it again"
        )
    snapshots = {row["table"]: row["snapshot_id"] for row in rows if row["snapshot_id"] is not None}
    return replace(found, snapshots=snapshots)


def _rows(plan: Plan) -> Iterator[dict[str, Any]]:
    document = json.dumps(replace(plan, snapshots={}).to_json(), sort_keys=True)
    for number, component in enumerate(plan.components):
        yield {
            **asdict(component),
            "mix": plan.mix,
            "mix_version": plan.version,
            "number": number,
            "component": component.name,
            "planned_share": component.planned_tokens / plan.planned_tokens,
            "num_sequences": component.num_sequences,
            "num_tokens": component.num_tokens,
            "epochs": component.epochs,
            "snapshot_id": plan.snapshots.get(component.table),
            "document": None if number else document,
            "phase_tokens": [phase.planned_tokens[number] for phase in plan.stretches],
            "phase_weights": [phase.order_weights[number] for phase in plan.stretches],
        }
