"""What Dagster's event log quotes of tables: taken out of it, so that what was erased in the lake is not read there.

A materialization's metadata shows samples and listings of rows. They go from all events of the runs that made a partition, with
what the log keeps beside them; numbers, plots and the events themselves stay. The databases are then compacted, because freed
pages keep their bytes. Repeating it changes nothing.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from typing import Any

import dagster as dg
import sqlalchemy as sa
from dagster._core.instance import RUNLESS_RUN_ID
from dagster._core.storage.event_log.schema import AssetKeyTable, SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage

from corpusmill.settings import Settings
from jobs.development import dagster_home, prepare_home

_EVENTS, _ASSETS = SqlEventLogStorageTable.c, AssetKeyTable.c
_SAMPLE = "sample"
_BATCH = 500
_LOCK_SECONDS = 30.0

Place = tuple[str, str]
"""Table and partition."""


def erase_quotes(settings: Settings, places: Collection[Place], *, is_dry: bool = False) -> int:
    """Take what the events of these partitions quote out of the log; return how many events and asset entries that are."""
    if not dagster_home(settings).is_dir():
        return 0
    os.environ["DAGSTER_HOME"] = str(prepare_home(settings))
    with dg.DagsterInstance.get() as instance:
        storage = instance.event_log_storage
        if not isinstance(storage, SqlEventLogStorage):
            raise ValueError(
                f"wanted an event log in SQLite or Postgres, got {type(storage).__name__}: take samples of what was erased out "
                "of it by hand"
            )
        by_asset: dict[str, set[str | None]] = {}
        for table, partition in places:
            # An asset without partitions has events without one.
            by_asset.setdefault(dg.AssetKey(table.split("/")).to_string(), {None}).add(partition)
        runs = _runs(storage, by_asset)
        count = _quiet_index(storage, by_asset, is_dry=is_dry)
        count += sum(_quiet_run(storage, run_id, by_asset, is_dry=is_dry) for run_id in runs)
        if not is_dry:
            _compact(storage, runs)
    return count


def _runs(storage: SqlEventLogStorage, by_asset: dict[str, set[str | None]]) -> list[str]:
    """Return the runs that have events of these partitions."""
    columns = [_EVENTS.run_id, _EVENTS.asset_key, _EVENTS.partition]
    with storage.index_connection() as connection:
        found = [
            connection.execute(sa.select(*columns).where(_EVENTS.asset_key.in_(assets)).distinct()).fetchall()
            for assets in _batches(sorted(by_asset))
        ]
    return sorted(
        {run for rows in found for run, asset, partition in rows if run is not None and partition in by_asset[asset]}
    )


def _quiet_index(storage: SqlEventLogStorage, by_asset: dict[str, set[str | None]], *, is_dry: bool) -> int:
    """Quiet the events that are kept across runs, and each asset's last one."""
    count = 0
    with storage.index_connection() as connection:
        for assets in _batches(sorted(by_asset)):
            events = sa.select(_EVENTS.id, _EVENTS.event, _EVENTS.asset_key, _EVENTS.partition)
            rows = connection.execute(events.where(_EVENTS.asset_key.in_(assets))).fetchall()
            ours = [(number, event) for number, event, asset, partition in rows if partition in by_asset[asset]]
            count += _write(connection, SqlEventLogStorageTable, "event", ours, is_dry=is_dry)
            last = sa.select(_ASSETS.id, _ASSETS.last_materialization).where(_ASSETS.asset_key.in_(assets))
            count += _write(
                connection, AssetKeyTable, "last_materialization", connection.execute(last).fetchall(), is_dry=is_dry
            )
    return count


def _quiet_run(storage: SqlEventLogStorage, run_id: str, by_asset: dict[str, set[str | None]], *, is_dry: bool) -> int:
    """Quiet all events of a run: the output of a step quotes what its materialization does. Of what no run made, only ours."""
    columns = (_EVENTS.id, _EVENTS.event, _EVENTS.asset_key, _EVENTS.partition)
    with storage.run_connection(run_id) as connection:
        rows = connection.execute(sa.select(*columns).where(_EVENTS.run_id == run_id)).fetchall()
        ours = [
            (number, event)
            for number, event, asset, partition in rows
            if run_id != RUNLESS_RUN_ID or partition in by_asset.get(asset, ())
        ]
        return _write(connection, SqlEventLogStorageTable, "event", ours, is_dry=is_dry)


def _write(connection: Any, table: sa.Table, column: str, rows: Sequence[Any], *, is_dry: bool) -> int:
    """Write back the spelled events that quote something, without it; return how many those are."""
    count = 0
    for number, spelled in rows:
        event = json.loads(spelled) if spelled else None
        quiet = _quiet(event)
        if quiet != event:
            count += 1
            if not is_dry:
                connection.execute(table.update().where(table.c.id == number).values({column: json.dumps(quiet)}))
    return count


def _quiet(value: Any) -> Any:
    """Return an event, as JSON spells it, with its samples and tables empty."""
    if isinstance(value, list):
        return [_quiet(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("__class__") == "TableMetadataEntryData":
        return {**value, "records": []}
    if value.get("__class__") == "EventMetadataEntry" and value["label"] == _SAMPLE:
        return {**value, "entry_data": {**value["entry_data"], "md_str": ""}}
    return {name: _quiet(one) for name, one in value.items()}


def _compact(storage: SqlEventLogStorage, runs: Sequence[str]) -> None:
    """Give freed pages back: what was overwritten stays readable in them."""
    if isinstance(storage, SqliteEventLogStorage):
        for shard in (INDEX_SHARD_NAME, *runs):
            _compact_file(storage.path_for_shard(shard))
        return
    with storage.index_connection() as connection:
        for table in (SqlEventLogStorageTable, AssetKeyTable):
            connection.execute(sa.text(f"VACUUM FULL {table.name}"))


def _compact_file(path: str) -> None:
    try:
        with closing(sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)) as database:
            database.execute("VACUUM")
            busy, *_ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        raise ValueError(f"{path} cannot be compacted ({error}): end `corpusmill dev`, then erase again") from error
    if busy:
        raise ValueError(f"{path} is in use, so old bytes stay beside it: end `corpusmill dev`, then erase again")


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (names[start : start + _BATCH] for start in range(0, len(names), _BATCH))
