"""What a new snapshot costs: 5 % new data against the rest, beside the same 5 % in a lake of its own.

CPU seconds and bytes read of the tasks (signatures, resolution, removals), each in a process of its own, on the plain
engine. A third of the new snapshot's documents repeat earlier ones of it or of the rest.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.dedup_lake import add_snapshot, corpus_rows, deduplicate_snapshot, settings_in
from benchmarks.dedup_whole import run_command
from benchmarks.harness import Measure, at_most, print_measures

MEGABYTES = 400
HISTORY = 4
"""Snapshots of the rest."""
NEW_SHARE = 0.05


def measures(megabytes: float = MEGABYTES) -> list[Measure]:
    """Compare the new snapshot's cost against the rest with its cost alone."""
    rows = corpus_rows(megabytes)
    num_new = round(len(rows) * NEW_SHARE)
    old, new = rows[:-num_new], rows[-num_new:]
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        against, alone = Path(folder) / "against", Path(folder) / "alone"
        for number in range(HISTORY):
            settings = settings_in(against, engine="plain")
            add_snapshot(settings, f"{number}", old[number::HISTORY])
            deduplicate_snapshot(settings, f"{number}")
        found = {}
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


if __name__ == "__main__":
    print_measures(measures(*map(float, sys.argv[1:])))
