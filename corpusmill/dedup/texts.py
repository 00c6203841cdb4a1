"""Texts of candidates out of a stored Parquet file: by doc_id, never by row position, and a missing one is an error.

Cost: one streaming pass over two columns of the file; memory is a batch of rows and what was asked for.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.dedup.evidence import ReadTexts

_BATCH_ROWS = 256


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
    for batch in stored_columns(files, text_file, ("doc_id", "text")):
        chosen = batch.filter(pc.is_in(batch.column("doc_id"), wanted))
        found += len(chosen)
        yield chosen
    if found != len(wanted):
        raise ValueError(
            f"{text_file} holds {found} of the {len(wanted)} documents that signatures say it does; "
            "it was replaced after they were made: rebuild the signatures"
        )


def stored_columns(files: Files, path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the columns of a Parquet file in small tables; an unreadable file is a ValueError that names it."""
    try:
        with files.open_input(path) as opened, pq.ParquetFile(opened) as parquet:
            present = [name for name in columns if name in parquet.schema_arrow.names]
            for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, columns=present):
                yield pa.Table.from_batches([batch])
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"cannot read {path}: {error}; rebuild the partition that wrote it") from error
