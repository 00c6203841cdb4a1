"""Rows and bars as small Markdown tables for an asset's page.

Dagster shows Markdown of 1,000 characters and more behind a link only, and the page cuts wide tables off at the right:
so cells are cut to what fits, identifiers to their beginning, and columns without a value are left out.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

MAX_CHARACTERS = 999
CELL_CHARACTERS = (240, 160, 120, 80, 60, 40, 24)
IDENTIFIER = re.compile(r"[0-9a-f]{32,}")
IDENTIFIER_CHARACTERS = 9
MAX_BARS = 12
BAR_CHARACTERS = 12
OTHERS = "others"


def row_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table, with cells as long as fit; rows that do not fit even so are counted below it."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if _has_value(rows, name)]
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    for characters in CELL_CHARACTERS:
        shown = _table(names, cells, characters)
        if len(shown) <= MAX_CHARACTERS:
            return shown
    for num_rows in range(len(rows) - 1, 0, -1):
        shown = f"{_table(names, cells[:num_rows], CELL_CHARACTERS[-1])}\n\nand {len(rows) - num_rows} more rows"
        if len(shown) <= MAX_CHARACTERS:
            return shown
    return shown


def bar_table(values: Mapping[str, int], *, is_ordered: bool = False) -> str:
    """Return a bar for each value with its share of all, largest first or as they come; those beyond MAX_BARS are one bar."""
    ordered = list(values.items()) if is_ordered else sorted(values.items(), key=lambda item: (-item[1], item[0]))
    bars = ordered[:MAX_BARS]
    if rest := sum(value for _, value in ordered[MAX_BARS:]):
        bars = [*bars, (OTHERS, rest)]
    total = sum(values.values()) or 1
    largest = max((value for _, value in bars), default=0) or 1
    lines = [f"| {_cell(name)} | {value:,} | {value / total:.0%} | {_bar(value / largest)} |" for name, value in bars]
    return "\n".join(["| | | | |", "| --- | --: | --: | --- |", *lines])


def _bar(share: float) -> str:
    """Return a bar in eighths of a character, so that small shares are told apart."""
    full, eighths = divmod(round(share * BAR_CHARACTERS * 8), 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[eighths].strip()


def _has_value(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row.get(name) not in (None, "") for row in rows)


def _table(names: Sequence[str], cells: Sequence[Sequence[str]], characters: int) -> str:
    lines = [_line(names), "|" + " --- |" * len(names)]
    return "\n".join(lines + [_line([escape(_cut(cell, characters)) for cell in row]) for row in cells])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    """Return a value on one line, with the breaks of a text marked."""
    shown = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    if IDENTIFIER.fullmatch(shown):
        return _cut(shown, IDENTIFIER_CHARACTERS)
    return re.sub(r"\s*\n\s*", " ⏎ ", shown.replace("\r", "").strip())


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return re.sub(r"([\\|`*_<>\[\]$~#&])", r"\\\1", text)
