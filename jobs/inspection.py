"""Looking at the lake and at what runs: a query's rows, the tables with their partitions, the engines with their leases."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console
from rich.table import Table

from corpusmill.lake.partitions import PartitionState
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from jobs.development import running_url

CELL_CHARACTERS = 200
_QUOTED = r'^$|[",\r\n]|^\s|\s$'
"""Texts that CSV needs in quotes."""
LEDGER = ("in", "kept", "dropped", "failed")
"""What became of the rows that a partition was made from; a table may keep rows of what it dropped, with the reason."""


def print_query(settings: Settings, *, query: str, form: str, most_rows: int, allow_failed_gate: bool) -> None:
    """Run a query over the lake and write its rows as they come: `table` stops after `most_rows`, csv and json do not."""
    lake = Lake(settings.lake)
    if not lake.exists:
        print(f"There is no lake in {settings.lake.store.root} yet.", file=sys.stderr)
    reader = lake.sql(query, allow_failed_gate=allow_failed_gate)
    if form == "csv":
        _write_csv(reader, sys.stdout.buffer)
    elif form == "json":
        for row in _rows(reader):
            print(json.dumps(row, default=str, ensure_ascii=False))
    else:
        _print_table(reader, most_rows)


def print_status(settings: Settings) -> None:
    """Print every table with its partitions, and who runs: the UI and the leased engines."""
    console = _console()
    lake = Lake(settings.lake)
    table = _table("table", "partition", "rows", *LEDGER, "MB", "gate")
    for name in sorted(lake.tables()):
        for partition, state in sorted(lake.partitions(name).items()):
            gate = ", ".join(state.gate_failures) or "ok"
            ledger = [f"{number:,}" for number in _ledger(state)]
            table.add_row(
                name, partition, f"{state.num_rows:,}", *ledger or [""] * 4, f"{state.num_bytes / 1e6:,.1f}", gate
            )
    console.print(f"Lake {settings.lake.store.root}" + ("" if lake.exists else ", which is not there yet"))
    console.print(
        table if table.row_count else "  no table yet: `corpusmill demo` or `corpusmill materialize` makes some"
    )
    for line in engine_lines(Path(settings.state_folder)):
        console.print(line)
    url = running_url(settings)
    console.print(f"UI {url}" if url else "UI not running: `corpusmill dev` starts it")


def print_rows(rows: Sequence[Mapping[str, Any]], *, nothing: str) -> None:
    """Print rows as a table under all their names, or `nothing` where there is none."""
    if not rows:
        _console().print(nothing)
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = _table(*names)
    for row in rows:
        table.add_row(*(_number(row.get(name)) for name in names))
    _console().print(table)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _cell(value)


def _ledger(state: PartitionState) -> list[int]:
    """Return the numbers of LEDGER, none of a partition that no task made."""
    counts = state.state.get("counts")
    return [counts[name] for name in ("rows_in", *LEDGER[1:])] if counts else []


def engine_lines(state_folder: Path) -> list[str]:
    """Return a line for every engine that was ever leased here: what it is, whether it runs, how many hold it."""
    from corpusmill.engines.engine_folder import EngineFolder

    lines = []
    for path in sorted((state_folder / "engines").glob("*/")):
        folder = EngineFolder(path)
        record = folder.record()
        state = record.state if record and folder.is_hosted() else "not running"
        lines.append(f"engine {path.name}: {state}, {folder.live_leases()} leases")
    return lines or ["engines: none was started yet"]


def print_maintenance(settings: Settings, *, keep_snapshots_days: float, orphan_age_days: float) -> None:
    """Expire old versions, delete files that nothing needs, and print how many."""
    lake = Lake(settings.lake)
    lake.require()
    counts = lake.maintain(
        keep_snapshots_days=keep_snapshots_days, orphan_age_days=orphan_age_days, now=datetime.now(UTC)
    )
    for name, number in counts.items():
        print(f"{name.replace('_', ' ')}: {number:,}")


def _rows(reader: pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
    for batch in reader:
        yield from batch.to_pylist()


def _write_csv(reader: pa.RecordBatchReader, out: IO[bytes]) -> None:
    for item in reader.schema:
        if pa.types.is_nested(item.type):
            raise ValueError(
                f"CSV has no form for the nested column {item.name!r}; select its parts, or take --format json"
            )
        if pa.types.is_binary(item.type):
            raise ValueError(f"CSV has no form for the bytes of the column {item.name!r}; select hex({item.name})")
    columns = [pa.array([name], pa.large_string()) for name in reader.schema.names]
    _write_lines(columns, out)
    for batch in reader:
        _write_lines([column.cast(pa.large_string()) for column in batch.columns], out)


def _write_lines(columns: Sequence[pa.Array], out: IO[bytes]) -> None:
    """Write columns of text as lines of CSV. An empty text is quoted, so that it is no null; so is what CSV would misread."""
    quoted = [pc.if_else(pc.match_substring_regex(column, _QUOTED), _in_quotes(column), column) for column in columns]
    lines = pc.binary_join_element_wise(*quoted, _text(","), null_handling="replace", null_replacement="")
    out.writelines(f"{line}\n".encode() for line in lines.to_pylist())


def _in_quotes(column: pa.Array) -> pa.Array:
    doubled = pc.replace_substring(column, '"', '""')
    return pc.binary_join_element_wise(_text('"'), doubled, _text('"'), _text(""))


def _text(value: str) -> pa.Scalar:
    return pa.scalar(value, pa.large_string())


def _print_table(reader: pa.RecordBatchReader, most_rows: int) -> None:
    rows = list(islice(_rows(reader), most_rows + 1))
    table = _table(*reader.schema.names)
    for row in rows[:most_rows]:
        table.add_row(*(_cell(row[name]) for name in reader.schema.names))
    console = _console()
    console.print(table if rows else "No rows.")
    if len(rows) > most_rows:
        console.print(f"The first {most_rows} rows; --limit shows more, --format csv or json all.")


def _cell(value: Any) -> str:
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _console() -> Console:
    # A pipe has no width: rows stay whole lines there.
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 1000)
