"""SQL over tables through DuckDB, which scans them lazily: columns and filters are pushed down to the files.

A table is written `"curated/web/documents"` or `curated.web.documents`. Only the tables that a query names are planned.
A query reads the lake and nothing else: DuckDB itself may open no file, since Arrow opens the lake's.
"""

import difflib
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

_BATCH_ROWS = 10_000
_READING = ("SELECT", "EXPLAIN", "MULTI")
"""Kinds of statements that read; a PIVOT is a MULTI. SHOW, DESCRIBE, SUMMARIZE, VALUES and FROM are SELECTs."""
_SHOW_TABLES = re.compile(r"\s*show\s+(all\s+)?tables\s*;?\s*", re.IGNORECASE)
_CATALOG = re.compile(
    r"\bshow\b|\binformation_schema\b|\bduckdb_\w+\s*\(|\bpg_catalog\b|\bsqlite_master\b", re.IGNORECASE
)
_UNKNOWN = re.compile(r'Table with name "?(.+?)"? does not exist')


def run_query(
    query: str,
    tables: Iterable[str],
    *,
    place: str,
    open_table: Callable[[str], ds.Dataset],
    table_schema: Callable[[str], pa.Schema],
) -> pa.RecordBatchReader:
    """Run one query and stream its result; raises ValueError when it is none, or DuckDB refuses it.

    `place` says where the lake is. `table_schema` gives the columns of a table that a question about the catalog shows
    without opening it.
    """
    import duckdb

    known = sorted(tables)
    connection = _connect()
    _check_reads(connection, query)
    if _SHOW_TABLES.fullmatch(query):
        return pa.table({"table": [_dotted(table) for table in known]}).to_reader()
    asks_catalog = _CATALOG.search(query) is not None
    for table in known:
        if _names(query, table):
            _register(connection, table, open_table(table))
        elif asks_catalog:
            _register(connection, table, table_schema(table).empty_table())
    # From here on DuckDB opens nothing itself, and no statement can change that.
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    try:
        reader = connection.sql(query).to_arrow_reader(_BATCH_ROWS)
    except duckdb.Error as error:
        raise ValueError(_explain(error, query, known, place)) from error
    return pa.RecordBatchReader.from_batches(reader.schema, _drain(reader, connection))


def _connect() -> Any:
    import duckdb

    connection = duckdb.connect(
        config={
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    # DuckDB would draw its progress bar on standard output, among the rows.
    connection.execute("SET enable_progress_bar = false")
    # A folder of its own: DuckDB makes it when it must spill, and removes it at the end.
    spill = os.path.join(tempfile.gettempdir(), f"corpusmill-duckdb-{uuid.uuid4().hex}")
    connection.execute("SET temp_directory = $1", [spill])
    return connection


def _check_reads(connection: Any, query: str) -> None:
    """Raise ValueError unless the text is one statement that reads."""
    import duckdb

    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    if len(statements) != 1:
        spelled = "; ".join(one.query.strip(" \n\t;") for one in statements)
        raise ValueError(
            f"wanted one query, got {len(statements)} statements: {spelled}. Run each by a call of its own"
            if statements
            else 'the query is empty; a first one is "show tables"'
        )
    if (kind := _kind(statements[0])) not in _READING:
        raise ValueError(
            f"wanted a query that reads (select, from, with, show, describe, summarize, explain), got {kind}: "
            "the lake is written by its assets alone, and rows leave it as csv or json on standard output"
        )


def _kind(statement: Any) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB's Python names fewer kinds than its parser knows
        return str(statement.query.split()[0]).upper()


def _explain(error: Exception, query: str, known: Sequence[str], place: str) -> str:
    """Return DuckDB's message, or a plainer one for a table that is not there and for a file of the machine."""
    import duckdb

    first = str(error).splitlines()[0]
    if isinstance(error, duckdb.PermissionException):
        return f"a query reads the lake's tables and no other files: {first}"
    if unknown := _UNKNOWN.search(first):
        written = _as_written(unknown[1], query)
        return f"the lake {place} has no table {written}; {_near(written, known)}"
    return str(error)


def _as_written(name: str, query: str) -> str:
    """Return a table's whole name; DuckDB says only the last part of one whose first parts it knows."""
    last = re.escape(re.split(r"[./]", name)[-1])
    found = re.search(rf'[\w./"]*{last}', query, re.IGNORECASE)
    return found[0].replace('"', "") if found else name


def _near(written: str, known: Sequence[str]) -> str:
    name = written.replace(".", "/").lower()
    close = [table for table in known if table.rpartition("/")[2] == name]
    close = close or difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    close = close or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(_dotted, close[:3]))}?"
    return 'corpusmill sql "show tables" lists those that there are' if known else "it has none yet"


def _dotted(table: str) -> str:
    return table.replace("/", ".")


def _drain(reader: pa.RecordBatchReader, connection: object) -> Iterator[pa.RecordBatch]:
    """Yield the batches; holding the connection keeps it open until the last one."""
    yield from reader


def _names(query: str, table: str) -> bool:
    parts = [f'"?{re.escape(part)}"?' for part in table.split("/")]
    return f'"{table}"' in query or re.search(r"\s*\.\s*".join(parts), query, re.IGNORECASE) is not None


def _register(connection: Any, table: str, dataset: ds.Dataset | pa.Table) -> None:
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
