"""The plan of a mixture: which partitions, how many tokens and sequences of each, and in which proportions they come.

A plan is a value: JSON with the content hash of every partition that it reads. Its version names all that decides the
stream and no more. Snapshot ids only say where the partitions were found: they differ between two lakes with the same
rows, so they are no part of the version.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from corpusmill.document import PLACE
from corpusmill.fingerprint import fingerprint
from corpusmill.mix.inventory import PartitionPin
from corpusmill.mix.order import Order, build_order

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
    ]
)
"""One row per component, in the order of the mixture. `document` is the plan's JSON, on the first row only."""


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
    """How many positions of each period are its."""

    @property
    def num_sequences(self) -> int:
        return sum(pin.num_sequences for pin in self.pins)

    @property
    def num_tokens(self) -> int:
        return sum(pin.num_tokens for pin in self.pins)

    @property
    def epochs(self) -> float:
        return self.planned_sequences / self.num_sequences

    @property
    def expected_tokens(self) -> float:
        """Tokens in its planned sequences if all were as full as the mean one."""
        return self.planned_sequences * self.num_tokens / self.num_sequences


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A mixture that can be streamed."""

    mix: str
    seed: int
    sequence_length: int
    tokenizer: str
    block_sequences: int
    """Neighbouring sequences that a component's shuffle keeps together."""
    components: tuple[PlannedComponent, ...]
    snapshots: Mapping[str, int] = field(default_factory=dict)
    """Table -> Iceberg snapshot in which its pinned partitions were seen."""

    @property
    def planned_tokens(self) -> int:
        return sum(component.planned_tokens for component in self.components)

    @property
    def num_positions(self) -> int:
        """Length of the stream in sequences."""
        return sum(component.planned_sequences for component in self.components)

    @functools.cached_property
    def version(self) -> str:
        return fingerprint({name: value for name, value in self.to_json().items() if name != "snapshots"})[:16]

    def order(self) -> Order:
        return build_order(
            [component.order_weight for component in self.components],
            num_sequences=[component.num_sequences for component in self.components],
            seed=self.seed,
            block_sequences=self.block_sequences,
        )

    def to_json(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Plan":
        components = tuple(
            PlannedComponent(**{**item, "pins": tuple(PartitionPin(**pin) for pin in item["pins"])})
            for item in value["components"]
        )
        return cls(**{**value, "components": components})


def plan_to_table(plan: Plan) -> pa.Table:
    """Return the plan as PLAN rows."""
    document = json.dumps(replace(plan, snapshots={}).to_json(), sort_keys=True)
    rows = [
        {
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
        }
        for number, component in enumerate(plan.components)
    ]
    return pa.Table.from_pylist(rows, schema=PLAN)


def plan_from_table(table: pa.Table, *, mix: str) -> Plan:
    """Return the plan of `mix` from PLAN rows.

    Raises ValueError when they hold no plan of that mix, or not all of it, or not what its version says.
    """
    columns = ["mix", "mix_version", "table", "snapshot_id", "document"]
    rows = [row for row in table.select(columns).to_pylist() if row["mix"] == mix]
    first = [row for row in rows if row["document"] is not None]
    if len(first) != 1:
        raise ValueError(f"wanted one plan of mix {mix!r}, got {len(first)} in {len(rows)} rows; materialize it again")
    found = Plan.from_json(json.loads(first[0]["document"]))
    if found.version != first[0]["mix_version"] or len(found.components) != len(rows):
        raise ValueError(
            f"the plan of mix {mix!r} is damaged: version {first[0]['mix_version']} in {len(rows)} rows, its document "
            f"spells {found.version} with {len(found.components)} components; materialize it again"
        )
    snapshots = {row["table"]: row["snapshot_id"] for row in rows if row["snapshot_id"] is not None}
    return replace(found, snapshots=snapshots)
