"""Taking a partition out of a table's current version. Older versions, and those that a tag names, keep it.

Its files go with the last version that names them (`lake.maintain`). The commit raises the partition's fence, so that a run
that is at work on it cannot put it back.
"""

import uuid

from pyiceberg.catalog import Catalog

from corpusmill.lake.catalog import load_table
from corpusmill.lake.commits import Change, commit_change, fence_key, retry_until_landed
from corpusmill.lake.partitions import STATE_PREFIX, next_attempt, partition_state
from corpusmill.lake.snapshots import prepare_snapshot


def remove_partition(catalog: Catalog, table: str, partition: str) -> None:
    """Remove one committed partition in one step; one that is not committed is removed already."""

    def remove_once() -> None:
        loaded = load_table(catalog, table)
        if partition_state(table, loaded.properties, partition) is None:
            return
        removal = next_attempt(loaded.properties, table, partition)
        change = Change(
            prepared=prepare_snapshot(loaded, {partition: []}, snapshot_id=uuid.uuid4().int >> 65),
            properties=dict([removal.fence_property()]),
            fences=(fence_key(partition),),
            removed_properties=(STATE_PREFIX + partition,),
        )
        commit_change(catalog, loaded, change)

    retry_until_landed(remove_once, what=f"the removal of {partition!r} from {table}")
