"""The whole way on the sample: seconds, documents and megabytes of every stage, with the engines' start-ups apart.

Runs in a state folder of its own, so nothing is current when it begins. Commits at scale are measured beside it.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import commits
from benchmarks.harness import Measure, at_most
from corpusmill.engines.lease import lease
from corpusmill.lake.tables import Lake
from corpusmill.sample import build_sample
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.engine import spark_engine_settings
from corpusmill.tasks.inference import inference_engine_settings
from jobs.demo import run_way, sample_folder
from jobs.summary import STAGES, kept_results, totals

CACHE = Path(".corpusmill") / "sample" / ".packages"
"""The demo's downloads, used again where they are."""


def measure() -> Sequence[Measure]:
    """Return the start-ups, the stages and the commits."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-way-", ignore_cleanup_errors=True) as folder:
        settings = settings_from_table({"state_folder": folder}, base=Path(folder))
        build_sample(sample_folder(settings), cache=CACHE.absolute() if CACHE.is_dir() else None)
        way = [*_start_ups(settings), *_stages(settings)]
    return [*way, *commits.measure()]


def _start_ups(settings: Settings) -> Iterator[Measure]:
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "import definitions; definitions.defs()"], check=True)
    yield Measure(measure="start Dagster's code location (s)", ours=time.monotonic() - started)
    folder = Path(settings.state_folder)
    for name, kind, engine in (
        ("Spark", "spark", spark_engine_settings(settings.spark)),
        ("Ray with vLLM", "inference", inference_engine_settings(settings)),
    ):
        started = time.monotonic()
        with lease(kind, engine, state_folder=folder):
            yield Measure(measure=f"start {name} (s)", ours=time.monotonic() - started)


def _stages(settings: Settings) -> Iterator[Measure]:
    started = time.monotonic()
    run_way(settings, say=lambda line: None)
    yield Measure(measure="the whole way, engines warm (s)", ours=time.monotonic() - started, bar=at_most(600))
    results = kept_results(Lake(settings.lake))
    for stage in STAGES:
        tables = {name: totals(partitions) for name, partitions in results.items() if name.split("/")[0] == stage}
        yield Measure(measure=f"{stage} (s)", ours=sum(sums["seconds"] for sums in tables.values()))
        yield Measure(measure=f"{stage} (rows in)", ours=sum(sums["rows_in"] for sums in tables.values()))
        yield Measure(measure=f"{stage} (MB written)", ours=sum(sums["bytes"] for sums in tables.values()) / 1e6)
