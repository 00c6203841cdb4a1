"""`corpusmill backfill`: from the words on the command line to backfills that ran, and what to print about them."""

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from corpusmill.settings import PriceSettings, Settings
from jobs.asset_graph import (
    UNPARTITIONED,
    AssetGraph,
    PartitionRange,
    levels,
    read_graph,
    select_assets,
    select_partitions,
    shown,
)
from jobs.backfill import Failure, Outcome, Work, run_backfill
from jobs.current import current_partitions, read_tasks
from jobs.development import running_url
from jobs.estimate import Estimate, Figures, estimate, read_history
from jobs.failed import failed_work, read_all_states
from jobs.graphql import Instance

DEFAULT_URL = "http://127.0.0.1:3000"
FAILED_SHOWN = 20


def backfill(
    settings: Settings, *, assets: Sequence[str], partitions: str | None, failed: bool, dry_run: bool, url: str | None
) -> bool:
    """Run or estimate what the arguments choose (`partitions` None is all); return whether everything was made."""
    instance = Instance(url=(url or running_url(settings) or DEFAULT_URL).rstrip("/"))
    instance.check()
    graph = read_graph(instance)
    keys = select_assets(graph, assets)
    if failed:
        work = failed_work(graph, keys, read_all_states(instance, graph, keys))
    else:
        work = select_partitions(graph, keys, parse_ranges(partitions))
        if left_out := [key for key in keys if key not in work]:
            print(f"Left out, as they have no partitions yet: {', '.join(left_out)}")
    if not work:
        print("No partition failed or was canceled: there is nothing to run.")
        return True
    if dry_run:
        print_estimate(instance, graph, work, settings)
        return True
    try:
        outcome = _run(instance, graph, work)
    except KeyboardInterrupt:
        print(
            f"No longer following. Runs that were launched go on: {instance.url}/runs shows and ends them. What was not "
            "launched is not: the same command runs it, and skips what is current",
            flush=True,
        )
        raise
    print_outcome(instance, outcome)
    return not outcome.failures


def parse_ranges(text: str | None) -> list[PartitionRange] | None:
    """Return the ranges of `a..b,c`; None, which is all, for None."""
    return None if text is None else [PartitionRange.parse(part.strip()) for part in text.split(",")]


def _run(instance: Instance, graph: AssetGraph, work: Work) -> Outcome:
    """Run with a bar for each level on a terminal, and with a line whenever something changed elsewhere."""
    names = [", ".join(key for group in groups for key in group) for groups in levels(graph, work)]
    sizes = [sum(len(work[key]) for group in groups for key in group) for groups in levels(graph, work)]
    print(f"{sum(sizes)} partitions of {len(work)} assets in {len(names)} levels on {instance.url}")
    if not sys.stdout.isatty():
        return run_backfill(instance, graph, work, show=_Lines(names, sizes).show)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bars:
        tasks = [bars.add_task(name, total=size, start=False) for name, size in zip(names, sizes, strict=True)]

        def show(level: int, made: int, lost: int) -> None:
            bars.start_task(tasks[level])
            failed = f" ({lost} failed or not run)" if lost else ""
            bars.update(tasks[level], completed=made + lost, description=names[level] + failed)

        return run_backfill(instance, graph, work, show=show)


class _Lines:
    """Progress for a log file: a line when a level's numbers changed."""

    def __init__(self, names: Sequence[str], sizes: Sequence[int]) -> None:
        self.names = names
        self.sizes = sizes
        self.last = ""

    def show(self, level: int, made: int, lost: int) -> None:
        number = f"[{level + 1}/{len(self.names)}]"
        line = f"{number} {self.names[level]}: {made} of {self.sizes[level]} done, {lost} failed or not run"
        if line != self.last:
            print(line, flush=True)
            self.last = line


def print_outcome(instance: Instance, outcome: Outcome) -> None:
    """Say what was made, and of the rest why not and what to do."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(", ".join(f"{number} {how}" for how, number in outcome.numbers().items()))
    causes = by_cause(outcome.failures)
    for same in causes[:FAILED_SHOWN]:
        first, others = same[0], [one.asset for one in same if one.asset != one.cause]
        how = "canceled" if first.was_canceled else "failed"
        console.print(f"  {how} {first.cause} {first.partition}: {first.reason}")
        if others:
            console.print(f"    and so not run: {', '.join(others)}")
        if first.run_id:
            console.print(f"    {instance.url}/runs/{first.run_id}")
    if len(causes) > FAILED_SHOWN:
        console.print(f"  and {len(causes) - FAILED_SHOWN} more; the UI lists them")
    for key, names in outcome.held_back.items():
        console.print(f"  not run {key} {shown(names)}: an input was not made")
    if outcome.failures:
        console.print("Mend the cause, then run the same command with --failed in place of --partitions or --all.")


def by_cause(failures: Sequence[Failure]) -> list[list[Failure]]:
    """Return failures in groups of one asset that failed in one run, in order."""
    groups: dict[tuple[str, str, str | None], list[Failure]] = {}
    for one in failures:
        groups.setdefault((one.cause, one.partition, one.run_id), []).append(one)
    return list(groups.values())


def print_estimate(instance: Instance, graph: AssetGraph, work: Work, settings: Settings) -> None:
    """Print what would run, level by level, and what it would take; what is current takes nothing."""
    has_price = bool(settings.prices.cpu_hour or settings.prices.device_hour)
    prices = settings.prices if has_price else None
    current = current_partitions(graph, work, read_tasks(instance), settings)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    figures = ("documents", "tokens", "cpu hours", "device hours", *([settings.prices.currency] if has_price else []))
    for name in ("level", "asset", "partitions", "current", *figures, "from"):
        table.add_column(name, overflow="fold")
    total, never_ran = Figures(), []
    for number, groups in enumerate(levels(graph, work), start=1):
        for key in (key for group in groups for key in group):
            due = tuple(name for name in work[key] if name not in current.get(key, ()))
            history = read_history(instance, key, is_partitioned=bool(graph[key].partition_set)) if due else {}
            guess = estimate(history, due)
            total += guess.figures or Figures()
            never_ran += [] if guess.figures else [key]
            known = str(len(current[key])) if key in current else "?"
            cells = _cells(guess.figures, prices)
            table.add_row(str(number), key, _partitions(work[key]), known, *cells, _source(guess, due))
    # Documents and tokens pass through many assets: their sum would mean nothing.
    hours = _cells(total, prices)[2:]
    num_partitions, num_current = (sum(map(len, chosen.values())) for chosen in (work, current))
    table.add_row("", "all", str(num_partitions), str(num_current), "", "", *hours, "")
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200).print(table)
    if never_ran:
        print(f"Not in the sum, as they never ran: {', '.join(never_ran)}")
    lake = settings.lake.store.root
    print(f"Current in {lake}, so skipped: {num_current}. Would run: {num_partitions - num_current}.")
    if unknown := [key for key in work if key not in current]:
        print(f"Not looked at, so among those that would run: {', '.join(unknown)}")
    print("Nothing was launched: this was a dry run.")


def _source(guess: Estimate, due: Sequence[str]) -> str:
    if not due:
        return "nothing to do"
    return f"{guess.num_known} of {len(due)} themselves" if guess.figures else "never ran"


def _cells(figures: Figures | None, prices: PriceSettings | None) -> list[str]:
    if figures is None:
        return ["?"] * (5 if prices else 4)
    cells = [f"{figures.documents:,.0f}", f"{figures.tokens:,.0f}"]
    cells += [f"{figures.cpu_seconds / 3600:,.3f}", f"{figures.device_seconds / 3600:,.3f}"]
    return [*cells, f"{figures.money(prices):,.2f}"] if prices else cells


def _partitions(names: Sequence[str]) -> str:
    if UNPARTITIONED in names:
        return "1"
    shown = ", ".join(names[:3])
    return f"{len(names)}: {shown}{', …' if len(names) > 3 else ''}"
