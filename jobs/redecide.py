"""What changed thresholds would do to the verdicts of a dataset, before anything is written."""

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg
from rich.console import Console
from rich.table import Table

from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from jobs.asset_graph import near
from jobs.materialize import load_definitions

KEPT = "kept"


def print_preview(
    settings: Settings, *, table: str, partition: str | None, rules: Mapping[str, Any], definitions: str
) -> None:
    """Print, for every committed partition or one, what the asset's own rules with `rules` on top would change."""
    from corpusmill.tasks.redecide import preview

    parameters = _parameters(table, definitions)
    wanted = {**parameters, "rules": {**parameters.get("rules", {}), **rules}}
    lake = Lake(settings.lake)
    summary = Table("partition", "documents", "kept now", "kept then", box=None)
    moves = Table("partition", "now", "then", "documents", box=None)
    for name in _partitions(lake, table, partition):
        state = lake.partition(table, name)
        assert state is not None
        found = preview(lake, table.split("/")[1], name, judged_with=state.state["parameters"], parameters=wanted)
        summary.add_row(name, f"{found.documents:,}", f"{found.kept_before:,}", f"{found.kept_after:,}")
        for row in found.changes.to_pylist():
            moves.add_row(name, row["before"] or KEPT, row["after"] or KEPT, f"{row['documents']:,}")
    console = Console(width=120)
    console.print(summary)
    console.print(moves if moves.row_count else "No document would change.")


def rules_from_json(spelled: str) -> dict[str, Any]:
    """Return the rules that a JSON object spells; raises ValueError for anything else."""
    try:
        value = json.loads(spelled)
    except ValueError as error:
        raise ValueError(f"--rules must be a JSON object such as '{{\"min_words\": 40}}', got {spelled!r}") from error
    if not isinstance(value, dict):
        raise ValueError(f"--rules must be a JSON object such as '{{\"min_words\": 40}}', got {spelled!r}")
    return value


def _parameters(table: str, definitions: str) -> dict[str, Any]:
    graph = load_definitions(definitions).resolve_asset_graph()
    known = {key.to_user_string(): key for key in graph.materializable_asset_keys if key.path[-1] == "verdicts"}
    if table not in known:
        raise ValueError(f"no verdicts are named {table!r}; {near(table, list(known))}")
    value = graph.get(known[table]).metadata["parameters"]
    assert isinstance(value, dg.JsonMetadataValue) and isinstance(value.data, dict)
    return dict(value.data)


def _partitions(lake: Lake, table: str, partition: str | None) -> list[str]:
    lake.require()
    committed = list(lake.partitions(table))
    if partition is None:
        if not committed:
            raise ValueError(f"{table} has no partition yet; materialize it first")
        return committed
    if partition not in committed:
        raise ValueError(f"{table} has no partition {partition!r}; {near(partition, committed)}")
    return [partition]
