"""What a new snapshot costs: 5 % new data against the rest, beside the same 5 % in a lake of its own.

CPU seconds and bytes read of the tasks (signatures, resolution, removals), each in a process of its own, on the plain
engine. A quarter of the new snapshot's documents are copies of earlier ones, nearly all of the rest.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa

from benchmarks.dedup_lake import (
    DATASET,
    add_snapshot,
    corpus_texts,
    deduplicate_snapshot,
    every,
    run_task,
    settings_in,
)
from benchmarks.dedup_whole import run_command
from benchmarks.harness import Measure, at_most, print_measures
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from corpusmill.tasks import resolve
from corpusmill.tasks.task import UNPARTITIONED

MEGABYTES = 400
HISTORY = 4
"""Snapshots of the rest."""
NEW_SHARE = 0.05
SMALL_MEGABYTES = 10


def measures(megabytes: float = MEGABYTES) -> list[Measure]:
    """Return what a new snapshot costs and whether the order of work shows in the result."""
    return [*_costs(megabytes), _one_or_five()]


def _costs(megabytes: float) -> list[Measure]:
    """Compare the new snapshot's cost against the rest with its cost alone."""
    texts = corpus_texts(megabytes)
    num_old = round(len(texts) * (1 - NEW_SHARE))
    old, new = texts[:num_old], texts[num_old:]
    found = {}
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        against, alone = Path(folder) / "against", Path(folder) / "alone"
        _deduplicate_one_by_one(settings_in(against, engine="plain"), _in_parts(old, HISTORY))
        for place in (against, alone):
            add_snapshot(settings_in(place, engine="plain"), "new", new)
            found[place] = run_command([sys.executable, "-m", "benchmarks.dedup_lake", place, "new"]).said
    what = f"a snapshot of {megabytes * NEW_SHARE:.0f} MB against {megabytes * (1 - NEW_SHARE):.0f} MB"
    return [
        Measure(
            measure=f"{what}: {name}",
            ours=found[against][key] / unit,
            other=found[alone][key] / unit,
            other_name="the same alone",
            bar=at_most(2, of="ratio"),
        )
        for name, key, unit in (("CPU (s)", "cpu_seconds", 1), ("bytes read (MB)", "bytes_read", 1e6))
    ]


def _one_or_five() -> Measure:
    """Resolve five snapshots one by one and all at once."""
    snapshots = _in_parts(corpus_texts(SMALL_MEGABYTES), 5)
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        one_by_one, at_once = (settings_in(Path(folder) / name, engine="plain") for name in ("five", "one"))
        _deduplicate_one_by_one(one_by_one, snapshots)
        for number, documents in enumerate(snapshots):
            add_snapshot(at_once, f"{number}", documents)
            run_task(at_once, "sign", f"{number}")
        run_task(at_once, "resolve", UNPARTITIONED)
        five, one = (Lake(settings.lake).read(resolve.table(DATASET)) for settings in (one_by_one, at_once))
    what = f"rows that differ of {len(one):,} removals: five snapshots resolved one by one and at once"
    different = set(map(str, five.to_pylist())) ^ set(map(str, one.to_pylist()))
    return Measure(measure=what, ours=len(different), bar=at_most(0))


def _in_parts(texts: pa.Array, num_parts: int) -> list[pa.Array]:
    return [every(texts, num_parts, number) for number in range(num_parts)]


def _deduplicate_one_by_one(settings: Settings, snapshots: list[pa.Array]) -> None:
    for number, texts in enumerate(snapshots):
        add_snapshot(settings, f"{number}", texts)
        deduplicate_snapshot(settings, f"{number}")


if __name__ == "__main__":
    print_measures(measures(*map(float, sys.argv[1:])))
