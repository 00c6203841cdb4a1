"""The frame around every task: open the lake, skip what is done, run, check the ledger, commit once, report.

A task is a module of `corpusmill.tasks` with four functions:

    table(dataset) -> str                  the table that it writes
    schema(parameters) -> pa.Schema        that table's columns
    inputs(job) -> dict                    content hashes of all that decides the bytes of its output
    run(job, attempt) -> Outcome           the work; it writes files and commits nothing

and, where something follows a commit, `after_commit(job)`: repeating it changes nothing; where a commit keeps more than
files, `damage(job)`: what of it cannot be read, or None. A task whose partitions runs of others make too says IS_SHARED.

Work is named by the fingerprint of the task's code, parameters and inputs. A partition whose committed work has the same
name is not made again. The result of a commit is kept in the lake, so that Dagster's view can be rebuilt from it.
"""

import difflib
import importlib
import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.fingerprint import fingerprint, work_version
from corpusmill.lake.errors import PartitionMissingError, StaleAttemptError, TableMissingError
from corpusmill.lake.files import ShardWriter, WrittenFile
from corpusmill.lake.names import data_directory, report_directory
from corpusmill.lake.tables import Attempt, Lake, PartitionState
from corpusmill.settings import Settings

Report = Callable[[str, Mapping[str, Any]], None]
"""Called with a line of progress and its numbers."""

UNPARTITIONED = "all"
"""The partition of a table that has only one."""
MAX_OVERTAKEN = 5
"""How often a run gives way to another one on a table that both make, before it fails."""
GIVE_WAY_SECONDS = 2.0
"""What the other run gets at least, beyond twice the time that this one took."""
POLL_SECONDS = 0.2
OF_A_SNAPSHOT = ("records", "extract")
"""Tasks that read a snapshot's own files. Where all that is in it fails, the files or the settings are wrong, and the gate
`readable` does not hold."""
MAY_FAIL_WHOLE = "may_fail_whole"
"""The parameter of a dataset for which that is nothing wrong; taken out before the task sees its parameters."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One task on one partition: what its functions get."""

    settings: Settings
    lake: Lake
    dataset: str
    partition: str
    parameters: Mapping[str, Any]
    schema: pa.Schema
    """The columns of the table that the task writes."""
    report: Report
    again: bool = False
    """Whether the partition is made anew from its inputs alone: what is committed of it may be damaged."""
    may_fail_whole: bool = False
    """Whether nothing is wrong where all rows failed."""

    def upstream(self, table: str, partition: str | None = None) -> str:
        """Return the content hash of a committed partition; raises PartitionMissingError or GateFailedError."""
        name = self.partition if partition is None else partition
        try:
            self.lake.files(table, [name])
        except (PartitionMissingError, TableMissingError) as error:
            raise PartitionMissingError(_missing(self, table, name)) from error
        state = self.lake.partition(table, name)
        assert state is not None
        return state.content_hash

    def arguments(self, partition: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `execute` takes for another task of the same dataset."""
        return {
            "settings": self.settings.to_json(),
            "dataset": self.dataset,
            "partition": partition,
            "parameters": dict(parameters),
            "again": self.again,
        }


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A condition that must hold before anyone reads the partition."""

    passed: bool
    message: str
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a task's `run` made."""

    files: Sequence[WrittenFile]
    counts: Counts
    metrics: Mapping[str, float | int | str] = field(default_factory=dict)
    """Flat scalars; named alike in every task so that they plot over partitions."""
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Small tables for the asset's page."""
    listings: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Tables of some hundred short rows, which the page shows on demand."""
    samples: Sequence[Mapping[str, Any]] = ()
    gates: Mapping[str, Gate] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    """What later tasks need to know of this partition without reading it."""


def _missing(job: Job, table: str, partition: str) -> str:
    """Return what to say of an input that is not there: its name, the command that makes it, and what is there."""
    chosen = "" if partition == UNPARTITIONED else f" --partition {shlex.quote(partition)}"
    known = sorted(job.lake.partitions(table))
    near = difflib.get_close_matches(partition, known, n=1)
    return (
        f"it reads {table}{'' if partition == UNPARTITIONED else f' of {partition!r}'}, which is not made yet: run "
        f"`corpusmill materialize --assets {table}{chosen}` first" + (f" (there is {near[0]!r})" if near else "")
    )


def execute(name: str, arguments: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Run the task `name` on JSON `arguments` (settings, dataset, partition, parameters) and return its JSON result.

    Returns the kept result, with `reused` true, when the partition's committed work is the same and its files are there.
    With `again` true it is made anew all the same, from its inputs alone: its files may be damaged inside.
    """
    task = _load(name)
    is_shared = job_is_shared(arguments) or getattr(task, "IS_SHARED", False)
    for _ in range(MAX_OVERTAKEN if is_shared else 0):
        started = time.monotonic()
        try:
            return _execute_once(name, task, arguments, report)
        except StaleAttemptError as error:
            report(f"overtaken by another run, giving way to it: {error}", {})
            _give_way(name, arguments, seconds=GIVE_WAY_SECONDS + 2 * (time.monotonic() - started))
    return _execute_once(name, task, arguments, report)


def job_is_shared(arguments: Mapping[str, Any]) -> bool:
    """Return whether runs of different partitions make the same table, so that one may overtake the other."""
    return bool(arguments["partition"] == UNPARTITIONED)


def is_current(name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether the partition is committed and nothing that decides its bytes has changed since."""
    task = _load(name)
    job = _open(task, arguments, lambda message, numbers: None)
    committed = job.lake.partition(task.table(job.dataset), job.partition)
    return committed is not None and committed.state.get("work") == _work(task, job)


def kept_result(lake: Lake, table: str, partition: str) -> dict[str, Any]:
    """Return the result that the commit of a partition kept; raises ValueError where nothing is committed."""
    committed = lake.partition(table, partition)
    if committed is None:
        raise ValueError(f"{table} has no partition {partition!r}; materialize it first")
    return _kept_result(lake, committed)


def _give_way(name: str, arguments: Mapping[str, Any], *, seconds: float) -> None:
    """Wait until the newer run has committed, or for so long: it may be dead.

    To begin anew at once would overtake it in turn, and two runs of equal length would do so to each other for ever.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not is_current(name, arguments):
        time.sleep(POLL_SECONDS)


def _load(name: str) -> ModuleType:
    return importlib.import_module(name if "." in name else f"corpusmill.tasks.{name}")


def _execute_once(name: str, task: ModuleType, arguments: Mapping[str, Any], report: Report) -> dict[str, Any]:
    job = _open(task, arguments, report)
    work = _work(task, job)
    committed = job.lake.partition(task.table(job.dataset), job.partition)
    is_same = committed is not None and committed.state.get("work") == work
    again = bool(arguments.get("again")) or (is_same and _is_damaged(task, job))
    job = replace(job, again=again)
    if committed and is_same and not again:
        job.report("nothing changed since the last commit", {"rows": committed.num_rows})
        result = {**_kept_result(job.lake, committed), "reused": True}
    else:
        result = _make(name, task, job, work)
    if hasattr(task, "after_commit"):
        task.after_commit(job)
    return result


def _is_damaged(task: ModuleType, job: Job) -> bool:
    damaged = job.lake.damaged_files(task.table(job.dataset), job.partition)
    told = f"{len(damaged)} committed files are gone or cut: {damaged[0]}" if damaged else _damage(task, job)
    if told:
        job.report(f"{told}; making the partition again", {})
    return bool(told)


def _damage(task: ModuleType, job: Job) -> str | None:
    return str(told) if hasattr(task, "damage") and (told := task.damage(job)) else None


def _open(task: ModuleType, arguments: Mapping[str, Any], report: Report) -> Job:
    settings = Settings.from_json(arguments["settings"])
    table = task.table(arguments["dataset"])

    def report_on_table(message: str, numbers: Mapping[str, Any]) -> None:
        report(f"{table}: {message}", numbers)

    parameters = dict(arguments["parameters"])
    may_fail_whole = bool(parameters.pop(MAY_FAIL_WHOLE, False))
    return Job(
        settings=settings,
        lake=Lake(settings.lake),
        dataset=arguments["dataset"],
        partition=arguments["partition"],
        parameters=parameters,
        schema=task.schema(parameters),
        report=report_on_table,
        may_fail_whole=may_fail_whole,
    )


def _work(task: ModuleType, job: Job) -> str:
    gates = {MAY_FAIL_WHOLE: True} if job.may_fail_whole else {}
    return fingerprint({"task": work_version(task.__name__, job.parameters), "inputs": task.inputs(job), **gates})


def _make(name: str, task: ModuleType, job: Job, work: str) -> dict[str, Any]:
    started = time.monotonic()
    table = task.table(job.dataset)
    attempt = job.lake.begin(table, job.partition, job.schema)
    if job.again:
        _forget_checkpoints(job.lake, attempt)
    outcome: Outcome = task.run(job, attempt)
    outcome.counts.check()
    if name in OF_A_SNAPSHOT and not job.may_fail_whole:
        outcome = replace(outcome, gates={**outcome.gates, "readable": _readable(outcome.counts)})
    if _work(task, job) != work:
        # Nobody knows which version of what changed meanwhile was read: no later run may take this for made.
        work = f"{work}-overtaken"
    seconds = round(time.monotonic() - started, 3)
    result = _result(name, table, job, outcome) | {"work": work, "seconds": seconds, **_cost(job, outcome, seconds)}
    key = f"{report_directory(table, job.partition)}/{attempt.attempt}.json"
    job.lake.store.write(key, json.dumps(result).encode())
    state = {
        **outcome.state,
        "work": work,
        "report": key,
        "counts": outcome.counts.totals(),
        "gate_failures": [f"{gate}: {it.message}" for gate, it in outcome.gates.items() if not it.passed],
    }
    committed = job.lake.commit(attempt, outcome.files, state, replaces_equal=job.again)
    is_empty = outcome.counts.rows_in > 0 == outcome.counts.kept
    numbers = {"rows": committed.num_rows, **outcome.counts.told(), "bytes": committed.num_bytes}
    job.report("committed, and nothing of what came in was kept" if is_empty else "committed", numbers)
    return {**result, **_version(committed), "reused": False}


def _readable(counts: Counts) -> Gate:
    """Return the gate that fails where nothing is kept and more failed than was dropped."""
    if counts.kept or counts.num_failed <= counts.num_dropped:
        return Gate(passed=True, message="held")
    return Gate(
        passed=False,
        message=(
            f"none of {counts.rows_in:,} rows can be read: {counts.told()['failed']}. Mend the source or its settings, or "
            f"let the dataset's module say {MAY_FAIL_WHOLE}=True"
        ),
    )


def _forget_checkpoints(lake: Lake, attempt: Attempt) -> None:
    """Delete what finished shards left in the staging folder; a model's answers, deeper in it, stay."""
    keys = [item.key for item in lake.store.list(f"{attempt.staging}/")]
    lake.store.delete([key for key in keys if "/" not in key.removeprefix(f"{attempt.staging}/")])


def _cost(job: Job, outcome: Outcome, seconds: float) -> dict[str, float]:
    """Return what the work cost, where a price is set: hours of work and of devices, times their prices."""
    prices = job.settings.prices
    if not prices.cpu_hour and not prices.device_hour:
        return {}
    cpu_seconds = float(outcome.metrics.get("work_seconds", seconds))
    device_seconds = float(outcome.metrics.get("device_seconds", 0.0))
    return {"cost": round((cpu_seconds * prices.cpu_hour + device_seconds * prices.device_hour) / 3600, 6)}


def _result(name: str, table: str, job: Job, outcome: Outcome) -> dict[str, Any]:
    return {
        "task": name,
        "table": table,
        "partition": job.partition,
        "counts": outcome.counts.to_json(),
        "metrics": dict(outcome.metrics),
        "tables": {title: [dict(row) for row in rows] for title, rows in outcome.tables.items()},
        "listings": {title: [dict(row) for row in rows] for title, rows in outcome.listings.items()},
        "samples": [dict(row) for row in outcome.samples],
        "gates": {
            title: {"passed": gate.passed, "message": gate.message, "numbers": dict(gate.numbers)}
            for title, gate in outcome.gates.items()
        },
        "columns": [[item.name, str(item.type)] for item in job.schema],
    }


def _version(committed: PartitionState) -> dict[str, Any]:
    return {
        "content_hash": committed.content_hash,
        "fence": committed.fence,
        "num_rows": committed.num_rows,
        "num_bytes": committed.num_bytes,
    }


def _kept_result(lake: Lake, committed: PartitionState) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(lake.store.read(committed.state["report"]))
    return {**kept, **_version(committed)}


def partition_writer(job: Job, attempt: Attempt, *, name: str) -> ShardWriter:
    """Return a writer into the partition, for tasks that need no shards; `name` tells its files apart."""
    return ShardWriter(
        job.lake.store,
        directory=data_directory(attempt.table, attempt.partition),
        name=f"{attempt.attempt}-{name}",
        schema=job.schema,
        partition=attempt.partition,
    )


def truncate_sample(
    rows: pa.Table, *, columns: Sequence[str], num_rows: int = 5, width: int = 240
) -> list[dict[str, Any]]:
    """Return the first rows as dicts with every text cut to `width` characters, for the asset's page."""
    return [
        {name: value[:width] if isinstance(value, str) else value for name, value in row.items()}
        for row in rows.select(list(columns)).slice(0, num_rows).to_pylist()
    ]
