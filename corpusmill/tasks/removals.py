"""curated/<dataset>/removals: documents and texts that must not come back. Resolution and documents obey it.

A person's list, not made from other tables: rows are added, and every version of it stays in the lake's history.
"""

import pyarrow as pa

from corpusmill.dedup.withdrawn import Withdrawn, withdrawn_of
from corpusmill.document import REMOVALS
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.tasks.task import UNPARTITIONED

NONE = "none"


def table(dataset: str) -> str:
    return f"curated/{dataset}/removals"


def read_withdrawn(lake: Lake, dataset: str) -> Withdrawn:
    """Return what the removals of a dataset name; nothing where there is no list."""
    if version(lake, dataset) == NONE:
        return Withdrawn()
    return withdrawn_of(lake.read(table(dataset), columns=REMOVALS.names))


def version(lake: Lake, dataset: str) -> str:
    """Return the content hash of a dataset's removals."""
    committed = lake.partition(table(dataset), UNPARTITIONED)
    return committed.content_hash if committed else NONE


def removal_files(lake: Lake, dataset: str) -> list[str]:
    """Return the keys of the files that hold a dataset's removals."""
    if version(lake, dataset) == NONE:
        return []
    return [lake.store.key(file.path) for file in lake.files(table(dataset), [UNPARTITIONED])]


def add_removals(lake: Lake, dataset: str, rows: pa.Table) -> None:
    """Add rows of REMOVALS to a dataset's list; raises ValueError for one that names nothing, or both id and text."""
    withdrawn_of(rows)
    attempt = lake.begin(table(dataset), UNPARTITIONED, REMOVALS)
    before = [] if version(lake, dataset) == NONE else [lake.read(table(dataset), columns=REMOVALS.names)]
    every = pa.concat_tables([*(one.cast(REMOVALS) for one in before), rows.select(REMOVALS.names).cast(REMOVALS)])
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=REMOVALS, partition=UNPARTITIONED
    ) as writer:
        writer.write(every.group_by(REMOVALS.names).aggregate([]))
    lake.commit(attempt, writer.files)
