"""Tables of a result that are better looked at than read, by their title: as Markdown of characters, like every plot."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assets.tables import BAR_CHARACTERS, MAX_CHARACTERS, OTHERS, bar_table, escape

Rows = Sequence[Mapping[str, Any]]

MAX_PLACES = 8
MAX_BARS = 21
"""Every quality tier and none."""
SHADES = " ░▒▓█"


def overlap_matrix(rows: Rows) -> str:
    """Return removed documents by their place (down) and that of the kept one (across), darker the more they are.

    A row has the place of the removed documents, that of the kept ones, and how many they are, in this order.
    """
    cells = [tuple(row.values()) for row in rows]
    totals: dict[str, int] = {}
    for one, other, number in cells:
        for name in (one, other):
            totals[name] = totals.get(name, 0) + number
    names = sorted(totals, key=lambda name: (-totals[name], name))
    for num_places in range(min(len(names), MAX_PLACES), 0, -1):
        shown = _matrix(cells, names[:num_places], is_whole=num_places == len(names))
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


def distribution_plot(rows: Rows) -> str:
    """Return a bar of documents for each row, in their order: what was kept, then lighter what was dropped.

    A row has a name, documents, and how many of these were dropped, in this order; those that do not fit are one row.
    """
    cells = [tuple(row.values()) for row in rows]
    head = [f"| {' | '.join(rows[0])} | kept █ dropped ░ |", "| --- | --: | --: | --- |"]
    for num_bars in range(min(len(cells), MAX_BARS), 0, -1):
        shown = "\n".join([*head, *_bars(cells[:num_bars], cells[num_bars:])])
        if len(shown) <= MAX_CHARACTERS:
            return shown
    return shown


def funnel_plot(rows: Rows) -> str:
    """Return a bar of what is left after each stage, in their order, with what the stage took."""
    most = max((row["left"] for row in rows), default=0) or 1
    lines = ["| stage | left | lost | |", "| --- | --: | --: | --- |"]
    for row in rows:
        bar = "█" * round(row["left"] / most * BAR_CHARACTERS)
        lost = f"−{row['lost']:,}" if row["lost"] else ""
        lines.append(f"| {escape(row['stage'])} | {row['left']:,} | {lost} | {bar} |")
    return "\n".join(lines)


def speed_plot(rows: Rows) -> str:
    """Return tokens a second of settings as bars: the lowest repeat, on to the median, on to the highest. Most fit the page."""
    most = max((row["high"] for row in rows), default=0) or 1
    lines = ["| settings | tier | tokens/s | lowest █ median ▓ highest ━ |", "| --- | --: | --: | --- |"]
    for row in rows:
        low, middle, high = (round(row[name] / most * BAR_CHARACTERS) for name in ("low", "median", "high"))
        bar = "█" * low + "▓" * (middle - low) + "━" * (high - middle)
        lines.append(f"| {escape(row['settings'])} | {row['tier']} | {row['median']:,.1f} | {bar or 'failed'} |")
    while len("\n".join(lines)) > MAX_CHARACTERS and len(lines) > 3:
        lines.pop()
    return "\n".join(lines)


def mixture_plot(rows: Rows) -> str:
    """Return each component's tokens as a bar, with its planned share where the real one differs, largest first."""
    ordered = sorted(rows, key=lambda row: (-row["realised_tokens"], row["component"]))
    most = max((row["realised_tokens"] for row in ordered), default=0) or 1
    head = ["| component | tokens | share | planned | epochs | generated ░ |", "| --- | --: | --: | --: | --: | --- |"]
    lines = []
    for row in ordered:
        bar = ("░" if row["is_synthetic"] else "█") * round(row["realised_tokens"] / most * BAR_CHARACTERS)
        shares = f"{row['realised_share']:.2%} | {row['planned_share']:.2%}"
        lines.append(
            f"| {escape(row['component'])} | {row['realised_tokens']:,} | {shares} | {row['epochs']:.2f} | {bar} |"
        )
    for num_lines in range(len(lines), 0, -1):
        rest = ordered[num_lines:]
        tokens, share, planned = (
            sum(row[name] for row in rest) for name in ("realised_tokens", "realised_share", "planned_share")
        )
        others = [f"| {OTHERS} ({len(rest)}) | {tokens:,} | {share:.2%} | {planned:.2%} | | |"] if rest else []
        shown = "\n".join([*head, *lines[:num_lines], *others])
        if len(shown) <= MAX_CHARACTERS:
            return shown
    return "\n".join(head)


def token_plot(rows: Rows) -> str:
    """Return a bar of tokens for each name; a row has a name and tokens, in this order."""
    return bar_table({str(name): tokens for name, tokens in (row.values() for row in rows)})


PLOTS: dict[str, Callable[[Rows], str]] = {
    "source_overlap": overlap_matrix,
    "snapshot_overlap": overlap_matrix,
    "s_curve_measured": s_curve_plot,
    "cluster_sizes": cluster_plot,
    "languages": distribution_plot,
    "quality_tiers": distribution_plot,
    "accept_funnel": funnel_plot,
    "speeds": speed_plot,
    "shares": mixture_plot,
    "tokens_by_language": token_plot,
}


def _bars(cells: Sequence[tuple[Any, int, int]], rest: Sequence[tuple[Any, int, int]]) -> Iterator[str]:
    others = [(OTHERS, sum(number for _, number, _ in rest), sum(dropped for _, _, dropped in rest))]
    shown = [*cells, *(others if rest else [])]
    most = max(number for _, number, _ in shown) or 1
    for name, number, dropped in shown:
        kept, whole = (round(part / most * BAR_CHARACTERS) for part in (number - dropped, number))
        yield f"| {escape(str(name))} | {number:,} | {dropped:,} | {'█' * kept}{'░' * (whole - kept)} |"


def _matrix(cells: Sequence[tuple[str, str, int]], names: Sequence[str], *, is_whole: bool) -> str:
    labels = [*names] if is_whole else [*(name for name in names if name != OTHERS), OTHERS]
    sums = dict.fromkeys([(one, other) for one in labels for other in labels], 0)
    for one, other, number in cells:
        sums[one if one in labels else OTHERS, other if other in labels else OTHERS] += number
    most = max(sums.values()) or 1
    lines = [
        f"| duplicates of → | {' | '.join(escape(label) for label in labels)} |",
        "| --- |" + " --: |" * len(labels),
    ]
    for label in labels:
        shades = [f"{sums[label, other]:,} {_shade(sums[label, other] / most)}" for other in labels]
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
