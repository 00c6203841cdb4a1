"""Reading data files as batches of the table's schema, file by file, in bounded memory.

Files written before a column was added give nulls there. Memory: one row group of one file.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.lake.errors import DataFileError, SchemaMismatchError
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.store import Store

_BATCH_BYTES = 16 << 20
_MAX_BATCH_ROWS = 65_536


def scan_files(store: Store, files: Iterable[DataFileRef], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files in order, with exactly the columns of `schema`; raises DataFileError."""
    for file in files:
        try:
            yield from _scan_file(store, file, schema)
        except (OSError, ValueError, pa.ArrowException) as error:  # a garbled footer may be anything
            raise unreadable(file, error) from error


def unreadable(file: DataFileRef, error: Exception) -> DataFileError:
    """Return what to raise where a committed file cannot be read: which one it is, and what to do."""
    return DataFileError(
        f"{file.path} of partition {file.partition!r} cannot be read: {error}; "
        "make that partition and what is made from it anew: corpusmill materialize --again"
    )


def select_columns(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Return the schema of the wanted columns in the wanted order; raises SchemaMismatchError for unknown ones."""
    if columns is None:
        return schema
    if unknown := [name for name in columns if name not in schema.names]:
        raise SchemaMismatchError(f"unknown columns {', '.join(unknown)}; the table has {', '.join(schema.names)}")
    return pa.schema([schema.field(name) for name in columns])


def _scan_file(store: Store, file: DataFileRef, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with (
        store.open_input(file.path) as source,
        pq.ParquetFile(source, pre_buffer=True, page_checksum_verification=True) as parquet,
    ):
        present = [name for name in schema.names if name in parquet.schema_arrow.names]
        # Without a column of its own a file still has to tell how many rows it has.
        columns = present or parquet.schema_arrow.names[:1]
        num_rows = 0
        for batch in parquet.iter_batches(batch_size=_batch_rows(parquet.metadata), columns=columns):
            num_rows += len(batch)
            yield _conform(batch, schema)
    if num_rows != file.num_rows:  # no checksum covers a footer
        raise pa.ArrowInvalid(f"it says that it holds {num_rows:,} rows, {file.num_rows:,} were committed")


def _batch_rows(metadata: pq.FileMetaData) -> int:
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    largest_row = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1.0)
    return int(min(max(_BATCH_BYTES / max(largest_row, 1.0), 1), _MAX_BATCH_ROWS))


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        batch.column(field.name) if field.name in batch.schema.names else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=schema)
