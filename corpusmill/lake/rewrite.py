"""Emptying rows of files that are committed, in place: the one exception to names that are never written twice.

Only erasing does it (`corpusmill.trace.erase`). A row keeps its place, so that nothing that counts rows, names a file or pins a
version changes; what it said is gone. The file's footer says which rows were emptied (`emptied_rows`), in the same step as
they are. Memory: one row group.
"""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.lake.files import OpenFile
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.store import Store

_EMPTIED = "corpusmill.emptied"
Marks = Callable[[pa.Table], np.ndarray]
"""Says of each row of some columns whether it is meant."""


def emptied_rows(metadata: pq.FileMetaData) -> np.ndarray:
    """Return the numbers of a file's rows that were emptied, in order."""
    spelled = (metadata.metadata or {}).get(_EMPTIED.encode())
    return np.asarray(json.loads(spelled) if spelled else [], np.int64)


def rows_to_empty(store: Store, path: str, *, columns: Sequence[str], marks: Marks) -> np.ndarray:
    """Return the numbers of the rows that are marked and not emptied yet; reads the columns that `marks` wants."""
    with store.open_input(path) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
        parts, start = [np.zeros(0, np.int64)], 0
        for number in range(file.num_row_groups):
            rows = file.read_row_group(number, columns=list(columns))
            parts.append(np.flatnonzero(marks(rows)) + start)
            start += len(rows)
        return np.setdiff1d(np.concatenate(parts), emptied_rows(file.metadata))


def empty_rows(store: Store, path: str, rows: np.ndarray, *, columns: Sequence[str], says: Mapping[str, str]) -> None:
    """Write a file anew under its name, with some rows empty in `columns` and with the constants that `says` names.

    Empty is null, or where a column takes no null an empty text or list. Row groups stay as they are.
    """
    with store.open_input(path) as source, pq.ParquetFile(source, page_checksum_verification=True) as file:
        schema = file.schema_arrow.remove_metadata()
        emptied = np.union1d(emptied_rows(file.metadata), rows)
        out = OpenFile(store, store.key(path), schema, hashed=schema.names[1:])
        try:
            start = 0
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                stop = start + len(group)
                inside = rows[(rows >= start) & (rows < stop)] - start
                partition = group[PARTITION_KEY][0].as_py()
                out.write(_emptied(group, inside, columns, says).drop_columns([PARTITION_KEY]), partition)
                start = stop
            out.note({_EMPTIED: json.dumps(emptied.tolist())})
        except BaseException:
            out.discard()
            raise
        out.publish()


def _emptied(group: pa.Table, rows: np.ndarray, columns: Sequence[str], says: Mapping[str, str]) -> pa.Table:
    if not len(rows):
        return group
    # The last row of each column's values is what stands for an emptied one.
    places = np.arange(len(group))
    places[rows] = len(group)
    for number, item in enumerate(group.schema):
        if item.name in columns or item.name in says:
            stand_in = pa.array([says.get(item.name, _nothing(item))], item.type)
            values = pa.chunked_array([*group.column(number).chunks, stand_in], item.type)
            group = group.set_column(number, item, values.take(pa.array(places)))
    return group


def _nothing(item: pa.Field) -> object:
    if item.nullable:
        return None
    if pa.types.is_nested(item.type):
        return []
    return b"" if pa.types.is_binary(item.type) or pa.types.is_large_binary(item.type) else ""
