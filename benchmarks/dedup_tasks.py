"""The product's own tasks on a leased Spark of two cores: signatures, resolution and removals of one snapshot in a lake.

Time on the clock, Spark started before; commits to the lake included. By hand, growth: `python -m benchmarks.dedup_tasks 5000`.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.dedup_lake import add_snapshot, corpus_texts, deduplicate_snapshot, settings_in
from benchmarks.harness import Measure, print_measures
from corpusmill.engines.lease import lease
from corpusmill.settings import Settings
from corpusmill.tasks.engine import spark_engine_settings

SIZES = (50.0, 500.0)


def measures(sizes: Sequence[float] = SIZES) -> list[Measure]:
    """Return the speed on corpora of these sizes, in MB."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-", ignore_cleanup_errors=True) as folder:
        settings = settings_in(Path(folder), engine="spark")
        with lease("spark", spark_engine_settings(settings.spark), state_folder=Path(settings.state_folder)):
            _measured(settings, 1.0, dataset="first")
            return [_measured(settings, megabytes, dataset=f"web{megabytes:.0f}") for megabytes in sizes]


def _measured(settings: Settings, megabytes: float, *, dataset: str) -> Measure:
    num_bytes = add_snapshot(settings, "1", corpus_texts(megabytes), dataset=dataset)
    started = time.perf_counter()
    deduplicate_snapshot(settings, "1", dataset=dataset)
    seconds = time.perf_counter() - started
    return Measure(measure=f"{megabytes:,.0f} MB, tasks on Spark local[2] (MB/s)", ours=num_bytes / 1e6 / seconds)


if __name__ == "__main__":
    print_measures(measures([float(size) for size in sys.argv[1:]] or SIZES))
