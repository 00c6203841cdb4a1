"""SQL over tables through DuckDB, which scans them lazily: columns and filters are pushed down to the files.

A table is written `"curated/web/documents"` or `curated.web.documents`. Only the tables that a query names are planned.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.dataset as ds

_BATCH_ROWS = 10_000


def run_query(query: str, tables: Iterable[str], open_table: Callable[[str], ds.Dataset]) -> pa.RecordBatchReader:
    """Run one query and stream its result; raises ValueError when DuckDB refuses it."""
    import duckdb

    connection = duckdb.connect(config={"python_enable_replacements": False})
    connection.execute("SET temp_directory = $1", [os.path.join(tempfile.gettempdir(), "corpusmill-duckdb")])
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


def _register(connection: "object", table: str, dataset: ds.Dataset) -> None:
    connection.register(table, dataset)  # type: ignore[attr-defined]
    parts = table.split("/")
    if len(parts) != 3:
        return
    database, schema, name = (f'"{part}"' for part in parts)
    for statement in (
        f"ATTACH IF NOT EXISTS ':memory:' AS {database}",
        f"CREATE SCHEMA IF NOT EXISTS {database}.{schema}",
        f'CREATE VIEW {database}.{schema}.{name} AS SELECT * FROM temp."{table}"',
    ):
        connection.execute(statement)  # type: ignore[attr-defined]
