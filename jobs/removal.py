"""Removing a partition whose snapshot is gone, or that nobody wants: what goes, what stays, and what saw it.

Tables lose it in their current version; versions that a mixture pins keep it, and files are deleted by `corpusmill maintain`
once no version names them. Payloads of a source are never touched.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from assets.partitions import MIXTURES, dynamic_set, snapshots_name
from corpusmill.lake.partitions import PartitionState
from corpusmill.lake.tables import Lake
from corpusmill.read.folders import snapshot_names
from corpusmill.settings import Settings
from jobs.asset_graph import near, shown, topological
from jobs.development import prepare_home
from jobs.materialize import load_definitions
from jobs.run_step import Say


@dataclass(frozen=True, kw_only=True)
class Node:
    """An asset, as far as removing partitions needs it."""

    upstream: Sequence[str]
    partition_set: str | None
    """The dynamic set that its partitions are, or are a dimension of."""


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What removing one partition of a dynamic set takes away, and what it leaves behind."""

    going: Sequence[PartitionState]
    """Committed partitions of that name, those of each style or language too; what is made from others comes first."""
    pinned: Mapping[str, Sequence[str]]
    """By table, the tags of versions that stay."""
    seen_by: Sequence[str]
    """Committed tables that were made from them and have no such partition themselves."""


def remove(settings: Settings, *, dataset: str, partition: str, is_confirmed: bool, definitions: str, say: Say) -> None:
    """Say what removing a partition of a dataset means, and do it when that is confirmed."""
    os.environ["DAGSTER_HOME"] = str(prepare_home(settings))
    nodes = _nodes(definitions)
    partition_set = _partition_set(dataset, nodes)
    lake = Lake(settings.lake)
    found = plan_removal(lake, nodes, partition_set=partition_set, partition=partition)
    with dg.DagsterInstance.get() as instance:
        known = instance.get_dynamic_partitions(partition_set)
        if partition not in known and not found.going:
            raise ValueError(f"{dataset} has no partition {partition!r}; {near(partition, known)}")
        for line in lines(found, partition=partition, source=_source_of(settings, dataset, partition)):
            say(line)
        if not is_confirmed:
            say("Nothing was removed: the same command with --yes removes it.")
            return
        for state in found.going:
            lake.remove(state.table, state.partition)
        # Last, so that a command that was killed half-way can be given again.
        instance.delete_dynamic_partition(partition_set, partition)
    say("Removed.")


def plan_removal(lake: Lake, nodes: Mapping[str, Node], *, partition_set: str, partition: str) -> Removal:
    """Return what `remove` takes away and leaves behind; nothing is changed."""
    order = topological(nodes)
    owners = [key for key in order if nodes[key].partition_set == partition_set]
    folders = {key.rpartition("/")[0] for key in owners}
    # Tables that are no assets of their own, such as the band tables of signatures, go with those beside them.
    beside = [table for table in lake.tables() if table not in nodes and table.rpartition("/")[0] in folders]
    going = [
        state
        for key in (*beside, *reversed(owners))
        for name, state in lake.partitions(key).items()
        if partition in name.split("|")
    ]
    tables = {state.table for state in going}
    return Removal(
        going=going,
        pinned={table: tags for table in sorted(tables) if (tags := list(lake.tags(table)))},
        seen_by=[
            key
            for key in order
            if key not in owners and tables.intersection(nodes[key].upstream) and lake.partitions(key)
        ],
    )


def lines(removal: Removal, *, partition: str, source: str | None) -> Iterator[str]:
    """Yield what to tell a person before anything is removed."""
    yield f"Goes: the partition {partition}, and of the tables' current versions"
    for state in reversed(removal.going):
        yield f"  {state.table} {state.partition}: {state.num_rows:,} rows, {state.num_bytes / 1e6:,.1f} MB"
    if not removal.going:
        yield "  nothing: none of them has it"
    if source:
        yield (
            f"Stays: the snapshot in {source}; while it lies there, being named, `corpusmill demo` or the sensor for new "
            "snapshots makes it a partition again"
        )
    for table, tags in removal.pinned.items():
        yield f"Stays: versions of {table} that are pinned ({shown(tags)}), with their streams"
    for table in removal.seen_by:
        yield f"Was made from it, make it again: corpusmill backfill --assets {table} --all"
    yield "Files are deleted by `corpusmill maintain` once no version names them."


def _nodes(definitions: str) -> dict[str, Node]:
    graph = load_definitions(definitions).resolve_asset_graph()
    return {
        key.to_user_string(): Node(
            upstream=[up.to_user_string() for up in graph.get(key).parent_keys],
            partition_set=dynamic_set(graph.get(key).partitions_def),
        )
        for key in sorted(graph.materializable_asset_keys)
    }


def _partition_set(dataset: str, nodes: Mapping[str, Node]) -> str:
    """Return the dynamic set of a dataset's snapshots, or of the mixtures; raises ValueError for another name."""
    sets = {node.partition_set for node in nodes.values() if node.partition_set}
    datasets = {name: name if name == MIXTURES.name else name.removesuffix(snapshots_name("")) for name in sets}
    found = [name for name, own in datasets.items() if own == dataset]
    if not found:
        raise ValueError(
            f"no dataset with partitions of its own is named {dataset!r}; {near(dataset, datasets.values())}"
        )
    return found[0]


def _source_of(settings: Settings, dataset: str, partition: str) -> str | None:
    """Return where a snapshot lies, None where it is gone or the dataset has no source."""
    if dataset not in settings.sources:
        return None
    try:
        names = snapshot_names(settings.source_store(dataset))
    except FileNotFoundError:
        return None
    return f"{settings.source(dataset).uri}/{partition}" if partition in names else None
