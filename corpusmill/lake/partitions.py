"""Attempts at partitions, the states that they commit, and how both are spelled in a table's properties.

A fence is a partition's counter of attempts. The property `corpusmill.fence.<partition>` names the newest attempt;
`corpusmill.partition.<partition>` is what was committed last. Both change only together with the table's version.
"""

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from corpusmill.lake.damage import metadata_damage_named
from corpusmill.lake.names import data_directory, staging_directory

FENCE_PREFIX = "corpusmill.fence."
STATE_PREFIX = "corpusmill.partition."
ARROW_SCHEMA = "corpusmill.arrow-schema"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The right to replace one partition, until a newer attempt begins."""

    table: str
    partition: str
    fence: int
    attempt: str
    """Id that no other attempt has; file names start with it."""
    began: float
    """Seconds since the epoch."""

    @property
    def directory(self) -> str:
        """Key prefix for the attempt's data files."""
        return data_directory(self.table, self.partition)

    @property
    def staging(self) -> str:
        """Key prefix for checkpoints of unfinished work on the partition, shared by its attempts."""
        return staging_directory(self.table, self.partition)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Attempt":
        return cls(**value)

    def fence_property(self) -> tuple[str, str]:
        """Return name and value of the table property that publishes the attempt."""
        value = {"fence": self.fence, "attempt": self.attempt, "began": self.began}
        return FENCE_PREFIX + self.partition, json.dumps(value, sort_keys=True)


@dataclass(frozen=True, kw_only=True)
class PartitionState:
    """What was committed last for a partition."""

    table: str
    partition: str
    fence: int
    attempt: str
    content_hash: str
    num_rows: int
    num_bytes: int
    snapshot_id: int
    placed_hash: str = ""
    """Hash of the rows with the places that they name; empty for what was committed from elsewhere."""
    state: dict[str, Any] = field(default_factory=dict)
    """Whatever the committer recorded. `gate_failures` lists gates that failed; readers refuse such a partition.

    `report` is the key of an object that stays as long as this is the partition's state; so do those that `objects` names.
    """

    @property
    def gate_failures(self) -> list[str]:
        return list(self.state.get("gate_failures", ()))

    @property
    def objects(self) -> list[str]:
        """Keys of the objects that stay as long as this is the partition's state."""
        report = [str(self.state["report"])] if "report" in self.state else []
        return report + list(self.state.get("objects", {}).values())

    def state_property(self) -> tuple[str, str]:
        """Return name and value of the table property that records the state."""
        value = asdict(self)
        del value["table"], value["partition"]
        return STATE_PREFIX + self.partition, json.dumps(value, sort_keys=True, allow_nan=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFileRef:
    """A committed data file."""

    path: str
    """Absolute URI."""
    num_rows: int
    num_bytes: int
    partition: str
    num_row_groups: int = 1


def published_fence(properties: Mapping[str, str], partition: str) -> dict[str, Any] | None:
    """Return fence, attempt and begin of the newest attempt at a partition, or None when there was none."""
    spelled = properties.get(FENCE_PREFIX + partition)
    return json.loads(spelled) if spelled else None


def next_attempt(properties: Mapping[str, str], table: str, partition: str) -> Attempt:
    """Return an attempt that overtakes the newest one at a partition; it counts once it is published or committed."""
    newest = published_fence(properties, partition)
    return Attempt(
        table=table,
        partition=partition,
        fence=newest["fence"] + 1 if newest else 1,
        attempt=uuid.uuid4().hex[:16],
        began=time.time(),
    )


def attempted_partitions(properties: Mapping[str, str]) -> list[str]:
    """Return the partitions that an attempt has ever begun on, sorted."""
    return sorted(key.removeprefix(FENCE_PREFIX) for key in properties if key.startswith(FENCE_PREFIX))


def partition_states(table: str, properties: Mapping[str, str]) -> dict[str, PartitionState]:
    """Return the committed partitions by name, sorted."""
    names = sorted(key.removeprefix(STATE_PREFIX) for key in properties if key.startswith(STATE_PREFIX))
    return {name: _state(table, name, properties[STATE_PREFIX + name]) for name in names}


def partition_state(table: str, properties: Mapping[str, str], partition: str) -> PartitionState | None:
    """Return the state of one partition, or None when it was never committed."""
    spelled = properties.get(STATE_PREFIX + partition)
    return _state(table, partition, spelled) if spelled else None


def _state(table: str, partition: str, spelled: str) -> PartitionState:
    with metadata_damage_named(f"the state of {table}, partition {partition!r}, in the table's newest metadata,"):
        return PartitionState(table=table, partition=partition, **json.loads(spelled))
