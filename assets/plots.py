"""Tables of a result that are better looked at than read, by their title: as Markdown of characters, like every plot."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assets.tables import BAR_CHARACTERS, MAX_CHARACTERS, OTHERS, bar_table, escape

Rows = Sequence[Mapping[str, Any]]

MAX_SOURCES = 8
SHADES = " ░▒▓█"


def overlap_matrix(rows: Rows) -> str:
    """Return removed documents by their source (down) and that of the kept one (across), darker the more they are."""
    totals: dict[str, int] = {}
    for row in rows:
        for name in (row["source"], row["duplicate_of_source"]):
            totals[name] = totals.get(name, 0) + row["documents"]
    names = sorted(totals, key=lambda name: (-totals[name], name))
    for num_sources in range(min(len(names), MAX_SOURCES), 0, -1):
        shown = _matrix(rows, names[:num_sources], is_whole=num_sources == len(names))
        if len(shown) <= MAX_CHARACTERS:
            return shown
    return shown


def s_curve_plot(rows: Rows) -> str:
    """Return the promised probability beside the measured one, whose interval is drawn where pairs were sampled."""
    lines = [
        "| Jaccard | promised | measured | pairs | 0 to 1: │ promised, ━ measured |",
        "| --- | --: | --- | --: | --- |",
    ]
    for row in rows:
        measured = "" if not row["pairs"] else f"{row['measured']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
        lines.append(f"| {row['jaccard']} | {row['promised']:.2f} | {measured} | {row['pairs']} | {_span(row)} |")
    return "\n".join(lines)


def cluster_plot(rows: Rows) -> str:
    """Return a bar for each class of cluster size, in the order of sizes."""
    return bar_table({row["size"]: row["clusters"] for row in rows}, is_ordered=True)


PLOTS: dict[str, Callable[[Rows], str]] = {
    "source_overlap": overlap_matrix,
    "s_curve_measured": s_curve_plot,
    "cluster_sizes": cluster_plot,
}


def _matrix(rows: Rows, names: Sequence[str], *, is_whole: bool) -> str:
    labels = [*names] if is_whole else [*names, OTHERS]
    cells = dict.fromkeys([(one, other) for one in labels for other in labels], 0)
    for row in rows:
        one, other = (name if name in names else OTHERS for name in (row["source"], row["duplicate_of_source"]))
        cells[one, other] += row["documents"]
    most = max(cells.values()) or 1
    lines = [
        f"| duplicates of → | {' | '.join(escape(label) for label in labels)} |",
        "| --- |" + " --: |" * len(labels),
    ]
    for label in labels:
        shades = [f"{cells[label, other]:,} {_shade(cells[label, other] / most)}" for other in labels]
        lines.append(f"| {escape(label)} | {' | '.join(shades)} |")
    return "\n".join(lines)


def _shade(share: float) -> str:
    return 2 * SHADES[math.ceil(share * (len(SHADES) - 1))]


def _span(row: Mapping[str, Any]) -> str:
    cells = [" "] * (BAR_CHARACTERS + 1)
    if row["pairs"]:
        for place in range(round(row["low"] * BAR_CHARACTERS), round(row["high"] * BAR_CHARACTERS) + 1):
            cells[place] = "━"
    cells[round(row["promised"] * BAR_CHARACTERS)] = "│"
    return f"`{''.join(cells)}`"
