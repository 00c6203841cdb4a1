"""The lake: versioned tables, each replaced partition by partition.

A `Lake` is cheap to make and pickles as its settings; it connects on first use. A partition's new version lands in one
step: readers see the old files or the new ones. Readers plan from manifests and never list the store.
"""

import functools
import uuid
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property

import pyarrow as pa
import pyarrow.dataset
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from corpusmill.lake.catalog import catalog_exists, ensure_table, find_table, list_tables, load_table, open_catalog
from corpusmill.lake.commits import Change, check_fence, commit_change, fence_key, publish_attempt, retry_until_landed
from corpusmill.lake.content_hash import combine, from_hex, to_hex
from corpusmill.lake.datasets import files_to_dataset
from corpusmill.lake.errors import GateFailedError, PartitionMissingError, TableMissingError
from corpusmill.lake.files import WrittenFile, describe_file, lower_bound
from corpusmill.lake.maintain import clear_partitions, maintain
from corpusmill.lake.manifests import plan_all_files, plan_files
from corpusmill.lake.names import check_partition, check_table, data_directory, report_directory
from corpusmill.lake.partitions import (
    ARROW_SCHEMA,
    Attempt,
    DataFileRef,
    PartitionState,
    next_attempt,
    partition_state,
    partition_states,
)
from corpusmill.lake.removal import remove_partition
from corpusmill.lake.restate import restate
from corpusmill.lake.scan import scan_files, select_columns
from corpusmill.lake.schemas import PARTITION_KEY, decode_schema, encode_schema, merge_schemas, table_schema
from corpusmill.lake.snapshots import prepare_snapshot
from corpusmill.lake.sql import run_query
from corpusmill.lake.store import LakeSettings, Store


@dataclass(frozen=True, kw_only=True)
class Commit:
    """What one attempt wants to land: exactly these files, and a JSON-able state to remember."""

    attempt: Attempt
    files: Sequence[WrittenFile]
    state: Mapping[str, object]
    replaces_equal: bool = False
    """Whether the files land although the partition has the same content: its own may be damaged."""


class Lake:
    """Tables over one store and one catalog."""

    def __init__(self, settings: LakeSettings) -> None:
        self.settings = settings
        self.store = Store(settings.store)

    def __getstate__(self) -> LakeSettings:
        return self.settings

    def __setstate__(self, settings: LakeSettings) -> None:
        self.__init__(settings)  # type: ignore[misc]

    @property
    def exists(self) -> bool:
        """Whether there is a catalog to read; the first attempt at a partition makes one in a local folder."""
        return "catalog" in self.__dict__ or catalog_exists(self.settings)

    @cached_property
    def catalog(self) -> Catalog:
        """The Iceberg catalog, opened on first use, which makes one in a local folder: readers ask `exists` first."""
        opened = open_catalog(self.settings)
        weakref.finalize(self, opened.close)
        return opened

    def close(self) -> None:
        """Give the catalog's connections back; the next use opens them again."""
        opened = self.__dict__.pop("catalog", None)
        if opened is not None:
            opened.close()

    def check(self) -> None:
        """Raise UnsuitableStoreError when the store or the catalog cannot keep a lake; to be called once at start."""
        self.store.check()
        list_tables(self.catalog)

    def require(self) -> None:
        """Raise TableMissingError that names the place when there is no lake yet."""
        if not self.exists:
            raise TableMissingError(
                f"there is no lake in {self.settings.store.root}: run this in the project's folder, name its settings with "
                "--settings or $CORPUSMILL_SETTINGS, or make a first table with `corpusmill demo` or `corpusmill materialize`"
            )

    # Writing

    def begin(self, table: str, partition: str, schema: pa.Schema) -> Attempt:
        """Start an attempt at a partition: no older attempt can commit from now on.

        Creates the table, or adds the columns of `schema` that it lacks. Raises SchemaMismatchError for a changed type.
        """
        check_partition(partition)
        wanted = table_schema(schema)
        # A REST catalog's server decides where it keeps a table's metadata.
        key = f"tables/{check_table(table)}"
        location = None if self.settings.is_rest else self.store.uri(key)
        return retry_until_landed(
            lambda: self._begin_once(table, partition, schema=wanted, location=location), what=f"an attempt at {table}"
        )

    def check_newest(self, attempt: Attempt) -> None:
        """Raise StaleAttemptError where a newer attempt at the partition has begun: more work on this one is lost."""
        check_fence(self._load(attempt.table), attempt)

    def commit(
        self,
        attempt: Attempt,
        files: Sequence[WrittenFile],
        state: Mapping[str, object] | None = None,
        *,
        replaces_equal: bool = False,
    ) -> PartitionState:
        """Make these files the partition's whole content; raises StaleAttemptError when a newer attempt has begun.

        Where the partition has the same content already, its files stay and these are left to `maintain`: what names a
        committed file (`text_file`) goes on naming one. With `replaces_equal` these files land all the same.
        """
        commit = Commit(attempt=attempt, files=files, state=state or {}, replaces_equal=replaces_equal)
        return self.commit_many([commit])[0]

    def commit_many(self, commits: Sequence[Commit]) -> list[PartitionState]:
        """Replace several partitions of one table in one version; when one attempt is stale, none lands."""
        tables = {commit.attempt.table for commit in commits}
        partitions = {commit.attempt.partition for commit in commits}
        if len(tables) != 1 or len(partitions) != len(commits):
            raise ValueError(
                f"a batch commits different partitions of one table, got {len(commits)} of {sorted(tables)}"
            )
        _check_files(commits)
        snapshot_id = uuid.uuid4().int >> 65
        states = [_new_state(commit, snapshot_id) for commit in commits]
        return retry_until_landed(lambda: self._commit_once(commits, states), what=f"a commit to {tables.pop()}")

    def remove(self, table: str, partition: str) -> None:
        """Take a partition out of the current version (see `lake.removal`); pinned versions keep it."""
        self.require()
        remove_partition(self.catalog, table, partition)

    def tag(self, table: str, name: str, snapshot_id: int) -> None:
        """Name a version so that expiry spares it; a tag never moves."""
        retry_until_landed(lambda: self._tag_once(table, name, snapshot_id), what=f"the tag {name} on {table}")

    # Reading

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""
        return list_tables(self.catalog) if self.exists else []

    def schema(self, table: str) -> pa.Schema:
        """Return the table's Arrow schema, `partition_key` first."""
        return decode_schema(self._load(table).properties[ARROW_SCHEMA])

    def snapshot_id(self, table: str) -> int:
        """Return the id of the current version; raises TableMissingError before the first commit."""
        return _snapshot(self._load(table), table, None).snapshot_id

    def versions(self, table: str) -> dict[int, datetime]:
        """Return the ids of the versions that there are, oldest first, with the time of each (UTC)."""
        found = sorted(self._load(table).snapshots(), key=lambda item: item.sequence_number or 0)
        return {item.snapshot_id: datetime.fromtimestamp(item.timestamp_ms / 1000, UTC) for item in found}

    def tags(self, table: str) -> dict[str, int]:
        """Return the version that each tag names."""
        refs = self._load(table).metadata.refs
        return {name: ref.snapshot_id for name, ref in sorted(refs.items()) if ref.snapshot_ref_type == "tag"}

    def partition(self, table: str, partition: str) -> PartitionState | None:
        """Return what was committed last for a partition, or None."""
        loaded = self._find(table)
        return partition_state(table, loaded.properties, partition) if loaded else None

    def partitions(self, table: str) -> dict[str, PartitionState]:
        """Return the committed partitions by name; a table that does not exist has none."""
        loaded = self._find(table)
        return partition_states(table, loaded.properties) if loaded else {}

    def files(
        self,
        table: str,
        partitions: Sequence[str] | None = None,
        *,
        snapshot_id: int | None = None,
        allow_failed_gate: bool = False,
    ) -> list[DataFileRef]:
        """Return the data files of some partitions or of all, sorted by path.

        Raises PartitionMissingError for a partition that was never committed, GateFailedError for one whose gate failed.
        """
        loaded = self._load(table)
        snapshot = _snapshot(loaded, table, snapshot_id)
        found = plan_files(loaded.io, snapshot, partitions)
        states = _states_at(table, loaded, snapshot)
        if partitions is not None:
            present = states.keys() | {file.partition for file in found}
            _require_partitions(table, wanted=partitions, present=present, known=sorted(states))
        if not allow_failed_gate:
            wanted = states if partitions is None else partitions
            _require_gates(table, [states[name] for name in wanted if name in states])
        return found

    def all_files(self, table: str) -> list[DataFileRef]:
        """Return the data files of all versions that there are, each once, sorted by path, whether a gate failed or not."""
        loaded = self._load(table)
        return plan_all_files(loaded.io, loaded.snapshots())

    def damaged_files(self, table: str, partition: str) -> list[str]:
        """Return the partition's committed files that are gone or have not their size; two listings, no file is read.

        An object that the partition's state names (`PartitionState.objects`) is such a file when it is gone.
        """
        sizes = {item.key: item.size for item in self.store.list(f"{data_directory(table, partition)}/")}
        committed = self.files(table, [partition], allow_failed_gate=True)
        present = {item.key for item in self.store.list(f"{report_directory(table, partition)}/")}
        state = self.partition(table, partition)
        lost = [key for key in state.objects if key not in present] if state else []
        return lost + [file.path for file in committed if sizes.get(self.store.key(file.path)) != file.num_bytes]

    def scan(
        self,
        table: str,
        *,
        partitions: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        allow_failed_gate: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches, files in order of their paths; faults are raised here, not at the first batch."""
        files = self.files(table, partitions, snapshot_id=snapshot_id, allow_failed_gate=allow_failed_gate)
        return scan_files(self.store, files, select_columns(self.schema(table), columns))

    def read(
        self,
        table: str,
        *,
        partitions: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        allow_failed_gate: bool = False,
    ) -> pa.Table:
        """Return the rows as one table in memory."""
        batches = self.scan(
            table,
            partitions=partitions,
            columns=columns,
            snapshot_id=snapshot_id,
            allow_failed_gate=allow_failed_gate,
        )
        return pa.Table.from_batches(batches, schema=select_columns(self.schema(table), columns))

    def arrow_dataset(
        self,
        table: str,
        *,
        partitions: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        allow_failed_gate: bool = False,
    ) -> pa.dataset.Dataset:
        """Return the rows as a lazy Arrow dataset for DuckDB, polars (`scan_pyarrow_dataset`) and pandas."""
        files = self.files(table, partitions, snapshot_id=snapshot_id, allow_failed_gate=allow_failed_gate)
        return files_to_dataset(self.store, files, self.schema(table))

    def sql(self, query: str, *, allow_failed_gate: bool = False) -> pa.RecordBatchReader:
        """Stream a query's result; tables are written `curated.web.documents` or `"curated/web/documents"`."""
        return run_query(
            query,
            self.tables(),
            place=self.settings.store.root,
            open_table=lambda table: self.arrow_dataset(table, allow_failed_gate=allow_failed_gate),
            table_schema=self.schema,
        )

    # Upkeep

    def maintain(self, *, keep_snapshots_days: float, orphan_age_days: float, now: datetime) -> dict[str, int]:
        """Expire versions and delete files that nothing needs; returns what was removed (see `lake.maintain`)."""
        report = maintain(
            self.catalog,
            self.store,
            keep_snapshots_days=keep_snapshots_days,
            orphan_age_days=orphan_age_days,
            now=now,
        )
        return report.to_json()

    def clear(self, partitions: Sequence[tuple[str, str]], *, now: datetime, is_dry: bool = False) -> dict[str, int]:
        """End attempts at partitions (table, name) and delete what no version needs of them; returns what was removed."""
        return clear_partitions(self.catalog, self.store, partitions, now=now, is_dry=is_dry).to_json()

    def restate(self, table: str, partitions: Sequence[str]) -> int:
        """Make all versions tell what the files of some partitions are by now; see `lake.restate`."""
        listed = (self.store.list(f"{data_directory(table, partition)}/") for partition in partitions)
        sizes = {item.uri: item.size for items in listed for item in items}
        describe = functools.partial(describe_file, self.store)
        return restate(self._load(table), self.store, partitions, sizes=sizes, describe=describe)

    # One try each

    def _find(self, table: str) -> Table | None:
        return find_table(self.catalog, table) if self.exists else None

    def _load(self, table: str) -> Table:
        self.require()
        return load_table(self.catalog, table)

    def _begin_once(self, table: str, partition: str, *, schema: pa.Schema, location: str | None) -> Attempt:
        loaded = ensure_table(self.catalog, table, schema=schema, location=location)
        loaded = _grow(loaded, schema)
        attempt = next_attempt(loaded.properties, table, partition)
        publish_attempt(self.catalog, loaded, attempt)
        return attempt

    def _commit_once(self, commits: Sequence[Commit], states: Sequence[PartitionState]) -> list[PartitionState]:
        loaded = self._load(states[0].table)
        before = partition_states(states[0].table, loaded.properties)
        if loaded.snapshot_by_id(states[0].snapshot_id) is not None:
            # An earlier try landed although its answer was lost.
            return [before[state.partition] for state in states]
        for commit in commits:
            check_fence(loaded, commit.attempt)
        kept = {
            state.partition: before[state.partition]
            for commit, state in zip(commits, states, strict=True)
            if not commit.replaces_equal and _is_same_content(before, state)
        }
        landing = [
            replace(state, num_bytes=kept[state.partition].num_bytes) if state.partition in kept else state
            for state in states
        ]
        replaced = {
            commit.attempt.partition: commit.files for commit in commits if commit.attempt.partition not in kept
        }
        change = Change(
            prepared=prepare_snapshot(loaded, replaced, snapshot_id=states[0].snapshot_id),
            properties=dict(state.state_property() for state in landing),
            fences=tuple(fence_key(commit.attempt.partition) for commit in commits),
        )
        commit_change(self.catalog, loaded, change)
        return landing

    def _tag_once(self, table: str, name: str, snapshot_id: int) -> None:
        loaded = self._load(table)
        present = loaded.metadata.refs.get(name)
        if present is not None and present.snapshot_id == snapshot_id:
            return
        if present is not None:
            raise ValueError(f"{name} on {table} already names version {present.snapshot_id}, wanted {snapshot_id}")
        _snapshot(loaded, table, snapshot_id)
        loaded.manage_snapshots().create_tag(snapshot_id, name).commit()


def _grow(table: Table, wanted: pa.Schema) -> Table:
    """Add the columns that the table lacks, and make those nullable that may now be absent."""
    existing = decode_schema(table.properties[ARROW_SCHEMA])
    merged = merge_schemas(existing, wanted)
    if merged == existing:
        return table
    with table.transaction() as transaction:
        with transaction.update_schema() as update:
            update.union_by_name(pa.schema([field for field in merged if field.name not in existing.names]))
            for field in existing:
                if merged.field(field.name).nullable and not field.nullable:
                    update.make_column_optional(field.name)
        transaction.set_properties({ARROW_SCHEMA: encode_schema(merged)})
    return table.refresh()


def _new_state(commit: Commit, snapshot_id: int) -> PartitionState:
    return PartitionState(
        table=commit.attempt.table,
        partition=commit.attempt.partition,
        fence=commit.attempt.fence,
        attempt=commit.attempt.attempt,
        content_hash=to_hex(combine(from_hex(file.content_hash) for file in commit.files)),
        num_rows=sum(file.num_rows for file in commit.files),
        num_bytes=sum(file.num_bytes for file in commit.files),
        snapshot_id=snapshot_id,
        placed_hash=_placed_hash(commit.files),
        state=dict(commit.state),
    )


def _placed_hash(files: Sequence[WrittenFile]) -> str:
    if not all(file.placed_hash for file in files):
        return ""
    return to_hex(combine(from_hex(file.placed_hash) for file in files))


def _is_same_content(before: Mapping[str, PartitionState], state: PartitionState) -> bool:
    committed = before.get(state.partition)
    if committed is None or not state.placed_hash:
        return False
    return (committed.placed_hash, committed.num_rows) == (state.placed_hash, state.num_rows)


def _check_files(commits: Sequence[Commit]) -> None:
    for commit in commits:
        for file in commit.files:
            key = file.columns.get(PARTITION_KEY)
            if key is not None and key.lower != lower_bound(commit.attempt.partition):
                raise ValueError(f"{file.path} was written for {key.lower!r}, not for {commit.attempt.partition!r}")
    paths = [file.path for commit in commits for file in commit.files]
    if len(set(paths)) != len(paths):
        twice = [path for path, count in Counter(paths).items() if count > 1][:3]
        raise ValueError(f"a file can be committed once, got twice: {', '.join(twice)}")


def _snapshot(loaded: Table, table: str, snapshot_id: int | None) -> Snapshot:
    snapshot = loaded.current_snapshot() if snapshot_id is None else loaded.snapshot_by_id(snapshot_id)
    if snapshot is None and snapshot_id is None:
        raise TableMissingError(f"nothing has been committed to {table} yet; materialize one of its partitions first")
    if snapshot is None:
        raise TableMissingError(f"{table} has no version {snapshot_id}; it never existed or has expired without a tag")
    return snapshot


def _states_at(table: str, loaded: Table, snapshot: Snapshot) -> dict[str, PartitionState]:
    """Return the states committed at or before a version, as far as they have not been replaced since."""
    states = partition_states(table, loaded.properties)
    if snapshot == loaded.current_snapshot():
        return states
    later = {
        item.snapshot_id for item in loaded.snapshots() if (item.sequence_number or 0) > (snapshot.sequence_number or 0)
    }
    return {name: state for name, state in states.items() if state.snapshot_id not in later}


def _require_partitions(table: str, *, wanted: Sequence[str], present: set[str], known: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        shown = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")
        raise PartitionMissingError(
            f"{table} has no partition {', '.join(map(repr, missing))}; it has {shown or 'none'}; "
            "materialize the missing partition, or ask for one that is there"
        )


def _require_gates(table: str, states: Sequence[PartitionState]) -> None:
    failed = [f"{state.partition!r} ({', '.join(state.gate_failures)})" for state in states if state.gate_failures]
    if failed:
        raise GateFailedError(
            f"{table} has partitions whose gate failed: {'; '.join(failed)}; settle the cause and materialize them again, "
            "or pass allow_failed_gate (corpusmill sql --allow-failed-gate) to look at them"
        )
