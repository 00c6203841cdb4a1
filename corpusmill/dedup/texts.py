"""Texts of candidates out of a stored Parquet file: by doc_id, never by row position, and a missing one is an error.

Cost: one pass over the file's doc_ids, and the pages that hold a wanted text, or where many are wanted the row groups;
memory is the doc_ids, a batch of rows and what was asked for. Bytes that changed inside the file are refused by its page
checksums.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.dedup.evidence import ReadTexts
from corpusmill.lake.damage import Files, damage_named
from corpusmill.lake.pages import has_pages, parse_parquet, read_footer, read_pages, read_values

_BATCH_ROWS = 256
_SPARSE_SHARE = 0.4
"""Of a file's documents; with more, most pages hold one, and a whole file is read faster in one go."""


class _Opened(NamedTuple):
    """A Parquet file that is being read."""

    source: pa.NativeFile
    parquet: pq.ParquetFile
    footer: bytes


def stored_texts(files: Files) -> ReadTexts:
    """Return a reader of texts by (text file, doc_ids)."""

    def read_texts(text_file: str, doc_ids: Sequence[str]) -> pa.Table:
        return pa.concat_tables(select_texts(files, text_file, doc_ids))

    return read_texts


def select_texts(files: Files, text_file: str, doc_ids: Sequence[str]) -> Iterator[pa.Table]:
    """Yield tables of doc_id and text; raises ValueError when the file lacks one of `doc_ids`."""
    wanted = pa.array(sorted(doc_ids), pa.string())
    found = 0
    with _opened(files, text_file) as opened:
        parquet = opened.parquet
        stored = parquet.read(columns=["doc_id"])["doc_id"].cast(pa.string())
        is_wanted = pc.is_in(stored, wanted).combine_chunks()
        read = _looked_up if _is_sparse(parquet, is_wanted) else _scanned
        for chosen in read(opened, stored, is_wanted):
            found += len(chosen)
            yield chosen
    if found != len(wanted):
        raise ValueError(
            f"{text_file} holds {found} of the {len(wanted)} documents that signatures say it does; "
            "it was replaced after they were made: rebuild the signatures"
        )


def stored_columns(files: Files, path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the columns of a Parquet file in small tables; a garbled file is a ValueError that names it."""
    with _opened(files, path) as opened:
        present = [name for name in columns if name in opened.parquet.schema_arrow.names]
        for batch in opened.parquet.iter_batches(batch_size=_BATCH_ROWS, columns=present):
            yield pa.Table.from_batches([batch])


@contextmanager
def _opened(files: Files, path: str) -> Iterator[_Opened]:
    with (
        damage_named(files, path, remedy="rebuild the partition that wrote it"),
        files.open_input(path) as opened,
    ):
        footer = read_footer(opened)
        with parse_parquet(opened, footer) as parquet:
            yield _Opened(opened, parquet, footer)


def _is_sparse(parquet: pq.ParquetFile, is_wanted: pa.BooleanArray) -> bool:
    """Say whether to look texts up one by one: few are wanted, and the file has pages for it."""
    return is_wanted.true_count <= len(is_wanted) * _SPARSE_SHARE and has_pages(parquet, "text")


def _looked_up(opened: _Opened, doc_ids: pa.ChunkedArray, is_wanted: pa.BooleanArray) -> Iterator[pa.Table]:
    """Yield doc_id and text of the wanted rows, from the pages that hold them."""
    source, parquet, footer = opened
    is_nullable = parquet.schema_arrow.field("text").nullable
    for (start, num_rows), pages in zip(
        _groups(parquet), read_pages(source, parquet, "text", footer=footer), strict=True
    ):
        rows = np.flatnonzero(is_wanted.slice(start, num_rows))
        for some in np.array_split(rows, range(_BATCH_ROWS, len(rows), _BATCH_ROWS)):
            texts = read_values(source, pages, some, is_nullable=is_nullable)
            columns = [doc_ids.take(pa.array(some + start)), pa.array(texts, pa.large_binary()).cast(pa.large_string())]
            yield pa.table(columns, names=["doc_id", "text"])


def _scanned(opened: _Opened, doc_ids: pa.ChunkedArray, is_wanted: pa.BooleanArray) -> Iterator[pa.Table]:
    """Yield doc_id and text of the wanted rows, from all pages of the row groups that hold any."""
    parquet = opened.parquet
    for group, (start, num_rows) in enumerate(_groups(parquet)):
        if not pc.any(is_wanted.slice(start, num_rows)).as_py():
            continue
        for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], columns=["doc_id", "text"]):
            yield pa.Table.from_batches([batch.filter(is_wanted.slice(start, len(batch)))])
            start += len(batch)


def _groups(parquet: pq.ParquetFile) -> Iterator[tuple[int, int]]:
    """Yield first row and number of rows of every row group."""
    start = 0
    for group in range(parquet.num_row_groups):
        num_rows = parquet.metadata.row_group(group).num_rows
        yield start, num_rows
        start += num_rows
