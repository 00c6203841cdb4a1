"""Many shards on an engine, resumable: what an earlier attempt finished is used, the rest is made.

A shard's fingerprint names its function, that function's code, its parameters, inputs and schema. The checkpoint of a
finished shard lies in the partition's staging folder. It stands when its own checksum holds and all its
files exist in the size they were written in; otherwise the shard is made again. A killed run loses the shards in flight.

Costs: two listings (1,000 keys a page), one small read per reused shard, one small write per new one.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.engines.engine import Engine, EngineFailedError
from corpusmill.engines.shard import (
    MAX_SAMPLES,
    Examples,
    ShardCall,
    ShardFailure,
    ShardOutcome,
    merge_examples,
    read_checkpoint,
)
from corpusmill.fingerprint import code_version, fingerprint
from corpusmill.lake.files import WrittenFile
from corpusmill.lake.partitions import Attempt
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Lake
from corpusmill.named import split_name

MAX_FAILURES = 10
"""Failed shards after which the rest is given up: the fault is in the function, not in a shard."""

Progress = Callable[[ShardOutcome, int, int], None]
"""Called with a finished shard, how many are finished and how many there are."""


@dataclass(frozen=True, kw_only=True)
class ShardPlan:
    """The shards of one partition: one function, called once for each of `inputs`."""

    function: str
    """Named as module:function; see `corpusmill.engines.shard`."""
    inputs: Sequence[Mapping[str, Any]]
    """JSON, one per shard, all different. Content that decides the rows is named here, not only its path."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    schema: pa.Schema
    row_group_bytes: int | None = None
    """Of the files; None is what a table has. Small where rows are sorted by a column and readers want few of them."""

    def fingerprints(self) -> list[str]:
        """Return the name of each shard, in order. Raises ValueError when two shards are the same."""
        module, _ = split_name(self.function)
        shared = {
            "function": self.function,
            "code": code_version(module),
            "parameters": dict(self.parameters),
            "schema": str(self.schema),
        }
        names = [fingerprint({**shared, "inputs": dict(inputs)}) for inputs in self.inputs]
        seen: dict[str, int] = {}
        for index, name in enumerate(names):
            if name in seen:
                raise ValueError(
                    f"the inputs of shards must differ, got the same for shard {seen[name] + 1} and shard {index + 1}: "
                    f"{dict(self.inputs[index])!r:.200}"
                )
            seen[name] = index
        return names


class ShardsFailedError(RuntimeError):
    """Some shards failed; the finished ones are kept and are used by the next attempt."""

    def __init__(self, failures: Sequence[ShardFailure], *, num_finished: int, num_shards: int) -> None:
        named = "; ".join(f"{failure.label}: {failure.error}" for failure in failures[:MAX_FAILURES])
        super().__init__(
            f"{len(failures)} of {num_shards} shards failed, {num_finished} are finished and will be used by the next "
            f"attempt. {named}"
        )
        self.failures = list(failures)
        self.add_note(f"First failure, where it happened:\n{failures[0].trace}")


class ShardsRefusedError(ValueError):
    """Inputs or settings of some shards must change; trying again would change nothing."""

    def __init__(self, failures: Sequence[ShardFailure], *, num_shards: int) -> None:
        messages = list(dict.fromkeys(failure.mistake for failure in failures))
        others = f" (and {len(messages) - 1} like it)" if len(messages) > 1 else ""
        where = f" [{len(failures)} of {num_shards} shards]" if num_shards > 1 else ""
        super().__init__(f"{messages[0]}{others}{where}")


@dataclass(frozen=True, kw_only=True)
class ShardTotals:
    """The sum over all shards of a partition."""

    files: list[WrittenFile]
    counts: Counts
    notes: Mapping[str, float]
    samples: list[dict[str, Any]]
    examples: Examples
    seconds: float
    """Work time summed over the shards, whoever made them."""
    num_shards: int
    num_reused: int


def run_shards(
    plan: ShardPlan, *, engine: Engine, lake: Lake, attempt: Attempt, on_progress: Progress | None = None
) -> list[ShardOutcome]:
    """Return the outcome of every shard in the order of the plan's inputs.

    Raises ShardsFailedError when a shard function raised (after the others finished, or at once beyond MAX_FAILURES),
    ShardsRefusedError when all that failed raised a ValueError, and EngineFailedError when the engine died. Finished
    shards are kept in all cases.
    """
    calls = _calls(plan, store=lake.store, attempt=attempt)
    finished = _finished_shards(calls, store=lake.store)
    waiting = [call for call in calls if call.fingerprint not in finished]
    if on_progress:
        for num_done, outcome in enumerate(finished.values(), start=1):
            on_progress(outcome, num_done, len(calls))
    failures: list[ShardFailure] = []
    for result in _make(waiting, engine=engine, num_shards=len(calls)):
        if isinstance(result, ShardFailure):
            failures.append(result)
            if len(failures) > MAX_FAILURES:
                break
            continue
        finished[result.fingerprint] = result
        if on_progress:
            on_progress(result, len(finished), len(calls))
    if failures and all(failure.mistake for failure in failures):
        raise ShardsRefusedError(failures, num_shards=len(calls))
    if failures:
        raise ShardsFailedError(failures, num_finished=len(finished), num_shards=len(calls))
    _check_complete(calls, finished, engine=engine)
    return [finished[call.fingerprint] for call in calls]


def total(outcomes: Iterable[ShardOutcome]) -> ShardTotals:
    """Return the sum of the outcomes; raises ValueError when a row is unaccounted for. Samples stay bounded."""
    outcomes = list(outcomes)
    counts = sum((outcome.counts for outcome in outcomes), Counts())
    counts.check()
    notes: dict[str, float] = {}
    for outcome in outcomes:
        for metric, value in outcome.notes.items():
            notes[metric] = notes.get(metric, 0) + value
    return ShardTotals(
        files=[file for outcome in outcomes for file in outcome.files],
        counts=counts,
        notes=dict(sorted(notes.items())),
        samples=[row for outcome in outcomes for row in outcome.samples][:MAX_SAMPLES],
        examples=merge_examples(outcome.examples for outcome in outcomes),
        seconds=round(sum(outcome.seconds for outcome in outcomes), 3),
        num_shards=len(outcomes),
        num_reused=sum(outcome.reused for outcome in outcomes),
    )


def _calls(plan: ShardPlan, *, store: Store, attempt: Attempt) -> list[ShardCall]:
    names = plan.fingerprints()
    return [
        ShardCall(
            label=f"shard {index + 1} of {len(names)} ({_describe(inputs)})",
            fingerprint=name,
            function=plan.function,
            inputs=inputs,
            parameters=plan.parameters,
            schema=plan.schema,
            row_group_bytes=plan.row_group_bytes,
            store=store.settings,
            directory=attempt.directory,
            name=f"{index:06d}-{attempt.attempt}-{name}",
            partition=attempt.partition,
            checkpoint=f"{attempt.staging}/{name}.json",
        )
        for index, (name, inputs) in enumerate(zip(names, plan.inputs, strict=True))
    ]


def _describe(inputs: Mapping[str, Any]) -> str:
    return f"{json.dumps(dict(inputs)):.160}"


def _finished_shards(calls: Sequence[ShardCall], *, store: Store) -> dict[str, ShardOutcome]:
    if not calls:
        return {}
    folder = calls[0].checkpoint.rpartition("/")[0]
    checkpoints = {item.key for item in store.list(f"{folder}/")}
    sizes = {item.key: item.size for item in store.list(f"{calls[0].directory}/")}
    finished = {}
    for call in calls:
        outcome = read_checkpoint(store.read(call.checkpoint)) if call.checkpoint in checkpoints else None
        if outcome and all(sizes.get(store.key(file.path)) == file.num_bytes for file in outcome.files):
            finished[call.fingerprint] = replace(outcome, reused=True)
    return finished


def _make(calls: Sequence[ShardCall], *, engine: Engine, num_shards: int) -> Iterable[ShardOutcome | ShardFailure]:
    if not calls:
        return
    num_made = 0
    rows = [json.dumps(call.to_json()).encode() for call in calls]
    try:
        for row in engine.map_rows("corpusmill.engines.shard:make_shard_row", rows):
            result = json.loads(row)
            num_made += 1
            if "failure" in result:
                yield ShardFailure(**result["failure"])
            else:
                yield ShardOutcome.from_json(result["outcome"])
    except EngineFailedError as error:
        num_left = len(calls) - num_made
        raise EngineFailedError(
            f"{error} At least {num_shards - num_left} of {num_shards} shards are finished and will be used by the next attempt."
        ) from error


def _check_complete(calls: Sequence[ShardCall], finished: Mapping[str, ShardOutcome], *, engine: Engine) -> None:
    missing = [call.label for call in calls if call.fingerprint not in finished]
    if missing:
        raise EngineFailedError(
            f"the {engine.name} engine returned {len(finished)} of {len(calls)} shards and no error; "
            f"missing: {', '.join(missing[:3])}"
        )
