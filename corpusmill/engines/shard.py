"""One shard where it runs: call its function, write its rows, leave a checkpoint.

A shard function is named `module:function` and called as function(inputs, parameters, context). It yields Arrow tables
in the schema of the call and reports through its context. A checkpoint is written after the shard's files are closed,
in one atomic step: whoever finds it, finds all of the shard's rows.
"""

import base64
import json
import secrets
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.fingerprint import fingerprint
from corpusmill.full_disk import told_full_disk
from corpusmill.lake.files import ShardWriter, WrittenFile
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.named import named_function

MAX_SAMPLES = 10
"""Sample rows that one shard may report; further ones are not kept."""
MAX_SAMPLE_CHARACTERS = 4_000
"""Longest JSON spelling of one sample row, in which an emoji takes twelve characters."""
MAX_EXAMPLES = 20
"""Examples of one kind, such as a drop reason, of a shard and of all shards together."""
MAX_EXAMPLE_KINDS = 100

Examples = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows by kind, each with an `example_order`."""


class ShardContext:
    """What a shard function reports besides its rows. One per shard, used by one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.counts = Counts()
        self.notes: dict[str, float] = {}
        self.samples: list[dict[str, Any]] = []
        self.examples: Examples = {}
        self._begins_row_group = False

    def begin_row_group(self) -> None:
        """Let the table that is yielded next begin a row group of its own."""
        self._begins_row_group = True

    def take_begin(self) -> bool:
        """Return whether a row group was to begin since this was asked last."""
        begins, self._begins_row_group = self._begins_row_group, False
        return begins

    def add_counts(self, counts: Counts) -> None:
        """Add rows to the shard's ledger, which must balance when the shard ends."""
        self.counts += counts

    def note(self, metric: str, value: float) -> None:
        """Add to a number that is summed over all shards."""
        self.notes[metric] = self.notes.get(metric, 0) + value

    def sample(self, row: Mapping[str, Any]) -> None:
        """Keep a JSON row for people to look at, if there is still room; of one that is too long, its texts are cut."""
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(_bounded(row))

    def example(self, kind: str, order: str, row: Mapping[str, Any]) -> None:
        """Keep a JSON row of a kind if it is among the MAX_EXAMPLES of smallest `order`.

        With a hash as order they are a random sample, the same however the rows are cut into shards.
        """
        held = self.examples.get(kind, ())
        if len(held) < MAX_EXAMPLES or order < held[-1]["example_order"]:
            self.examples = merge_examples([self.examples, {kind: [{"example_order": order, **_bounded(row)}]}])


def merge_examples(parts: Iterable[Examples]) -> Examples:
    """Return the examples of smallest order of each kind; kinds beyond MAX_EXAMPLE_KINDS, by name, have none."""
    merged: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        for kind, rows in part.items():
            merged.setdefault(kind, []).extend(rows)
    return {
        kind: sorted(merged[kind], key=lambda row: str(row["example_order"]))[:MAX_EXAMPLES]
        for kind in sorted(merged)[:MAX_EXAMPLE_KINDS]
    }


def _bounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON spells it, its texts cut to the width at which it is short enough: no text may end a shard."""
    width = MAX_SAMPLE_CHARACTERS
    cut = dict(row)
    while len(spelled := json.dumps(cut)) > MAX_SAMPLE_CHARACTERS and width:
        width //= 2
        cut = {name: value[:width] if isinstance(value, str) else value for name, value in row.items()}
    assert len(spelled) <= MAX_SAMPLE_CHARACTERS, "a sample row holds texts and numbers, no long lists"
    found: dict[str, Any] = json.loads(spelled)
    return found


ShardFunction = Callable[[Mapping[str, Any], Mapping[str, Any], ShardContext], Iterator[pa.Table]]


@dataclass(frozen=True, kw_only=True)
class ShardCall:
    """All that a worker needs to make one shard; travels as JSON."""

    label: str
    """What people call the shard in messages."""
    fingerprint: str
    function: str
    inputs: Mapping[str, Any]
    parameters: Mapping[str, Any]
    schema: pa.Schema
    store: StoreSettings
    directory: str
    name: str
    """First part of the names of the shard's files, unique to the attempt."""
    partition: str
    checkpoint: str
    """Key of the checkpoint."""
    row_group_bytes: int | None

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "inputs": dict(self.inputs),
            "parameters": dict(self.parameters),
            "schema": base64.b64encode(self.schema.serialize().to_pybytes()).decode(),
            "store": self.store.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ShardCall":
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value["schema"])))
        return cls(**{**value, "schema": schema, "store": StoreSettings.from_json(value["store"])})


@dataclass(frozen=True, kw_only=True)
class ShardOutcome:
    """What a finished shard left; travels as JSON and is the body of its checkpoint."""

    fingerprint: str
    files: list[WrittenFile]
    counts: Counts
    notes: Mapping[str, float] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    examples: Examples = field(default_factory=dict)
    seconds: float = 0.0
    reused: bool = False
    """Whether an earlier attempt made it."""

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "files": [file.to_json() for file in self.files],
            "counts": self.counts.to_json(),
            "notes": dict(self.notes),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ShardOutcome":
        files = [WrittenFile.from_json(file) for file in value["files"]]
        return cls(**{**value, "files": files, "counts": Counts.from_json(value["counts"])})


@dataclass(frozen=True, kw_only=True)
class ShardFailure:
    """A shard whose function raised; travels as JSON in place of an outcome."""

    fingerprint: str
    label: str
    error: str
    """Type and message of the exception."""
    trace: str
    mistake: str = ""
    """The message alone where the function raised a ValueError or a disk was full: an input or a setting must change."""


class _MistakeError(ValueError):
    """What a shard function refused."""


def make_shard(call: ShardCall) -> ShardOutcome:
    """Make one shard: its files, then its checkpoint. Raises what its function raises, ValueError if a row is lost."""
    started = time.monotonic()
    store = Store(call.store)
    context = ShardContext(store)
    function: ShardFunction = named_function(call.function)
    # An engine may try a shard again while a first try still writes somewhere: each try has files of its own.
    name = f"{call.name}-{secrets.token_hex(4)}"
    with ShardWriter(
        store,
        directory=call.directory,
        name=name,
        schema=call.schema,
        partition=call.partition,
        row_group_bytes=call.row_group_bytes,
    ) as writer:
        for table in _tables(function, call, context):
            if context.take_begin():
                writer.end_row_group()
            writer.write(table)
    context.counts.check()
    outcome = ShardOutcome(
        fingerprint=call.fingerprint,
        files=list(writer.files),
        counts=context.counts,
        notes=context.notes,
        samples=context.samples,
        examples=context.examples,
        seconds=round(time.monotonic() - started, 3),
    )
    store.write(call.checkpoint, spell_checkpoint(outcome))
    return outcome


def _tables(function: ShardFunction, call: ShardCall, context: ShardContext) -> Iterator[pa.Table]:
    try:
        yield from function(call.inputs, call.parameters, context)
    except ValueError as error:
        # Subclasses are a library's: an invalid file, a failed decoding.
        if type(error) is not ValueError:
            raise
        raise _MistakeError(str(error)) from error


def make_shard_row(row: bytes) -> bytes:
    """Make the shard of one JSON call and return its outcome or its failure as JSON; what an engine's workers call.

    An exception becomes a result, because an engine would end the other shards for it. The caller raises it again.
    """
    call = ShardCall.from_json(json.loads(row))
    try:
        return json.dumps({"outcome": make_shard(call).to_json()}).encode()
    except Exception as error:  # noqa: BLE001 - raised again, with the shard's name, by run_shards
        full = told_full_disk(error, file=f"a file in {call.store.root}")
        failure = ShardFailure(
            fingerprint=call.fingerprint,
            label=call.label,
            error=f"{type(error.__cause__ if isinstance(error, _MistakeError) else error).__name__}: {error}",
            trace="".join(traceback.format_exception(error)),
            mistake=full or (str(error) if isinstance(error, _MistakeError) else ""),
        )
        return json.dumps({"failure": failure.__dict__}).encode()


def spell_checkpoint(outcome: ShardOutcome) -> bytes:
    """Return the bytes of a checkpoint, with a checksum over them."""
    body = outcome.to_json()
    return json.dumps({"checksum": fingerprint(body), "outcome": body}).encode()


def read_checkpoint(data: bytes) -> ShardOutcome | None:
    """Return the outcome that a checkpoint holds, or None when its bytes are not what was written."""
    try:
        value = json.loads(data)
        intact = fingerprint(value["outcome"]) == value["checksum"]
    except (ValueError, KeyError, TypeError):
        return None
    return ShardOutcome.from_json(value["outcome"]) if intact else None
