"""Writing Parquet files of a partition, with everything a commit needs to know about them.

The writer hashes rows and collects statistics on the way, so that nobody reads a footer again. Memory: one row group
(64 MB uncompressed, where nothing else is asked for) and the table that was handed over.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pat

from corpusmill.document import LOOKED_UP, PACKED, PLACE, UNCOMPRESSED
from corpusmill.lake.content_hash import combine, from_hex, hash_table, to_hex
from corpusmill.lake.errors import SchemaMismatchError
from corpusmill.lake.names import check_partition
from corpusmill.lake.schemas import table_schema
from corpusmill.lake.store import Store

_ROW_GROUP_BYTES = 64 << 20
_BOUND_CHARACTERS = 16
_CONTENT_HASH = "corpusmill.content_hash"
"""Key of the footer under which a file says the content hash of its own rows."""
_PAGE_BYTES = 4 << 10
_PAGE_STEP = 1
"""Values after which a page's size is looked at: a long text has a page of its own."""
_PAGE_ZSTD_LEVEL = 3
"""Small pages compress less: a file of source texts is 25 % larger than in pages of 1 MB, at the usual level 1 29 %."""


@dataclass(frozen=True, kw_only=True)
class ColumnStatistics:
    """One column of one file. Bounds are None where the type has no order that the manifest could use."""

    num_bytes: int
    num_nulls: int | None = None
    lower: str | int | float | bool | None = None
    upper: str | int | float | bool | None = None


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """A closed Parquet file that no table refers to yet."""

    path: str
    """Absolute URI."""
    num_rows: int
    num_bytes: int
    content_hash: str
    """Hash of its rows without `partition_key` and columns marked PLACE, as 32 hex digits (see `content_hash`)."""
    placed_hash: str = ""
    """The same with the columns marked PLACE: equal where the rows also name the same files."""
    columns: dict[str, ColumnStatistics] = field(default_factory=dict)
    """Statistics of the top-level columns with primitive types."""
    row_group_offsets: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "columns": {name: vars(statistics) for name, statistics in self.columns.items()},
            "row_group_offsets": list(self.row_group_offsets),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "WrittenFile":
        columns = {name: ColumnStatistics(**statistics) for name, statistics in value["columns"].items()}
        return cls(**{**value, "columns": columns, "row_group_offsets": tuple(value["row_group_offsets"])})


class ShardWriter:
    """Writes tables of one schema into as many files as `target_bytes` makes; no rows make no file.

    Files are `<directory>/<name>-<number>.parquet`; `name` must be new for every attempt, because a committed file is
    never overwritten. After an error the open file is discarded.
    """

    def __init__(
        self,
        store: Store,
        *,
        directory: str,
        name: str,
        schema: pa.Schema,
        partition: str,
        target_bytes: int = 256 << 20,
        row_group_bytes: int | None = None,
    ) -> None:
        self.files: list[WrittenFile] = []
        self._store = store
        self._prefix = f"{directory}/{name}"
        self._schema = schema.remove_metadata()
        self._hashed = [item.name for item in schema if not is_place(item)]
        self._partition = check_partition(partition)
        self._file_schema = table_schema(schema)
        self._target_bytes = target_bytes
        self._row_group_bytes = row_group_bytes or _ROW_GROUP_BYTES
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = 0
        self._open: OpenFile | None = None

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Add rows; raises SchemaMismatchError when they do not have the writer's columns, types and nullability."""
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        fitting = _fit(table, self._schema)
        if not fitting.num_rows:
            return
        for part in _split(fitting, self._row_group_bytes):
            num_bytes = part.nbytes
            if self._waiting_bytes + num_bytes > self._row_group_bytes:
                self._write_row_group()
            self._waiting.append(part)
            self._waiting_bytes += num_bytes

    def end_row_group(self) -> None:
        """Write what waits: a reader of the rows up to here reads none of the later ones."""
        self._write_row_group()

    def close(self) -> None:
        """Write what waits and publish the last file."""
        self._write_row_group()
        self._publish()

    def discard(self) -> None:
        """Forget the open file and what waits; files that are already published stay in `files`."""
        self._waiting.clear()
        self._waiting_bytes = 0
        if self._open is not None:
            self._open.discard()
            self._open = None

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            self.discard()

    def _write_row_group(self) -> None:
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        if self._open is None:
            key = f"{self._prefix}-{len(self.files):05d}.parquet"
            self._open = OpenFile(self._store, key, self._file_schema, hashed=self._hashed)
        self._open.write(rows, self._partition)
        if self._open.num_bytes >= self._target_bytes:
            self._publish()

    def _publish(self) -> None:
        if self._open is not None:
            self._open.note_content_hash()
            self.files.append(self._open.publish())
            self._open = None


class OpenFile:
    """A Parquet file being written, a row group at a time. `schema` is the file's, `hashed` the columns of the content hash."""

    def __init__(self, store: Store, key: str, schema: pa.Schema, *, hashed: list[str]) -> None:
        self._path = store.uri(key)
        self._hashed = hashed
        self._schema = schema
        self._pending = store.open_output(key)
        self._metadata: list[pq.FileMetaData] = []
        self._writer = pq.ParquetWriter(
            self._pending.stream,
            schema,
            write_page_checksum=True,
            write_statistics=[item.name for item in schema if _has_bounds(item.type)],
            metadata_collector=self._metadata,
            **_column_layout(schema),
        )
        self._num_rows = 0
        self._content_hash = 0
        self._placed_hash = 0

    @property
    def num_bytes(self) -> int:
        return self._pending.stream.tell()

    def write(self, rows: pa.Table, partition: str) -> None:
        content_hash = hash_table(rows.select(self._hashed))
        has_places = len(self._hashed) < rows.num_columns
        self._content_hash = combine((self._content_hash, content_hash))
        self._placed_hash = combine((self._placed_hash, hash_table(rows) if has_places else content_hash))
        self._num_rows += rows.num_rows
        keys = pa.repeat(pa.scalar(partition, pa.string()), rows.num_rows)
        table = pa.Table.from_arrays([keys, *rows.columns], schema=self._schema)
        self._writer.write_table(table, row_group_size=rows.num_rows)

    def note_content_hash(self) -> None:
        """Put the hash of the rows so far into the footer, so that a reader who knows what he wants can tell another file."""
        self._writer.add_key_value_metadata({_CONTENT_HASH: to_hex(self._content_hash)})

    def note(self, notes: Mapping[str, str]) -> None:
        """Put notes into the file's footer."""
        self._writer.add_key_value_metadata(notes)

    def publish(self) -> WrittenFile:
        self._writer.close()
        num_bytes = self.num_bytes
        self._pending.publish()
        return WrittenFile(
            path=self._path,
            num_rows=self._num_rows,
            num_bytes=num_bytes,
            content_hash=to_hex(self._content_hash),
            placed_hash=to_hex(self._placed_hash),
            columns=_column_statistics(self._metadata[0], self._schema),
            row_group_offsets=_row_group_offsets(self._metadata[0]),
        )

    def discard(self) -> None:
        self._writer.close()
        self._pending.discard()


def noted_content_hash(footer: pq.FileMetaData) -> int | None:
    """Return the content hash that a file's footer says, or None where it was written without; ValueError where it is none."""
    found = (footer.metadata or {}).get(_CONTENT_HASH.encode())
    return from_hex(found.decode()) if found else None


def describe_file(store: Store, path: str) -> WrittenFile:
    """Return what a commit needs to know of a file that lies in the lake, without its hashes; reads its footer."""
    with store.open_input(path) as source, pq.ParquetFile(source) as file:
        metadata, schema = file.metadata, file.schema_arrow
    return WrittenFile(
        path=path,
        num_rows=metadata.num_rows,
        num_bytes=store.size(path),
        content_hash="",
        columns=_column_statistics(metadata, schema),
        row_group_offsets=_row_group_offsets(metadata),
    )


def _column_layout(schema: pa.Schema) -> dict[str, Any]:
    """Return the writer's settings: columns are compressed, but for what is PACKED, LOOKED_UP or UNCOMPRESSED."""
    packed, looked_up, uncompressed = (
        {item.name for item in schema if _has_metadata(item, wanted)} for wanted in (PACKED, LOOKED_UP, UNCOMPRESSED)
    )
    if not packed | looked_up | uncompressed:
        return {"compression": "zstd"}
    leaves = pq.ParquetFile(_empty_file(schema)).schema
    paths = [leaves.column(number).path for number in range(len(leaves))]
    layout: dict[str, Any] = {
        "compression": {path: "none" if path.split(".")[0] in uncompressed else "zstd" for path in paths},
        "use_dictionary": [path for path in paths if path not in packed | looked_up],
        "column_encoding": dict.fromkeys(sorted(packed), "DELTA_BINARY_PACKED") or None,
    }
    if looked_up:
        layout |= {
            "write_page_index": True,
            "data_page_size": _PAGE_BYTES,
            "write_batch_size": _PAGE_STEP,
            "compression_level": _PAGE_ZSTD_LEVEL,
        }
    return layout


def _empty_file(schema: pa.Schema) -> pa.BufferReader:
    out = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), out)
    return pa.BufferReader(out.getvalue())


def lower_bound(value: Any) -> Any:
    """Return what a manifest keeps of a column's smallest value: the start of a string, None for what has no order."""
    if isinstance(value, str):
        return value[:_BOUND_CHARACTERS]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fit(table: pa.Table, schema: pa.Schema) -> pa.Table:
    faults = [f"missing column {name}" for name in schema.names if name not in table.column_names]
    faults += [f"unknown column {name}" for name in table.column_names if name not in schema.names]
    if faults:
        raise SchemaMismatchError(f"rows do not fit the schema: {'; '.join(faults)}")
    for item in schema:
        column = table.column(item.name)
        if column.type != item.type:
            faults.append(f"column {item.name} must be {item.type}, got {column.type}")
        elif not item.nullable and column.null_count:
            faults.append(f"column {item.name} must have no nulls, got {column.null_count} of {len(column)}")
    if faults:
        raise SchemaMismatchError(f"rows do not fit the schema: {'; '.join(faults)}")
    return pa.Table.from_arrays([table.column(name) for name in schema.names], schema=schema)


def _split(table: pa.Table, limit: int) -> Iterator[pa.Table]:
    if table.num_rows <= 1 or table.nbytes <= limit:
        yield table
        return
    half = table.num_rows // 2
    yield from _split(table.slice(0, half), limit)
    yield from _split(table.slice(half), limit)


def is_place(item: pa.Field) -> bool:
    """Return whether a column says where something lies; such a column is no part of the content."""
    return _has_metadata(item, PLACE)


def _has_metadata(item: pa.Field, wanted: Mapping[str, str]) -> bool:
    return bool(item.metadata) and all(
        item.metadata.get(name.encode()) == value.encode() for name, value in wanted.items()
    )


def _has_bounds(kind: pa.DataType) -> bool:
    return pat.is_string(kind) or pat.is_integer(kind) or pat.is_floating(kind) or pat.is_boolean(kind)


def _column_statistics(metadata: pq.FileMetaData, schema: pa.Schema) -> dict[str, ColumnStatistics]:
    """Merge the row groups' statistics of every top-level primitive column."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    found = {}
    for position in range(metadata.num_columns):
        name = metadata.schema.column(position).path
        if name in schema.names and not pat.is_nested(schema.field(name).type):
            found[name] = _merge_chunks([group.column(position) for group in groups])
    return found


def _merge_chunks(chunks: list[pq.ColumnChunkMetaData]) -> ColumnStatistics:
    num_bytes = sum(chunk.total_compressed_size for chunk in chunks)
    statistics = [chunk.statistics for chunk in chunks]
    if any(item is None or not item.has_null_count for item in statistics):
        return ColumnStatistics(num_bytes=num_bytes)
    num_nulls = sum(item.null_count for item in statistics)
    with_values = [item for item in statistics if item.num_values]
    if not with_values or not all(item.has_min_max for item in with_values):
        return ColumnStatistics(num_bytes=num_bytes, num_nulls=num_nulls)
    lower = lower_bound(min(item.min for item in with_values))
    upper = _upper_bound(max(item.max for item in with_values))
    return ColumnStatistics(num_bytes=num_bytes, num_nulls=num_nulls, lower=lower, upper=upper)


def _upper_bound(value: Any) -> Any:
    """Return the value, or for a long string the smallest short one above all that start as it does."""
    if not isinstance(value, str):
        return lower_bound(value)
    if len(value) <= _BOUND_CHARACTERS:
        return value
    # ASCII only: the successor of any other character may be a surrogate.
    for end in range(_BOUND_CHARACTERS, 0, -1):
        if value[end - 1] < "\x7f":
            return value[: end - 1] + chr(ord(value[end - 1]) + 1)
    return None


def _row_group_offsets(metadata: pq.FileMetaData) -> tuple[int, ...]:
    first_columns = [metadata.row_group(index).column(0) for index in range(metadata.num_row_groups)]
    return tuple(
        column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
        for column in first_columns
    )
