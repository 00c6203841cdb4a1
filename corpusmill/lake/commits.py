"""Landing changes of a table's version among other writers.

Every try reloads the table, so that every try checks the fence. The catalog swaps the version only if what was checked
still holds in the version that it swaps: SQL catalogs check inside the swap. A REST catalog cannot check a property
there; an older attempt may still land between a newer one's begin and commit, and the newer commit then replaces it.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import Field
from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotsUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
    ValidatableTableRequirement,
)

from corpusmill.lake.errors import CommitTimeoutError, StaleAttemptError
from corpusmill.lake.partitions import FENCE_PREFIX, Attempt, published_fence
from corpusmill.lake.snapshots import PreparedSnapshot

_TIMEOUT_SECONDS = 300.0
_FIRST_WAIT_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 2.0

T = TypeVar("T")


class AssertProperty(ValidatableTableRequirement):
    """A table property must still have the value that was read, or still be absent."""

    type: Literal["assert-corpusmill-property"] = Field(default="assert-corpusmill-property")
    key: str
    value: str | None

    def validate(self, base_metadata: TableMetadata | None) -> None:
        found = base_metadata.properties.get(self.key) if base_metadata else None
        if found != self.value:
            raise CommitFailedException(f"property {self.key} is {found!r}, wanted {self.value!r}")


class AssertUnnamed(ValidatableTableRequirement):
    """No tag or branch may name one of these versions."""

    type: Literal["assert-corpusmill-unnamed"] = Field(default="assert-corpusmill-unnamed")
    snapshot_ids: list[int]

    def validate(self, base_metadata: TableMetadata | None) -> None:
        refs = base_metadata.refs if base_metadata else {}
        if named := [name for name, ref in refs.items() if ref.snapshot_id in self.snapshot_ids]:
            raise CommitFailedException(f"versions to expire are named by {', '.join(named)}")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A prepared snapshot and the properties that land with it."""

    prepared: PreparedSnapshot
    properties: Mapping[str, str]
    fences: tuple[str, ...]
    """Names of the properties that must not have changed when this lands."""
    removed_properties: tuple[str, ...] = ()
    """Names of properties that go when this lands."""


def retry_until_landed(attempt_once: Callable[[], T], *, what: str) -> T:
    """Call until it neither loses a race nor meets a locked or lost database; waits grow to 2 s and are random."""
    from sqlalchemy.exc import InterfaceError, OperationalError

    last: Exception | None = None
    for wait_seconds in _waits():
        try:
            return attempt_once()
        except (CommitFailedException, CommitStateUnknownException, FileNotFoundError) as error:
            # A file is not found when so many versions landed meanwhile that the one just looked up is forgotten.
            last = error
        except (OperationalError, InterfaceError) as error:
            if isinstance(error.orig, sqlite3.Error) and "locked" not in str(error.orig):
                raise
            last = error
        time.sleep(wait_seconds)
    raise CommitTimeoutError(f"{what} did not land within {_TIMEOUT_SECONDS:.0f} s; last refusal: {last}") from last


def check_fence(table: Table, attempt: Attempt) -> None:
    """Raise StaleAttemptError unless the attempt is the newest one at its partition."""
    newest = published_fence(table.properties, attempt.partition)
    if newest is None or newest["attempt"] != attempt.attempt:
        by = "none" if newest is None else f"attempt {newest['attempt']} with fence {newest['fence']}"
        raise StaleAttemptError(
            f"attempt {attempt.attempt} with fence {attempt.fence} at {attempt.table} {attempt.partition!r} may not commit: "
            f"the newest is {by}; drop this attempt's work, the newer one owns the partition"
        )


def commit_change(catalog: Catalog, table: Table, change: Change) -> None:
    """Swap the table's version once; raises CommitFailedException after removing the manifests it leaves unused."""
    snapshot = change.prepared.snapshot
    main = table.metadata.refs.get(MAIN_BRANCH)
    updates: tuple[TableUpdate, ...] = (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(ref_name=MAIN_BRANCH, type=SnapshotRefType.BRANCH, snapshot_id=snapshot.snapshot_id),
        SetPropertiesUpdate(updates=dict(change.properties)),
    )
    if change.removed_properties:
        updates += (RemovePropertiesUpdate(removals=list(change.removed_properties)),)
    unmoved = AssertRefSnapshotId(ref=MAIN_BRANCH, **{"snapshot-id": main.snapshot_id if main else None})
    fences = [(key, table.properties.get(key)) for key in change.fences]
    try:
        commit_updates(catalog, table, updates, requirements=(unmoved, *_assert_properties(catalog, fences)))
    except CommitFailedException:
        for location in change.prepared.written:
            table.io.delete(location)
        raise


def publish_attempt(catalog: Catalog, table: Table, attempt: Attempt) -> None:
    """Make an attempt the newest one, unless another was published since the table was loaded."""
    key, value = attempt.fence_property()
    update = SetPropertiesUpdate(updates={key: value})
    requirements = _assert_properties(catalog, [(key, table.properties.get(key))])
    commit_updates(catalog, table, (update,), requirements=requirements)


def remove_snapshots(catalog: Catalog, table: Table, snapshot_ids: Sequence[int]) -> None:
    """Drop versions from the table's history; refused when a tag has come to name one of them."""
    ids = list(snapshot_ids)
    requirements = (AssertUnnamed(snapshot_ids=ids),) if isinstance(catalog, MetastoreCatalog) else ()
    update = RemoveSnapshotsUpdate(**{"snapshot-ids": ids})
    commit_updates(catalog, table, (update,), requirements=requirements)


def commit_updates(
    catalog: Catalog, table: Table, updates: Sequence[TableUpdate], *, requirements: Sequence[TableRequirement] = ()
) -> None:
    """Swap the table's version once, for the very table that was loaded."""
    same_table = AssertTableUUID(uuid=table.metadata.table_uuid)
    landed = catalog.commit_table(table, (same_table, *requirements), tuple(updates)).metadata
    if isinstance(catalog, MetastoreCatalog):
        _delete_old_metadata(table, landed)


def _delete_old_metadata(table: Table, landed: TableMetadata) -> None:
    """Delete metadata files that the table has forgotten: it remembers its last 100 versions."""
    remembered = {entry.metadata_file for entry in landed.metadata_log}
    for entry in table.metadata.metadata_log:
        if entry.metadata_file not in remembered:
            # The commit has landed; what cannot be deleted now is left to maintenance.
            with suppress(OSError):
                table.io.delete(entry.metadata_file)


def fence_key(partition: str) -> str:
    """Return the name of the property that publishes the newest attempt at a partition."""
    return FENCE_PREFIX + partition


def _assert_properties(catalog: Catalog, values: Sequence[tuple[str, str | None]]) -> tuple[Any, ...]:
    if not isinstance(catalog, MetastoreCatalog):
        return ()
    return tuple(AssertProperty(key=key, value=value) for key, value in values)


def _waits() -> Iterator[float]:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    longest = _FIRST_WAIT_SECONDS
    while time.monotonic() < deadline:
        yield random.uniform(0, longest)
        longest = min(longest * 2, _LONGEST_WAIT_SECONDS)
