"""Random positions of a mix with all stages, each explained down to the source that its tokens were read from.

The lake is made by the real tasks: records, texts, verdicts, duplicates, documents, rephrasing, translation, packing, plan.
Every locator is checked: the bytes that it names must hold the document's URL.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.mixing_lake import DATASET, MIX, StagedLake, make_lake
from corpusmill.trace.explain import MixTracer, TracedSequence

DOCUMENTS = 2_000
"""In each of two snapshots."""
POSITIONS = 1_000
MAX_SECONDS = 1.0


def measures() -> list[Measure]:
    """Return how many positions lead to their sources, and how long the slowest took."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-trace-", ignore_cleanup_errors=True) as folder:
        return _measured(make_lake(Path(folder), num_documents=DOCUMENTS, num_words=100))


def _measured(staged: StagedLake) -> list[Measure]:
    started = time.perf_counter()
    tracer = MixTracer(staged.lake, MIX)
    opened = time.perf_counter() - started
    random = np.random.default_rng(11)
    seconds, resolved, pieces = [], 0, 0
    for position in random.integers(0, tracer.plan.num_positions, POSITIONS).tolist():
        started = time.perf_counter()
        found = tracer.explain(position)
        seconds.append(time.perf_counter() - started)
        resolved += found.is_located and leads_to_sources(staged, found)
        pieces += len(found.pieces)
    print(
        f"{tracer.plan.num_positions:,} positions, {pieces:,} pieces of documents in {POSITIONS:,} of them", flush=True
    )
    scale = 1 << 10 if sys.platform == "linux" else 1
    return [
        Measure(measure="positions resolved to source locators", ours=resolved / POSITIONS, bar=at_least(1.0)),
        Measure(measure="explain a position, the slowest (s)", ours=max(seconds), bar=at_most(MAX_SECONDS)),
        Measure(measure="explain a position, the median (s)", ours=float(np.median(seconds))),
        Measure(measure="open the mix (s)", ours=opened),
        Measure(
            measure="peak memory of the process, with making the lake (MB)",
            ours=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6,
        ),
    ]


def leads_to_sources(staged: StagedLake, found: TracedSequence) -> bool:
    """Return whether the place of each source holds the line with its URL."""
    folder = Path(staged.settings.source(DATASET).uri)
    for piece in found.pieces:
        for source in piece.document.sources():
            assert source.record is not None
            with (folder / source.record["file"]).open("rb") as file:
                file.seek(source.record["offset"])
                if json.loads(file.read(source.record["length"]))["url"] != piece.document.row["url"]:
                    return False
    return True


if __name__ == "__main__":
    print_measures(measures())
