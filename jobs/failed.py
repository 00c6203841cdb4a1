"""What `--failed` runs: partitions whose last attempt failed, and what was never made because of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.asset_graph import UNPARTITIONED, AssetGraph, AssetNode, inputs_of, topological
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


@dataclass(frozen=True, kw_only=True)
class PartitionStates:
    """Partitions of one asset whose last attempt failed, and those that are made."""

    failed: frozenset[str]
    made: frozenset[str]


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
    is_unpartitioned = not graph[key].partition_set
    waits = any(set(work[up]).intersection(inputs_of(graph, key, name, up)) for up in upstream)
    # An asset of all partitions saw those that were there: it has to see the mended ones too.
    return name in states.failed or (waits and (is_unpartitioned or name not in states.made))
