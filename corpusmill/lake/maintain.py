"""Retention: expiring old versions, and deleting files that no version needs.

A file goes only when it is older than the orphan age and no kept version of any table names it, a report when no
partition's state does. Work that might still
commit it is shut out first: checkpoints that name it are deleted, then the partition's fence is raised, and only then
the versions are read once more. A partition with an attempt younger than the orphan age is left alone.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from corpusmill.lake.catalog import list_tables, load_table
from corpusmill.lake.commits import publish_attempt, remove_snapshots, retry_until_landed
from corpusmill.lake.local_backend import TEMPORARY
from corpusmill.lake.manifests import list_manifests, read_manifests
from corpusmill.lake.names import data_directory, report_directory, staging_directory
from corpusmill.lake.partitions import Attempt, attempted_partitions, partition_state, partition_states, published_fence
from corpusmill.lake.store import Store, StoredObject

_DELETE_BATCH = 1000
_ENDED = "maintenance"
MIN_ORPHAN_AGE_DAYS = 1 / 24
"""An hour: nothing names the files of a run before its commit, so a shorter age would end runs that have just begun."""
MAX_DAYS = 36_500
"""A hundred years: no lake is older, and no date overflows."""


@dataclass(frozen=True, kw_only=True)
class MaintenanceReport:
    """What one pass of maintenance removed."""

    snapshots_expired: int = 0
    attempts_ended: int = 0
    files_deleted: int = 0
    bytes_deleted: int = 0

    def to_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class _Pass:
    catalog: Catalog
    store: Store
    orphan_before: datetime
    now: datetime
    tables: list[str] = field(default_factory=list)


def maintain(
    catalog: Catalog, store: Store, *, keep_snapshots_days: float, orphan_age_days: float, now: datetime
) -> MaintenanceReport:
    """Expire versions older than `keep_snapshots_days` that no tag or branch names, then delete old unneeded files.

    `now` needs a time zone. The orphan age must exceed the longest run: nothing names a run's files before its commit.
    """
    is_possible = 0 <= keep_snapshots_days <= MAX_DAYS and MIN_ORPHAN_AGE_DAYS <= orphan_age_days <= MAX_DAYS
    if not is_possible or now.tzinfo is None:
        raise ValueError(
            f"maintenance needs keep_snapshots_days of 0 or more, orphan_age_days of {MIN_ORPHAN_AGE_DAYS:.3f} (an hour) or "
            f"more, both at most {MAX_DAYS:,}, and a `now` with time zone, got {keep_snapshots_days}, {orphan_age_days} and "
            f"{now}; give an orphan age above the longest run"
        )
    tables = list_tables(catalog)
    expired = sum(_expire(catalog, table, now - timedelta(days=keep_snapshots_days)) for table in tables)
    orphan_before = now - timedelta(days=orphan_age_days)
    work = _Pass(catalog=catalog, store=store, orphan_before=orphan_before, now=now, tables=tables)
    report = _delete_orphans(work)
    return MaintenanceReport(**{**report.to_json(), "snapshots_expired": expired})


def clear_partitions(
    catalog: Catalog, store: Store, partitions: Iterable[tuple[str, str]], *, now: datetime, is_dry: bool = False
) -> MaintenanceReport:
    """Delete, however young, what unfinished or older work left of some partitions, given as table and name.

    Attempts at work on them end. What is kept deeper in their staging folders stays: a model's answers, and decisions. So does
    what is being written meanwhile, unless it is older than an hour.
    """
    wanted = sorted({*partitions})
    # However young an attempt is, it ends.
    tomorrow = now + timedelta(days=1)
    work = _Pass(
        catalog=catalog, store=store, orphan_before=tomorrow, now=now, tables=sorted({table for table, _ in wanted})
    )
    listed = [item for table, name in wanted for item in _left_behind(store, table, name)]
    hour_ago = now - timedelta(days=MIN_ORPHAN_AGE_DAYS)
    listed += [item for item in store.list(f"{TEMPORARY}/") if item.modified < hour_ago]
    loaded = {table: load_table(catalog, table) for table in work.tables}
    opened = [(table, name) for table, name in wanted if _is_open(loaded[table], table, name)]
    for table, name in opened if not is_dry else ():
        staging = f"{staging_directory(table, name)}/"
        _raise_fence(work, table, name, checkpoints=[item.key for item in listed if item.key.startswith(staging)])
    # An attempt that was ended may have committed just before.
    needed = _needed(work)
    orphans = [item for item in listed if item.key not in needed]
    if not is_dry:
        for start in range(0, len(orphans), _DELETE_BATCH):
            store.delete(item.key for item in orphans[start : start + _DELETE_BATCH])
    return MaintenanceReport(
        attempts_ended=len(opened), files_deleted=len(orphans), bytes_deleted=sum(item.size for item in orphans)
    )


def _left_behind(store: Store, table: str, partition: str) -> Iterable[StoredObject]:
    """Yield the objects of a partition that may be left over."""
    yield from store.list(f"{data_directory(table, partition)}/")
    yield from store.list(f"{report_directory(table, partition)}/")
    staging = f"{staging_directory(table, partition)}/"
    yield from (item for item in store.list(staging) if "/" not in item.key.removeprefix(staging))


def _is_open(table: Table, name: str, partition: str) -> bool:
    """Return whether the newest attempt at a partition has neither committed nor been ended."""
    newest = published_fence(table.properties, partition)
    state = partition_state(name, table.properties, partition)
    if newest is None or newest["attempt"].startswith(_ENDED):
        return False
    return state is None or newest["attempt"] != state.attempt


def _expire(catalog: Catalog, name: str, keep_after: datetime) -> int:
    def expire_once() -> int:
        table = load_table(catalog, name)
        named = {ref.snapshot_id for ref in table.metadata.refs.values()}
        limit = keep_after.timestamp() * 1000
        old = [
            item.snapshot_id
            for item in table.snapshots()
            if item.timestamp_ms < limit and item.snapshot_id not in named
        ]
        if old:
            remove_snapshots(catalog, table, old)
        return len(old)

    return retry_until_landed(expire_once, what=f"the expiry of versions of {name}")


def _delete_orphans(work: _Pass) -> MaintenanceReport:
    needed = _needed(work)
    candidates = [
        item
        for prefix in ("data/", "staging/", "reports/", "tables/", f"{TEMPORARY}/")
        for item in work.store.list(prefix)
        if item.modified < work.orphan_before and item.key not in needed
    ]
    spared, num_ended = _shut_out(work, candidates)
    # An attempt that was shut out may have committed just before: read the versions once more.
    needed |= _needed(work)
    orphans = [item for item in candidates if item.key not in needed and _folder(item.key) not in spared]
    for start in range(0, len(orphans), _DELETE_BATCH):
        work.store.delete(item.key for item in orphans[start : start + _DELETE_BATCH])
    return MaintenanceReport(
        attempts_ended=num_ended, files_deleted=len(orphans), bytes_deleted=sum(item.size for item in orphans)
    )


def _needed(work: _Pass) -> set[str]:
    """Return the keys of all files that some version of some table names."""
    tables = {name: load_table(work.catalog, name) for name in work.tables}
    files = {work.store.key(location) for table in tables.values() for location in _locations(table)}
    states = [state for name, table in tables.items() for state in partition_states(name, table.properties).values()]
    return files | {key for state in states for key in state.objects}


def _locations(table: Table) -> Iterable[str]:
    yield table.metadata_location
    yield from (entry.metadata_file for entry in table.metadata.metadata_log)
    manifests = {}
    for snapshot in table.snapshots():
        yield snapshot.manifest_list
        manifests.update({item.manifest_path: item for item in list_manifests(table.io, snapshot)})
    yield from manifests
    yield from (file.path for file in read_manifests(table.io, list(manifests.values()), None))


def _shut_out(work: _Pass, candidates: list[StoredObject]) -> tuple[set[str], int]:
    """Raise the fence of every partition that has candidates; return the folders of those with young attempts."""
    folders = {_folder(item.key) for item in candidates if not item.key.startswith(("tables/", TEMPORARY))}
    checkpoints: dict[str, list[str]] = {}
    for item in candidates:
        if item.key.startswith("staging/"):
            checkpoints.setdefault(_folder(item.key), []).append(item.key)
    spared: set[str] = set()
    num_ended = 0
    for table in work.tables:
        for partition in attempted_partitions(load_table(work.catalog, table).properties):
            staging = staging_directory(table, partition)
            own = {data_directory(table, partition), staging, report_directory(table, partition)}
            if not folders & own:
                continue
            if _raise_fence(work, table, partition, checkpoints=checkpoints.get(staging, [])):
                num_ended += 1
            else:
                spared |= own
    return spared, num_ended


def _raise_fence(work: _Pass, name: str, partition: str, *, checkpoints: list[str]) -> bool:
    """Make sure that no attempt that began before now can commit; False when one younger than `orphan_before` is at work."""

    def raise_once() -> bool:
        table = load_table(work.catalog, name)
        newest = published_fence(table.properties, partition)
        state = partition_state(name, table.properties, partition)
        assert newest is not None, partition
        is_open = state is None or newest["attempt"] != state.attempt
        if is_open and newest["began"] >= work.orphan_before.timestamp():
            return False
        work.store.delete(checkpoints)
        ended = Attempt(
            table=name,
            partition=partition,
            fence=newest["fence"] + 1,
            attempt=f"{_ENDED}-{newest['fence'] + 1}",
            began=0.0,
        )
        publish_attempt(work.catalog, table, ended)
        return True

    return retry_until_landed(raise_once, what=f"ending attempts at {name}")


def _folder(key: str) -> str:
    """Return the partition's folder of a data, staging or report file: five parts deep, whatever lies below."""
    return "/".join(key.split("/")[:5])
