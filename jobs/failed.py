"""What `--failed` runs: partitions whose last attempt failed or was canceled, and what is made from them.

Dagster counts a canceled attempt as none, so the runs themselves are asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jobs.asset_graph import UNPARTITIONED, AssetGraph, AssetNode, inputs_of, topological
from jobs.backfill import PARTITION_TAG, materialized
from jobs.graphql import Instance

STATES = """
query States($key: AssetKeyInput!) {
    assetNodeOrError(assetKey: $key) { ... on AssetNode { assetPartitionStatuses {
        ... on DefaultPartitionStatuses { materializedPartitions failedPartitions }
        ... on MultiPartitionStatuses { primaryDimensionName ranges {
            primaryDimStartKey primaryDimEndKey
            secondaryDim { ... on DefaultPartitionStatuses { materializedPartitions failedPartitions } }
        } }
    } partitionKeysByDimension { name partitionKeys } } }
    assetsLatestInfo(assetKeys: [$key]) { latestMaterialization { runId } latestRun { runId status } }
}
"""


RUNS = """
query Unmade($cursor: String, $limit: Int!) {
    runsOrError(filter: {statuses: [CANCELED, CANCELING, QUEUED, NOT_STARTED, MANAGED, STARTING, STARTED]}, cursor: $cursor,
        limit: $limit) { ... on Runs { results {
            runId status creationTime jobName tags { key value } assetSelection { path }
    } } }
}
"""
JOBS = "{ assetNodes { assetKey { path } jobNames } }"
PAGE = 200


@dataclass(frozen=True, kw_only=True)
class PartitionStates:
    """Partitions of one asset whose last attempt failed or was canceled, and those that are made."""

    failed: frozenset[str]
    made: frozenset[str]


def read_all_states(instance: Instance, graph: AssetGraph, keys: Sequence[str]) -> dict[str, PartitionStates]:
    """Ask for the states of some assets, with the partitions whose last attempt was canceled among the failed ones."""
    states = {key: read_states(instance, graph[key]) for key in keys}
    for key, attempts in _canceled(instance, keys).items():
        known = set(attempts).intersection(graph[key].partitions)
        made_before = sorted(known & states[key].made)
        made_at = materialized(instance, key, made_before) if made_before else {}
        made_since = {name for name, at in made_at.items() if at >= attempts[name]}
        states[key] = replace(states[key], failed=states[key].failed | (known - made_since))
    return states


def _canceled(instance: Instance, keys: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return when each partition's canceled run was launched, of those that no newer run is about to make."""
    wanted = set(keys)
    of_job: dict[str, list[str]] = {}
    for node in instance.ask(JOBS)["assetNodes"]:
        for job in node["jobNames"]:
            of_job.setdefault(job, []).append("/".join(node["assetKey"]["path"]))
    found: dict[str, dict[str, float]] = {}
    seen: set[tuple[str, str]] = set()
    for run in _unmade_runs(instance):
        chosen = ["/".join(key["path"]) for key in run["assetSelection"] or ()] or of_job.get(run["jobName"], [])
        partition = next((tag["value"] for tag in run["tags"] if tag["key"] == PARTITION_TAG), UNPARTITIONED)
        for key in wanted.intersection(chosen):
            if run["status"] == "CANCELED" and (key, partition) not in seen:
                found.setdefault(key, {})[partition] = run["creationTime"]
            seen.add((key, partition))
    return found


def _unmade_runs(instance: Instance) -> Iterator[dict[str, Any]]:
    """Yield the runs that were canceled or have not ended, newest first."""
    cursor = None
    while page := instance.ask(RUNS, cursor=cursor, limit=PAGE)["runsOrError"]["results"]:
        yield from page
        cursor = page[-1]["runId"]


def read_states(instance: Instance, node: AssetNode) -> PartitionStates:
    """Ask for the state of every partition of an asset."""
    answer = instance.ask(STATES, key={"path": node.key.split("/")})
    if not node.partition_set:
        return _unpartitioned(answer["assetsLatestInfo"])
    asset = answer["assetNodeOrError"]
    statuses = asset["assetPartitionStatuses"]
    if "ranges" not in statuses:
        return PartitionStates(
            failed=frozenset(statuses["failedPartitions"]), made=frozenset(statuses["materializedPartitions"])
        )
    dimensions = {one["name"]: one["partitionKeys"] for one in asset["partitionKeysByDimension"]}
    return PartitionStates(
        failed=frozenset(_two_dimensional(statuses, dimensions, "failedPartitions")),
        made=frozenset(_two_dimensional(statuses, dimensions, "materializedPartitions")),
    )


def _unpartitioned(infos: Sequence[Mapping[str, Any]]) -> PartitionStates:
    info = infos[0] if infos else {}
    run, made = info.get("latestRun") or {}, info.get("latestMaterialization")
    return PartitionStates(
        failed=frozenset({UNPARTITIONED} if run.get("status") == "FAILURE" else ()),
        made=frozenset({UNPARTITIONED} if made else ()),
    )


def _two_dimensional(statuses: Mapping[str, Any], dimensions: Mapping[str, list[str]], kind: str) -> Iterator[str]:
    """Yield the keys of one kind. Dagster answers in ranges of the first dimension, each with keys of the second."""
    first = statuses["primaryDimensionName"]
    is_first_in_key = first == min(dimensions)  # a key names its dimensions in the order of their names
    for one in statuses["ranges"]:
        keys = dimensions[first]
        start, end = keys.index(one["primaryDimStartKey"]), keys.index(one["primaryDimEndKey"])
        for outer in keys[start : end + 1]:
            for inner in one["secondaryDim"][kind]:
                yield f"{outer}|{inner}" if is_first_in_key else f"{inner}|{outer}"


def failed_work(
    graph: AssetGraph, keys: Sequence[str], states: Mapping[str, PartitionStates]
) -> dict[str, tuple[str, ...]]:
    """Return the partitions to run again by asset, from the states of all of `keys`."""
    work: dict[str, tuple[str, ...]] = {}
    for key in (key for key in topological(graph) if key in states and key in set(keys)):
        chosen = tuple(name for name in graph[key].partitions if _is_due(graph, key, name, work, states[key]))
        if chosen:
            work[key] = chosen
    return work


def _is_due(
    graph: AssetGraph, key: str, name: str, work: Mapping[str, tuple[str, ...]], states: PartitionStates
) -> bool:
    upstream = [up for up in graph[key].upstream if up in work]
    inputs = [set(work[up]).intersection(inputs_of(graph, key, name, up)) for up in upstream]
    parts = set(name.split("|")) - {UNPARTITIONED}
    # Made already, perhaps of an older input: where that comes out the same, making it again costs nothing. An asset of
    # all partitions saw those that were there, and has to see the mended ones too.
    has_own = any(parts.intersection(one.split("|")) for names in inputs for one in names)
    return name in states.failed or has_own or (any(inputs) and (not parts or name not in states.made))
