"""Form of the table: Markdown with a header, and as many cells in every row."""

import re

from corpusmill.synthesize.verify.case import Case

_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def table_form(case: Case, *, min_rows: int = 2, min_columns: int = 2, min_filled: float = 0.7) -> str | None:
    """Refuse a text without a table of `min_rows` different rows under a header, or with a table that is uneven or empty.

    Text around the table is allowed. `min_filled` is the share of cells that hold something.
    """
    tables = _tables(case.output.splitlines())
    if not tables:
        return "no_table"
    for header, rows in tables:
        if any(len(row) != len(header) for row in rows):
            return "uneven_table"
    header, rows = max(tables, key=lambda table: len(table[1]))
    if len(header) < min_columns or len({tuple(row) for row in rows}) < min_rows:
        return "too_small_a_table"
    cells = [cell for row in (header, *rows) for cell in row]
    return "empty_table" if sum(map(bool, cells)) < min_filled * len(cells) else None


def _tables(lines: list[str]) -> list[tuple[list[str], list[list[str]]]]:
    """Return header and rows of each table: a line with bars, a ruler below it, and the lines with bars that follow."""
    found = []
    for place, line in enumerate(lines):
        if place and "|" in line and _RULE.match(line) and "|" in lines[place - 1]:
            rows: list[list[str]] = []
            for below in lines[place + 1 :]:
                if "|" not in below:
                    break
                rows.append(_cells(below))
            found.append((_cells(lines[place - 1]), rows))
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _BETWEEN_CELLS.split(line.strip().removeprefix("|").removesuffix("|"))]
