"""Texts of candidates out of a stored Parquet file: by doc_id, never by row position, and a missing one is an error.

Cost: one pass over the file's doc_ids and the texts of those row groups that hold a wanted one; memory is the doc_ids, a
batch of rows and what was asked for. Bytes that changed inside the file are refused by its page checksums.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.dedup.evidence import ReadTexts

_BATCH_ROWS = 256
_PIECE_BYTES = 1 << 20


class Files(Protocol):
    """What opens files by absolute URI: the lake's store."""

    def open_input(self, key: str) -> Any: ...


def stored_texts(files: Files) -> ReadTexts:
    """Return a reader of texts by (text file, doc_ids)."""

    def read_texts(text_file: str, doc_ids: Sequence[str]) -> pa.Table:
        return pa.concat_tables(select_texts(files, text_file, doc_ids))

    return read_texts


def select_texts(files: Files, text_file: str, doc_ids: Sequence[str]) -> Iterator[pa.Table]:
    """Yield tables of doc_id and text; raises ValueError when the file lacks one of `doc_ids`."""
    wanted = pa.array(sorted(doc_ids), pa.string())
    found = 0
    with _opened(files, text_file) as parquet:
        stored = parquet.read(columns=["doc_id"])["doc_id"]
        is_wanted = pc.is_in(stored.cast(pa.string()), wanted).combine_chunks()
        start = 0
        for group in range(parquet.num_row_groups):
            num_rows = parquet.metadata.row_group(group).num_rows
            for chosen in _chosen(parquet, group, is_wanted.slice(start, num_rows)):
                found += len(chosen)
                yield chosen
            start += num_rows
    if found != len(wanted):
        raise ValueError(
            f"{text_file} holds {found} of the {len(wanted)} documents that signatures say it does; "
            "it was replaced after they were made: rebuild the signatures"
        )


def stored_columns(files: Files, path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the columns of a Parquet file in small tables; a garbled file is a ValueError that names it."""
    with _opened(files, path) as parquet:
        present = [name for name in columns if name in parquet.schema_arrow.names]
        for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, columns=present):
            yield pa.Table.from_batches([batch])


@contextmanager
def _opened(files: Files, path: str) -> Iterator[pq.ParquetFile]:
    try:
        with files.open_input(path) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as parquet:
            yield parquet
    except (OSError, pa.ArrowInvalid) as error:
        _read_through(files, path)
        raise ValueError(f"cannot read {path}: {error}; rebuild the partition that wrote it") from error


def _read_through(files: Files, path: str) -> None:
    """Raise the OSError of a storage that does not answer, which another attempt may find well; Parquet says the same of
    bytes that make no sense. A file that is gone stays gone."""
    try:
        with files.open_input(path) as opened:
            while opened.read(_PIECE_BYTES):
                pass
    except FileNotFoundError:
        return


def _chosen(parquet: pq.ParquetFile, group: int, is_wanted: pa.BooleanArray) -> Iterator[pa.Table]:
    """Yield doc_id and text of the wanted rows of a row group, which is not read where there are none."""
    if not pc.any(is_wanted).as_py():
        return
    start = 0
    for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], columns=["doc_id", "text"]):
        yield pa.Table.from_batches([batch.filter(is_wanted.slice(start, len(batch)))])
        start += len(batch)
