"""Rows of Parquet files. Listing reads every column but the text; memory is bounded by the largest page allowed.

A row group whose text column has a page above the limit is quarantined: its rows are listed as failed, never decoded.
"""

import itertools
from collections.abc import Iterator
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.read.options import ReadOptions
from corpusmill.read.parquet_pages import PageHeaderError, largest_page_bytes
from corpusmill.read.rows import FoundRecord, Payload, SnapshotFile
from corpusmill.read.source_file import InputFile

SUFFIXES = (".parquet",)

_STREAM_BYTES = 1 << 20
_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 1024
_LARGE_PAGE_BYTES = 32 << 20
_GARBLED = (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError)
"""What Arrow raises for bytes that make no sense; the storage's errors are StorageErrors."""
_Row = TypeVar("_Row")


def list_parquet(file: InputFile, source: SnapshotFile, options: ReadOptions) -> Iterator[FoundRecord]:
    """Yield a file's rows in order; raises ValueError when a column that the options name is missing."""
    try:
        parquet = _open(file)
    except GarbledFooterError:
        yield FoundRecord(position="", failure="empty_file" if source.size == 0 else "garbled_parquet")
        return
    _check_columns(parquet.schema_arrow, source, options)
    row = 0
    for group in range(parquet.num_row_groups):
        num_rows = parquet.metadata.row_group(group).num_rows
        failure = _quarantine(file, parquet, group=group, options=options)
        if failure:
            yield from (_failed(row + index, failure, options) for index in range(num_rows))
        else:
            yield from _list_group(parquet, group=group, first_row=row, options=options)
        row += num_rows


class ParquetCursor:
    """Texts of one Parquet file; rows in order cost one pass over the text column."""

    def __init__(self, file: InputFile) -> None:
        try:
            self._parquet: pq.ParquetFile | None = _open(file)
        except GarbledFooterError:
            self._parquet = None
        metadata = self._parquet and self._parquet.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] if metadata else []
        self._starts = [sum(sizes[:group]) for group in range(len(sizes) + 1)]
        self._texts: Iterator[Payload] = iter(())
        self._open = (-1, "")
        self._next = 0

    def payload(self, row: dict[str, Any], *, max_bytes: int) -> Payload:
        """Return the text of the listed `row` as UTF-8."""
        number = int(row["locator"].rpartition("#row=")[2])
        column = dict(row["meta"])["text_column"]
        if self._parquet is None or number >= self._starts[-1] or not _is_text(self._parquet.schema_arrow, column):
            return Payload(failure="file_changed")
        return self._text(self._parquet, number, column, max_bytes)

    def _text(self, parquet: pq.ParquetFile, row: int, column: str, max_bytes: int) -> Payload:
        group = next(index for index, start in enumerate(self._starts[1:]) if row < start)
        if (group, column) != self._open or row < self._next:
            self._texts = _group_texts(parquet, group=group, column=column, max_bytes=max_bytes)
            self._next = self._starts[group]
            self._open = (group, column)
        while self._next < row:
            next(self._texts)
            self._next += 1
        self._next += 1
        return next(self._texts)


class GarbledFooterError(Exception):
    """What a Parquet file says about its columns and rows makes no sense."""


def _open(file: InputFile) -> pq.ParquetFile:
    file.seek(0)
    try:
        parquet = pq.ParquetFile(file, buffer_size=_STREAM_BYTES, pre_buffer=False)
        columns = _leaf_paths(parquet)
    except (*_GARBLED, UnicodeDecodeError) as error:
        raise GarbledFooterError(str(error)) from error
    metadata = parquet.metadata
    rows = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise GarbledFooterError(f"{metadata.num_rows} rows, in its groups {rows}; its columns are {columns}")
    return parquet


def _is_text(schema: pa.Schema, column: str) -> bool:
    index = schema.get_field_index(column)
    if index < 0:
        return False
    kind = schema.field(index).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _check_columns(schema: pa.Schema, source: SnapshotFile, options: ReadOptions) -> None:
    missing = [name for name in [options.text_column, *options.row_columns] if name not in schema.names]
    if missing:
        raise ValueError(
            f"{source.uri} has no column {', '.join(missing)}; its columns are {', '.join(schema.names)}. "
            "Name the right ones in the source's options (text_column, url_column, ...)"
        )
    twice = [name for name in [options.text_column, *options.row_columns] if schema.names.count(name) > 1]
    if twice:
        raise ValueError(f"{source.uri} has more than one column {', '.join(twice)}; write it with one of that name")
    if not _is_text(schema, options.text_column):
        kind = schema.field(options.text_column).type
        raise ValueError(f"the column {options.text_column} of {source.uri} must hold text, it holds {kind}")


def _quarantine(file: InputFile, parquet: pq.ParquetFile, *, group: int, options: ReadOptions) -> str | None:
    chunk = _chunk(parquet, group, options.text_column)
    if chunk.num_values != parquet.metadata.row_group(group).num_rows:
        return "garbled_parquet"
    if chunk.total_uncompressed_size <= options.max_page_bytes:
        return None
    try:
        largest = largest_page_bytes(file, chunk)
    except PageHeaderError:
        return "garbled_parquet"
    return "parquet_page_too_large" if largest > options.max_page_bytes else None


def _chunk(parquet: pq.ParquetFile, group: int, column: str) -> pq.ColumnChunkMetaData:
    return parquet.metadata.row_group(group).column(_leaf_paths(parquet).index(column))


def _leaf_paths(parquet: pq.ParquetFile) -> list[str]:
    return [parquet.schema.column(leaf).path for leaf in range(len(parquet.schema))]


def _list_group(parquet: pq.ParquetFile, *, group: int, first_row: int, options: ReadOptions) -> Iterator[FoundRecord]:
    num_rows = parquet.metadata.row_group(group).num_rows
    if not options.row_columns:
        yield from (_listed(first_row + index, {}, options) for index in range(num_rows))
        return
    batches = _intact_batches(parquet, _BATCH_ROWS, group=group, columns=options.row_columns)
    found = (row for batch in batches for row in batch_rows(batch))
    for row, (values, failure) in enumerate(_exactly(num_rows, found, ({}, "garbled_parquet")), start=first_row):
        yield _failed(row, failure, options) if failure else _listed(row, values, options)


def batch_rows(batch: pa.RecordBatch) -> Iterator[tuple[dict[str, object], str | None]]:
    """Yield each row's values, or why Python has none for them: text that is no UTF-8, a time beyond its calendar."""
    try:
        yield from ((values, None) for values in batch.to_pylist())
    except (UnicodeDecodeError, OverflowError, LookupError):
        for index in range(len(batch)):
            try:
                yield batch.slice(index, 1).to_pylist()[0], None
            except UnicodeDecodeError:
                yield {}, "invalid_utf8"
            except (OverflowError, LookupError):
                yield {}, "garbled_parquet"


def _listed(row: int, values: dict[str, object], options: ReadOptions) -> FoundRecord:
    def value(column: str | None) -> str | None:
        found = values.get(column) if column else None
        return None if found is None else str(found)

    meta = {name: found for name in options.meta_columns if (found := value(name)) is not None}
    return FoundRecord(
        position=f"row={row}",
        url=value(options.url_column),
        content_type=options.content_type or "text/plain",
        declared_language=value(options.language_column),
        declared_license=value(options.license_column),
        meta={**meta, "text_column": options.text_column},
    )


def _failed(row: int, failure: str, options: ReadOptions) -> FoundRecord:
    return FoundRecord(position=f"row={row}", meta={"text_column": options.text_column}, failure=failure)


def _group_texts(parquet: pq.ParquetFile, *, group: int, column: str, max_bytes: int) -> Iterator[Payload]:
    num_rows = parquet.metadata.row_group(group).num_rows
    size = _batch_rows(_chunk(parquet, group, column).total_uncompressed_size, num_rows)
    batches = _intact_batches(parquet, size, group=group, columns=[column])
    texts = (payload for batch in batches for payload in _texts(batch.column(0), max_bytes))
    yield from _exactly(num_rows, texts, Payload(failure="garbled_parquet"))


def _intact_batches(
    parquet: pq.ParquetFile, batch_rows: int, *, group: int, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a row group up to where its bytes make no sense."""
    try:
        yield from parquet.iter_batches(batch_rows, row_groups=[group], columns=columns)
    except _GARBLED:
        return


def _exactly(number: int, found: Iterator[_Row], missing: _Row) -> Iterator[_Row]:
    """Yield as many rows as a row group says that it has, whatever its pages hold."""
    given = 0
    for given, row in enumerate(itertools.islice(found, number), start=1):  # noqa: B007 (used behind the loop)
        yield row
    yield from itertools.repeat(missing, number - given)


def _batch_rows(num_bytes: int, num_rows: int) -> int:
    """Rows of one decoded batch: about 16 MiB of text by the mean, one at a time where pages may be large."""
    if num_bytes > _LARGE_PAGE_BYTES and num_bytes / max(1, num_rows) > _BATCH_BYTES / 64:
        return 1
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES * num_rows // max(1, num_bytes)))


def _texts(column: pa.Array, max_bytes: int) -> Iterator[Payload]:
    if isinstance(column, pa.DictionaryArray):
        column = column.cast(column.type.value_type)
    sizes = pc.binary_length(column)
    for text, size in zip(column, sizes, strict=True):
        if not size.is_valid:
            yield Payload(failure="null_text")
        elif size.as_py() > max_bytes:
            yield Payload(failure="payload_too_large")
        else:
            yield Payload(data=bytes(text.as_buffer()))
