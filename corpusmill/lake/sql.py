"""SQL over tables through DuckDB, which scans them lazily: columns and filters are pushed down to the files.

A table is written `"curated/web/documents"` or `curated.web.documents`. Only the tables that a query names are planned.
"""

import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

_BATCH_ROWS = 10_000


def run_query(query: str, tables: Iterable[str], open_table: Callable[[str], ds.Dataset]) -> pa.RecordBatchReader:
    """Run one query and stream its result; raises ValueError when DuckDB refuses it."""
    import duckdb

    connection = duckdb.connect(config={"python_enable_replacements": False})
    # DuckDB would draw its progress bar on standard output, among the rows.
    connection.execute("SET enable_progress_bar = false")
    # A folder of its own: DuckDB makes it when it must spill, and removes it at the end.
    spill = os.path.join(tempfile.gettempdir(), f"corpusmill-duckdb-{uuid.uuid4().hex}")
    connection.execute("SET temp_directory = $1", [spill])
    known = list(tables)
    for table in known:
        if _names(query, table):
            _register(connection, table, open_table(table))
    try:
        result = connection.sql(query)
        if result is None:
            raise ValueError("the statement returns no rows; corpusmill sql answers queries")
        reader = result.to_arrow_reader(_BATCH_ROWS)
    except duckdb.Error as error:
        raise ValueError(f"{error}\nThe lake's tables: {', '.join(known) or 'none'}") from error
    return pa.RecordBatchReader.from_batches(reader.schema, _drain(reader, connection))


def _drain(reader: pa.RecordBatchReader, connection: object) -> Iterator[pa.RecordBatch]:
    """Yield the batches; holding the connection keeps it open until the last one."""
    yield from reader


def _names(query: str, table: str) -> bool:
    parts = [f'"?{re.escape(part)}"?' for part in table.split("/")]
    return f'"{table}"' in query or re.search(r"\s*\.\s*".join(parts), query, re.IGNORECASE) is not None


def _register(connection: Any, table: str, dataset: ds.Dataset) -> None:
    connection.register(table, dataset)
    parts = table.split("/")
    if len(parts) != 3:
        return
    database, schema, name = (f'"{part}"' for part in parts)
    for statement in (
        f"ATTACH IF NOT EXISTS ':memory:' AS {database}",
        f"CREATE SCHEMA IF NOT EXISTS {database}.{schema}",
        f'CREATE VIEW {database}.{schema}.{name} AS SELECT * FROM temp."{table}"',
    ):
        connection.execute(statement)
