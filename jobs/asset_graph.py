"""The asset graph as a backfill needs it: who depends on whom, which partitions there are, what runs before what.

Read from a running instance in one question; everything else here is pure.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

from jobs.graphql import Instance

UNPARTITIONED = ""
"""The one partition of an asset that has no partitions."""
BESIDE_THE_WAY = ("trained", "tuning")
"""Stages that no row passes on its way to a mixture: they are made only when they are named."""

GRAPH = """
{ assetNodes {
    assetKey { path } dependencyKeys { path } isMaterializable isPartitioned partitionKeys
    partitionDefinition { name description dimensionTypes { name description dynamicPartitionsDefinitionName } }
} }
"""


@dataclass(frozen=True, kw_only=True)
class AssetNode:
    """One asset of the graph."""

    key: str
    upstream: tuple[str, ...]
    partition_set: str
    """Names the set; assets of one set can be made in one run. Empty for an asset without partitions."""
    partitions: tuple[str, ...]


AssetGraph = Mapping[str, AssetNode]


@dataclass(frozen=True, kw_only=True)
class PartitionRange:
    """The partitions from `first` to `last`, both included, in the order of names."""

    first: str
    last: str

    @classmethod
    def parse(cls, text: str) -> "PartitionRange":
        first, dots, last = text.partition("..")
        if not first or (dots and not last):
            raise ValueError(f"wanted a partition or a range first..last, got {text!r}")
        if dots and last < first:
            raise ValueError(
                f"the range {text!r} is empty: names are in order from first to last; write {last}..{first}"
            )
        return cls(first=first, last=last or first)

    def holds(self, partition: str) -> bool:
        """Whether the partition, or its part in one dimension, lies in the range."""
        return any(self.first <= part <= self.last for part in (partition, *partition.split("|")))


def read_graph(instance: Instance) -> dict[str, AssetNode]:
    """Ask a running instance for the assets that it can materialize."""
    nodes = instance.ask(GRAPH)["assetNodes"]
    graph = {node.key: node for node in map(_node, nodes) if node}
    if not graph:
        raise ValueError(
            f"the instance at {instance.url} shows no assets; its code location may not load. "
            f"See {instance.url}/locations, or the log of the code server"
        )
    return graph


def _node(value: Mapping[str, Any]) -> AssetNode | None:
    if not value["isMaterializable"]:
        return None
    definition = value["partitionDefinition"]
    return AssetNode(
        key="/".join(value["assetKey"]["path"]),
        upstream=tuple("/".join(key["path"]) for key in value["dependencyKeys"]),
        partition_set=_set_name(definition) if definition else "",
        partitions=tuple(value["partitionKeys"]) if value["isPartitioned"] else (UNPARTITIONED,),
    )


def _set_name(definition: Mapping[str, Any]) -> str:
    dimensions = definition["dimensionTypes"]
    names = [
        one["dynamicPartitionsDefinitionName"] or one["description"] or definition["description"] for one in dimensions
    ]
    return " x ".join(f"{one['name']}={name}" for one, name in zip(dimensions, names, strict=True))


def select_assets(graph: Collection[str], patterns: Iterable[str]) -> list[str]:
    """Return the keys that are named, lie in a named folder (`curated/web`) or match a pattern (`curated/*/documents`).

    A pattern that leaves the stage open takes those of the whole way only.
    """
    chosen: dict[str, None] = {}
    for pattern in patterns:
        found = [key for key in graph if _is_meant(key, pattern)]
        if not found:
            folders = {"/".join(key.split("/")[:depth]) for key in graph for depth in (1, 2)}
            raise ValueError(
                f"no asset or folder is named {pattern!r}; {near(pattern, folders.union(graph))} "
                "(`*` stands for any part of a name)"
            )
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _is_meant(key: str, pattern: str) -> bool:
    if key == pattern or key.startswith(f"{pattern}/"):
        return True
    is_open = pattern.startswith("*") and key.split("/")[0] in BESIDE_THE_WAY
    return fnmatchcase(key, pattern) and not is_open


def select_partitions(
    graph: AssetGraph, keys: Sequence[str], ranges: Sequence[PartitionRange] | None
) -> dict[str, tuple[str, ...]]:
    """Return the partitions of every asset that lie in one of `ranges`; None takes all, of the assets that have some.

    A name may be that of a snapshot, which stands for all its styles and languages too. Raises ValueError for a name that
    no asset knows, and for an asset that has none of the partitions.
    """
    if ranges is None:
        work = {key: graph[key].partitions for key in keys if _has_input(graph, key)}
        if not work:
            raise ValueError(
                f"{shown(keys)}: no partitions yet; the sensors in the UI add them, or `corpusmill demo` does"
            )
        return work
    for name in dict.fromkeys(name for one in ranges for name in (one.first, one.last)):
        known = {part for key in keys for full in graph[key].partitions for part in (full, *full.split("|"))}
        if name not in known:
            hint = near(name, known - {UNPARTITIONED}, nothing="there are none yet: the sensors in the UI add them")
            raise ValueError(f"no partition is named {name!r} in {shown(keys)}; {hint}")
    return {key: _in_ranges(graph[key], ranges) for key in keys}


def _has_input(graph: AssetGraph, key: str) -> bool:
    """Whether there is anything to make: an asset that sees all partitions of others needs one of them to be there."""
    node = graph[key]
    if node.partition_set:
        return bool(node.partitions)
    upstream = [up for up in node.upstream if up in graph]
    return not upstream or any(graph[up].partitions for up in upstream)


def _in_ranges(node: AssetNode, ranges: Sequence[PartitionRange]) -> tuple[str, ...]:
    if not node.partition_set:
        return node.partitions
    chosen = tuple(name for name in node.partitions if any(one.holds(name) for one in ranges))
    if not chosen:
        raise ValueError(
            f"{node.key} has none of these partitions; it has {shown(node.partitions) or 'none yet'}. "
            "Name its partitions too, or leave the asset out"
        )
    return chosen


def levels(graph: AssetGraph, keys: Iterable[str]) -> list[list[list[str]]]:
    """Return what runs one after the other: levels of groups of assets that share a partition set.

    An asset stands with its inputs of the same set, so that one run makes them all, and a level behind those of another.
    Groups of one level do not depend on each other. An asset without partitions is a group of its own, as in one run with
    others it would fail when they do.
    """
    wanted = set(keys)
    level: dict[str, int] = {}
    for key in topological(graph):
        after = [
            level[up] + (not graph[key].partition_set or graph[up].partition_set != graph[key].partition_set)
            for up in graph[key].upstream
            if up in level
        ]
        if key in wanted or after:
            level[key] = max(after, default=0)
    groups: dict[tuple[int, str], list[str]] = {}
    for key in level:
        if key in wanted:
            groups.setdefault((level[key], graph[key].partition_set or key), []).append(key)
    numbers = sorted({number for number, _ in groups})
    return [[group for (at, _), group in sorted(groups.items()) if at == number] for number in numbers]


class HasUpstream(Protocol):
    """An asset of any graph."""

    @property
    def upstream(self) -> Sequence[str]: ...


def topological(graph: Mapping[str, HasUpstream]) -> list[str]:
    """Return the keys so that each stands after what it depends on."""
    order: dict[str, None] = {}

    def visit(key: str) -> None:
        if key in graph and key not in order:
            for up in graph[key].upstream:
                visit(up)
            order[key] = None

    for key in sorted(graph):
        visit(key)
    return list(order)


def inputs_of(graph: AssetGraph, key: str, partition: str, upstream: str) -> tuple[str, ...]:
    """Return the partitions of `upstream` that a partition reads: those that share a part of its name, else all."""
    parts = set(partition.split("|"))
    shared = tuple(name for name in graph[upstream].partitions if parts & set(name.split("|")) - {UNPARTITIONED})
    return shared or graph[upstream].partitions


def near(name: str, known: Iterable[str], *, nothing: str = "there are none") -> str:
    """Return a clause that says which known names are like `name`."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.9)
    close = close or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known are {shown(names)}" if names else nothing


def shown(names: Sequence[str], most: int = 8) -> str:
    """Return names for a message: the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
