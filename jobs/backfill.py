"""The backfill command: real asset backfills through a running instance, level by level, followed to the end.

Dagster's own backfill stops everything below an asset that sees all partitions as soon as one partition fails. Here a
partition that failed holds back only what is made from it; an asset of all partitions runs with those that are there.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jobs.asset_graph import UNPARTITIONED, AssetGraph, inputs_of, levels, shown
from jobs.graphql import Instance

POLL_SECONDS = 1.0
DAEMON_SECONDS = 60.0
"""How long to wait for the backfill daemon's first heartbeat."""
ENDED = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}
RUN_GOES_ON = {"QUEUED", "NOT_STARTED", "MANAGED", "STARTING", "STARTED", "CANCELING"}
PAGE = 500
"""Partitions of one asset in one question."""
PARTITION_TAG = "dagster/partition"
EXCEPTION_NAME = re.compile(r"^[\w.]*(Error|Exception|Failure): ")

DAEMON = '{ instance { daemonHealth { daemonStatus(daemonType: "BACKFILL") { healthy } } } }'
LAUNCH = """
mutation Launch($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on Error { message }
} }
"""
PROGRESS = """
query Progress($id: String!) { partitionBackfillOrError(backfillId: $id) {
    __typename ... on Error { message }
    ... on PartitionBackfill {
        status timestamp error { message }
        runs { id status creationTime tags { key value } }
        assetBackfillData { assetBackfillStatuses {
            ... on AssetPartitionsStatusCounts { assetKey { path } numPartitionsMaterialized numPartitionsFailed }
            ... on UnpartitionedAssetStatus { assetKey { path } materialized failed }
        } }
    }
} }
"""
MADE = """
query Made($key: AssetKeyInput!, $partitions: [String!]) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    latestMaterializationByPartition(partitions: $partitions) { partition timestamp }
    assetMaterializations(limit: 1) { partition timestamp }
} } }
"""
ERRORS = """
query Errors($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events {
    ... on ExecutionStepFailureEvent { stepKey error { message errorChain { error { message } } } }
    ... on AssetCheckEvaluationEvent { stepKey evaluation { success description } }
} } } }
"""

Work = Mapping[str, tuple[str, ...]]
"""Partitions by asset; UNPARTITIONED stands for the one of an asset without partitions."""
Show = Callable[[int, int, int], None]
"""Called with the number of a level and how many of its partitions are made, and are lost (failed or not run)."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A partition of an asset that a backfill did not make, and why."""

    asset: str
    partition: str
    reason: str
    cause: str
    """The asset that failed: this one, or one before it in the same run."""
    run_id: str | None = None
    was_canceled: bool = False
    """Whether nothing was wrong but that somebody ended the run."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a backfill."""

    made: Work = field(default_factory=dict)
    failures: Sequence[Failure] = ()
    held_back: Work = field(default_factory=dict)
    """Not launched because an input was not made."""

    def numbers(self) -> dict[str, int]:
        """Return how many partitions of assets ended in which way; each counts once."""
        canceled = sum(one.was_canceled for one in self.failures)
        failed = sum(one.cause == one.asset and not one.was_canceled for one in self.failures)
        return {
            "done": _size(self.made),
            "failed": failed,
            "canceled": canceled,
            "not run because an input was not made": _size(self.held_back) + len(self.failures) - failed - canceled,
        }


def run_backfill(instance: Instance, graph: AssetGraph, work: Work, *, show: Show) -> Outcome:
    """Launch `work` level by level and follow it to the end."""
    wait_for_daemon(instance)
    bad: dict[str, set[str]] = {}
    made: dict[str, tuple[str, ...]] = {}
    held: dict[str, tuple[str, ...]] = {}
    failures: list[Failure] = []
    for number, groups in enumerate(levels(graph, work)):
        keys = [key for group in groups for key in group]
        held |= {key: held_partitions(graph, work, key, bad) for key in keys}
        bad |= {key: set(held[key]) for key in keys}
        due = [{key: _without(work[key], bad[key]) for key in group} for group in groups]
        due = [{key: names for key, names in ready.items() if names} for ready in due]
        launched = [(launch(instance, graph, ready), ready) for ready in due if ready]
        num_held = sum(len(held[key]) for key in keys)
        for failure in follow(instance, launched, show=partial(_show_level, show, number, num_held)):
            failures.append(failure)
            bad[failure.asset].add(failure.partition)
        made |= {key: _without(names, bad[key]) for _, ready in launched for key, names in ready.items()}
    return Outcome(made=made, failures=failures, held_back={key: names for key, names in held.items() if names})


def held_partitions(graph: AssetGraph, work: Work, key: str, bad: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Return the partitions of `key` that a failed input holds back: one of their own name, or all there are."""

    def is_held(partition: str, upstream: str) -> bool:
        failed = bad.get(upstream) or set()
        inputs = inputs_of(graph, key, partition, upstream)
        has_own = len(inputs) < len(graph[upstream].partitions) or set(inputs) == {partition}
        return bool(failed) and (failed.issuperset(inputs) or (has_own and bool(failed.intersection(inputs))))

    inputs_in_work = [upstream for upstream in graph[key].upstream if upstream in work]
    return tuple(name for name in work[key] if any(is_held(name, upstream) for upstream in inputs_in_work))


def wait_for_daemon(instance: Instance) -> None:
    """Raise ValueError when no daemon will ever pick the backfill up."""
    deadline = time.monotonic() + DAEMON_SECONDS
    while not instance.ask(DAEMON)["instance"]["daemonHealth"]["daemonStatus"]["healthy"]:
        if time.monotonic() > deadline:
            raise ValueError(
                f"no Dagster daemon gave a sign of life to {instance.url} in {DAEMON_SECONDS:.0f} s, and without it a "
                "backfill would wait for ever. `corpusmill dev` starts one beside the UI"
            )
        time.sleep(POLL_SECONDS)


def launch(instance: Instance, graph: AssetGraph, ready: Work) -> str:
    """Launch one group of assets and return the id of the backfill."""
    params = {
        "partitionsByAssets": [
            {
                "assetKey": {"path": key.split("/")},
                "partitions": None if UNPARTITIONED in names else {"ranges": _ranges(graph[key].partitions, names)},
            }
            for key, names in ready.items()
        ],
        "tags": [{"key": "corpusmill/backfill", "value": "command"}],
        "title": _title(ready),
    }
    answer = instance.change(LAUNCH, field="launchPartitionBackfill", success="LaunchBackfillSuccess", params=params)
    return str(answer["backfillId"])


def _show_level(show: Show, level: int, num_held: int, num_made: int, num_failed: int) -> None:
    show(level, num_made, num_failed + num_held)


def _without(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    left_out = set(others)
    return tuple(name for name in names if name not in left_out)


def _title(ready: Work) -> str:
    partitions = {name for names in ready.values() for name in names}
    return f"{shown(list(ready), most=3)} ({len(partitions)} partitions)"


def _ranges(known: Sequence[str], names: Iterable[str]) -> list[dict[str, str]]:
    """Return `names` as ranges of neighbours in the set's own order; of a two-dimensional set each one alone."""
    place = {name: number for number, name in enumerate(known)}
    ranges: list[list[str]] = []
    for name in sorted(names, key=place.__getitem__):
        if ranges and "|" not in name and place[name] == place[ranges[-1][1]] + 1:
            ranges[-1][1] = name
        else:
            ranges.append([name, name])
    return [{"start": start, "end": end} for start, end in ranges]


def follow(
    instance: Instance, launched: Sequence[tuple[str, Work]], *, show: Callable[[int, int], None]
) -> list[Failure]:
    """Poll the backfills of one level until they ended and all their runs too; return what they did not make."""
    waiting = dict(launched)
    counts: dict[str, tuple[int, int]] = {}
    failures: list[Failure] = []
    while waiting:
        for backfill_id, ready in list(waiting.items()):
            state = _progress(instance, backfill_id)
            counts[backfill_id] = _counts(state)
            # Complete does not mean over: a run that failed may still be started again.
            if state["status"] in ENDED and not any(run["status"] in RUN_GOES_ON for run in state["runs"]):
                failures += verify(instance, state, ready)
                del waiting[backfill_id]
        show(sum(made for made, _ in counts.values()), sum(failed for _, failed in counts.values()))
        if waiting:
            time.sleep(POLL_SECONDS)
    return failures


def _progress(instance: Instance, backfill_id: str) -> dict[str, Any]:
    state: dict[str, Any] = instance.ask(PROGRESS, id=backfill_id)["partitionBackfillOrError"]
    if state["__typename"] != "PartitionBackfill":
        raise ValueError(f"backfill {backfill_id} cannot be read: {state['message']}")
    return state


def _counts(state: Mapping[str, Any]) -> tuple[int, int]:
    statuses = (state["assetBackfillData"] or {}).get("assetBackfillStatuses", [])
    made = sum(one.get("numPartitionsMaterialized", one.get("materialized", 0)) for one in statuses)
    return made, sum(one.get("numPartitionsFailed", one.get("failed", 0)) for one in statuses)


def verify(instance: Instance, state: Mapping[str, Any], ready: Work) -> list[Failure]:
    """Return what an ended backfill did not make, judged by the partitions themselves and by the last run of each.

    An asset can fail although it was written: a check that blocks did not pass. And it can be made in a run that failed:
    another asset did.
    """
    latest: dict[str, dict[str, Any]] = {}
    for run in sorted(state["runs"], key=lambda run: run["creationTime"]):
        latest[_tag(run, PARTITION_TAG) or UNPARTITIONED] = run
    errors = {run["id"]: step_errors(instance, run["id"]) for run in latest.values() if run["status"] == "FAILURE"}
    failures = []
    for key, names in ready.items():
        made = {name for name, at in materialized(instance, key, names).items() if at >= state["timestamp"]}
        for name in names:
            run = latest.get(name, {})
            found = errors.get(run.get("id", ""), {})
            if name not in made or key in found:
                cause, reason = _reason(key, run, found, state)
                canceled = run.get("status") == "CANCELED"
                failures.append(
                    Failure(
                        asset=key,
                        partition=name,
                        reason=reason,
                        cause=cause,
                        run_id=run.get("id"),
                        was_canceled=canceled,
                    )
                )
    return failures


def step_errors(instance: Instance, run_id: str) -> dict[str, str]:
    """Return the message of each asset whose step failed in a run, without the name of an exception's class.

    Of a step that only a check stopped it is what the check says.
    """
    events = [event for event in instance.ask(ERRORS, id=run_id)["logsForRun"].get("events", []) if event]
    failed = [event for event in events if not event.get("evaluation", {"success": True})["success"]]
    told = {event["stepKey"]: event["evaluation"]["description"] for event in failed}
    errors = {}
    for event in (event for event in events if "error" in event):
        error, key = event["error"], event["stepKey"]
        innermost = [error["message"], *(one["error"]["message"] for one in error["errorChain"])][-1]
        errors[key.replace("__", "/")] = told.get(key) or EXCEPTION_NAME.sub("", innermost.strip())
    return errors


def materialized(instance: Instance, key: str, names: Sequence[str]) -> dict[str, float]:
    """Return when each partition of an asset was last materialized, in seconds; those that never were are missing."""
    path = {"path": key.split("/")}
    if UNPARTITIONED in names:
        events = instance.ask(MADE, key=path, partitions=[])["assetNodeOrError"]["assetMaterializations"]
        return {UNPARTITIONED: float(events[0]["timestamp"]) / 1000} if events else {}
    times: dict[str, float] = {}
    for start in range(0, len(names), PAGE):
        answer = instance.ask(MADE, key=path, partitions=list(names[start : start + PAGE]))["assetNodeOrError"]
        found = [event for event in answer["latestMaterializationByPartition"] if event]
        times |= {event["partition"]: float(event["timestamp"]) / 1000 for event in found}
    return times


def _reason(
    key: str, run: Mapping[str, Any], errors: Mapping[str, str], backfill: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the asset because of which `key` was not made in a run, and why; without a run the backfill knows."""
    if key in errors:
        return key, errors[key]
    if errors:
        return next(iter(errors.items()))
    if run.get("status") == "CANCELED":
        return key, "the run was canceled"
    if run.get("status") == "FAILURE":
        return key, "its run failed outside any step"
    return key, (backfill["error"] or {}).get("message") or "no run made it"


def _size(work: Work) -> int:
    return sum(len(names) for names in work.values())


def _tag(run: Mapping[str, Any], key: str) -> str | None:
    return next((tag["value"] for tag in run["tags"] if tag["key"] == key), None)
