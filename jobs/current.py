"""Which partitions of a backfill are current: their runs would find nothing to do.

A partition is current when the lake holds the work that its asset's code, parameters and inputs name, and when nothing that
it reads is to be made before it in the same backfill: what comes of that, nobody knows yet. The tasks are those of the
running instance, the lake and the code are those of this machine.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assets.asset import UNPARTITIONED as WHOLE
from corpusmill.settings import Settings
from corpusmill.tasks.task import is_current
from jobs.asset_graph import UNPARTITIONED, AssetGraph, inputs_of, topological
from jobs.backfill import Work
from jobs.graphql import Instance
from jobs.way import task_arguments

TASKS = """
{ assetNodes { assetKey { path } metadataEntries {
    label ... on TextMetadataEntry { text } ... on JsonMetadataEntry { jsonString }
} } }
"""
MOST_LOOKED_AT = 1000
"""Partitions of an asset; of more it takes minutes to say."""


@dataclass(frozen=True, kw_only=True)
class AssetTask:
    """What makes the partitions of an asset."""

    task: str
    parameters: Mapping[str, Any]


def read_tasks(instance: Instance) -> dict[str, AssetTask]:
    """Ask a running instance for the task behind each asset that has one."""
    found = {}
    for node in instance.ask(TASKS)["assetNodes"]:
        told = {entry["label"]: entry for entry in node["metadataEntries"]}
        if "text" in told.get("task", {}) and "jsonString" in told.get("parameters", {}):
            found["/".join(node["assetKey"]["path"])] = AssetTask(
                task=told["task"]["text"], parameters=json.loads(told["parameters"]["jsonString"])
            )
    return found


def current_partitions(
    graph: AssetGraph, work: Work, tasks: Mapping[str, AssetTask], settings: Settings
) -> dict[str, frozenset[str]]:
    """Return the current partitions of each asset of `work`.

    Missing are assets without a task, those of more than MOST_LOOKED_AT partitions, and those that read them.
    """
    found: dict[str, frozenset[str]] = {}
    for key in (key for key in topological(graph) if key in work):
        upstream = [one for one in graph[key].upstream if one in work]
        if key not in tasks or len(work[key]) > MOST_LOOKED_AT or not found.keys() >= {*upstream}:
            continue
        due = {one: {*work[one]} - found[one] for one in upstream}
        found[key] = frozenset(
            name
            for name in work[key]
            if not _reads_any(graph, key, name, due) and _is_current(key, name, tasks[key], settings)
        )
    return found


def _reads_any(graph: AssetGraph, key: str, name: str, due: Mapping[str, set[str]]) -> bool:
    return any(names and not names.isdisjoint(inputs_of(graph, key, name, one)) for one, names in due.items())


def _is_current(key: str, name: str, made_by: AssetTask, settings: Settings) -> bool:
    partition = WHOLE if name == UNPARTITIONED else name
    try:
        arguments = task_arguments(key.split("/"), partition, made_by.parameters, settings)
        return is_current(made_by.task, arguments)
    except (ValueError, OSError):
        # Its run will say what is missing.
        return False
