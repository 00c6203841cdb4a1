"""Rows about a whole partition that each of its shards looks documents up in: read once in a process, not once a shard.

A million rows of doc_id and reason take 45 MB. Looking up costs a pass over the rows, about 30 ms a million.
"""

import functools
import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.lake.reading import read_batches
from corpusmill.lake.store import Store, StoreSettings

_MAX_KEPT = 6
"""Tables kept in a process: those of two partitions, as shards of several may share a worker."""


def partition_rows(store: Store, files: Sequence[str], schema: pa.Schema, *, filled: str | None = None) -> pa.Table:
    """Return the columns of `schema` of these committed files, only of rows with a value in the column `filled`."""
    settings = json.dumps(store.settings.to_json())
    return _read(settings, tuple(files), schema.remove_metadata(), filled)


def rows_about(rows: pa.Table, texts: pa.Table) -> pa.Table:
    """Return the rows whose doc_id is that of one of the texts: few of many, and cheap to look up in."""
    return rows.filter(pc.is_in(rows["doc_id"], value_set=texts["doc_id"].combine_chunks()))


@functools.lru_cache(maxsize=_MAX_KEPT)
def _read(store: str, files: tuple[str, ...], schema: pa.Schema, filled: str | None) -> pa.Table:
    opened = Store(StoreSettings.from_json(json.loads(store)))
    batches = (batch for file in files for batch in read_batches(opened, file, columns=schema.names))
    parts = [(batch.filter(pc.is_valid(batch[filled])) if filled else batch).cast(schema) for batch in batches]
    return pa.concat_tables([schema.empty_table(), *parts]).combine_chunks()
