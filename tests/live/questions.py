"""What the tests ask a running instance about its partitions, checks, runs, sensors and schedules."""

from typing import Any

from jobs.asset_graph import read_graph
from jobs.failed import read_states
from jobs.graphql import Instance

REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": "corpusmill"}
METADATA = """
query Metadata($key: AssetKeyInput!, $partitions: [String!]) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    latestMaterializationByPartition(partitions: $partitions) { metadataEntries {
        label ... on IntMetadataEntry { intValue } ... on FloatMetadataEntry { floatValue }
        ... on BoolMetadataEntry { boolValue } ... on MarkdownMetadataEntry { mdStr }
    } }
} } }
"""
CHECKS = """
query Checks($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
    assetChecksOrError { ... on AssetChecks { checks {
        name partitionStatuses { ... on AssetCheckDefaultPartitionStatuses {
            succeededPartitions failedPartitions skippedPartitions
        } }
    } } }
} } }
"""
RUNS = """
query Runs($partition: String!) { runsOrError(filter: {tags: [{key: "dagster/partition", value: $partition}]}) {
    ... on Runs { results { id status jobName endTime tags { key value } } }
} }
"""
START_SENSOR = """
mutation Start($selector: SensorSelector!) { startSensor(sensorSelector: $selector) {
    __typename ... on PythonError { message }
} }
"""
START_SCHEDULE = """
mutation Start($selector: ScheduleSelector!) { startSchedule(scheduleSelector: $selector) {
    __typename ... on PythonError { message }
} }
"""
TICKS = """
query Ticks($selector: SensorSelector!) { sensorOrError(sensorSelector: $selector) { ... on Sensor {
    sensorState { ticks(limit: 20) { status timestamp endTimestamp skipReason error { message } } }
} } }
"""


def made(instance: Instance, *assets: str) -> dict[str, set[str]]:
    """Return the partitions that each asset has."""
    graph = read_graph(instance)
    return {key: set(read_states(instance, graph[key]).made) for key in assets}


def metadata(instance: Instance, asset: str, partition: str) -> dict[str, Any]:
    """Return the metadata of an asset's partition by label."""
    node = instance.ask(METADATA, key={"path": asset.split("/")}, partitions=[partition])["assetNodeOrError"]
    (event,) = node["latestMaterializationByPartition"]
    return {
        entry["label"]: next((value for name, value in entry.items() if name != "label"), None)
        for entry in event["metadataEntries"]
    }


def check_partitions(instance: Instance, asset: str) -> dict[str, dict[str, list[str]]]:
    """Return the partitions of each check of an asset, by what came of them."""
    checks = instance.ask(CHECKS, key={"path": asset.split("/")})["assetNodeOrError"]["assetChecksOrError"]["checks"]
    return {check["name"]: check["partitionStatuses"] for check in checks}


def runs_of(instance: Instance, partition: str) -> list[dict[str, Any]]:
    """Return the runs of a partition, newest first, with their tags as a dict."""
    runs = instance.ask(RUNS, partition=partition)["runsOrError"]["results"]
    return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in runs]


def statuses(instance: Instance, partition: str) -> list[str]:
    return [run["status"] for run in runs_of(instance, partition)]


def start_sensor(instance: Instance, name: str) -> None:
    instance.change(START_SENSOR, field="startSensor", success="Sensor", selector={**REPOSITORY, "sensorName": name})


def start_schedule(instance: Instance, name: str) -> None:
    selector = {**REPOSITORY, "scheduleName": name}
    instance.change(START_SCHEDULE, field="startSchedule", success="ScheduleStateResult", selector=selector)


def sensor_ticks(instance: Instance, name: str) -> list[dict[str, Any]]:
    """Return the latest ticks of a sensor, newest first."""
    answer = instance.ask(TICKS, selector={**REPOSITORY, "sensorName": name})
    ticks: list[dict[str, Any]] = answer["sensorOrError"]["sensorState"]["ticks"]
    return ticks
