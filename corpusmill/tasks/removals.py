"""curated/<dataset>/removals: documents, texts and URLs that must not come back. Resolution and documents obey it.

A person's list, not made from other tables: rows are added, and every version of it stays in the lake's history.

Whatever is ingested later obeys the lists of all datasets: `records` leaves out the URLs and ids that they name, `extract` the
texts. A list that grew makes neither of them again: what is in the lake already is dropped from `documents`.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.dedup.withdrawn import Withdrawn, withdrawn_of
from corpusmill.document import REMOVALS
from corpusmill.fingerprint import fingerprint
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.reading import read_rows
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Lake
from corpusmill.tasks.task import UNPARTITIONED, Job

NONE = "none"
DROP_REASON = "withdrawn"


def table(dataset: str) -> str:
    return f"curated/{dataset}/removals"


def read_withdrawn(lake: Lake, dataset: str) -> Withdrawn:
    """Return what the removals of a dataset name; nothing where there is no list."""
    return withdrawn_of(read_list(lake, dataset))


def read_list(lake: Lake, dataset: str) -> pa.Table:
    """Return the REMOVALS of a dataset."""
    if version(lake, dataset) == NONE:
        return REMOVALS.empty_table()
    known = [name for name in REMOVALS.names if name in lake.schema(table(dataset)).names]
    return _as_removals(lake.read(table(dataset), columns=known))


def version(lake: Lake, dataset: str) -> str:
    """Return the content hash of a dataset's removals."""
    committed = lake.partition(table(dataset), UNPARTITIONED)
    return committed.content_hash if committed else NONE


def removal_versions(job: Job) -> dict[str, str]:
    """Return a name of what removals name among the documents of a partition; nothing where they name none of them.

    So a removal makes the partitions again that hold what it names, and no others.
    """
    withdrawn = read_withdrawn(job.lake, job.dataset)
    if not withdrawn:
        return {}
    named: list[str] = []
    columns = ("doc_id", "text_hash")
    for batch in job.lake.scan(f"curated/{job.dataset}/extracted", partitions=[job.partition], columns=columns):
        rows = pa.Table.from_batches([batch])
        named += rows.filter(pa.array(withdrawn.names(rows)))["doc_id"].to_pylist()
    return {"removals": fingerprint(sorted(named))} if named else {}


def removal_files(job: Job) -> dict[str, list[str]]:
    """Return the keys of the files of removals, where they name a document of the partition: inputs of a shard."""
    if not removal_versions(job):
        return {}
    files = job.lake.files(table(job.dataset), [UNPARTITIONED])
    return {"removals": [job.lake.store.key(file.path) for file in files]}


def read_removals(inputs: Mapping[str, Any], store: Store) -> Withdrawn:
    """Return what the files of `removal_files` name."""
    parts = [_as_removals(read_rows(store, file)) for file in inputs.get("removals", [])]
    return withdrawn_of(pa.concat_tables([REMOVALS.empty_table(), *parts]))


def ingestion_files(lake: Lake) -> dict[str, list[str]]:
    """Return the keys of the files of all lists that there are: inputs of a shard that ingests; nothing without a list."""
    lists = [name for name in lake.tables() if name.startswith("curated/") and name.endswith("/removals")]
    files = [file for name in lists if lake.partition(name, UNPARTITIONED) for file in lake.files(name)]
    return {"removals": [lake.store.key(file.path) for file in files]} if files else {}


def withdrawn_documents(withdrawn: Withdrawn, documents: pa.Table) -> pa.Table:
    """Return doc_id and drop_reason of the documents that removals name."""
    doc_ids = documents.filter(pa.array(withdrawn.names(documents)))["doc_id"]
    return pa.table({"doc_id": doc_ids, "drop_reason": pa.array([DROP_REASON] * len(doc_ids), pa.string())})


def add_removals(lake: Lake, dataset: str, rows: pa.Table) -> None:
    """Add rows of REMOVALS to a dataset's list; raises ValueError for one that does not name one thing."""
    withdrawn_of(rows)
    attempt = lake.begin(table(dataset), UNPARTITIONED, REMOVALS)
    every = pa.concat_tables([read_list(lake, dataset), _as_removals(rows)])
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=REMOVALS, partition=UNPARTITIONED
    ) as writer:
        writer.write(every.group_by(REMOVALS.names).aggregate([]))
    lake.commit(attempt, writer.files)


def _as_removals(rows: pa.Table) -> pa.Table:
    """Return rows as REMOVALS: a column that was added since they were written is null."""
    columns = [
        rows[field.name] if field.name in rows.schema.names else pa.nulls(len(rows), field.type) for field in REMOVALS
    ]
    return pa.table(columns, names=REMOVALS.names).cast(REMOVALS)
