"""Hot buckets: many documents that share a text but for a few words, and many that share a template and nothing else.

Each runs in a process of its own, which tells its peak memory; the seconds are those of the whole library, Parquet in to
duplicates out, on two threads, after a first small run.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedup_corpus import templated_rows, to_texts
from benchmarks.dedup_whole import run_command
from benchmarks.harness import Measure, at_least, at_most, print_measures

HOT_SIZES = (25_000, 50_000, 100_000)
TEMPLATED = 50_000
MAX_GIGABYTES = 3.0
"""Of one process, libraries included."""


def measures() -> list[Measure]:
    """Return memory, time and comparisons of both kinds of corpus."""
    hot = [run_in_process(size, template_words=100, own_words=4) for size in HOT_SIZES]
    templated = run_in_process(TEMPLATED, template_words=80, own_words=20)
    growth = hot[-1]["seconds"] / hot[0]["seconds"] / (HOT_SIZES[-1] / HOT_SIZES[0])
    seconds = ", ".join(f"{found['seconds']:.1f}" for found in hot)
    name = f"one bucket of {HOT_SIZES[-1]:,} documents"
    template = f"{TEMPLATED:,} documents, 80 % shared template"
    return [
        Measure(
            measure=f"{name}: largest bucket", ours=hot[-1]["largest_hot_bucket"], bar=at_least(0.95 * HOT_SIZES[-1])
        ),
        Measure(measure=f"{name}: peak memory (GB)", ours=hot[-1]["peak_bytes"] / 1e9, bar=at_most(MAX_GIGABYTES)),
        Measure(measure=f"{name}: time a document, to that at a quarter ({seconds} s)", ours=growth, bar=at_most(1.25)),
        Measure(measure=f"{template}: removed", ours=templated["removed"], bar=at_most(0)),
        Measure(
            measure=f"{template}: comparisons a document", ours=templated["compared_pairs"] / TEMPLATED, bar=at_most(50)
        ),
        Measure(measure=f"{template}: skipped pairs, counted", ours=_skipped(templated), bar=at_least(1)),
        Measure(
            measure=f"{template}: peak memory (GB)", ours=templated["peak_bytes"] / 1e9, bar=at_most(MAX_GIGABYTES)
        ),
        Measure(measure=f"{template}: time (s)", ours=templated["seconds"]),
    ]


def run_in_process(num_documents: int, *, template_words: int, own_words: int) -> dict[str, Any]:
    """Deduplicate documents of the same words first and different ones behind, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        texts = to_texts(templated_rows(num_documents, template_words=template_words, own_words=own_words))
        doc_ids = pa.array([f"{number:08d}" for number in range(num_documents)])
        (Path(folder) / "texts").mkdir()
        pq.write_table(pa.table({"doc_id": doc_ids, "text": texts}), Path(folder, "texts", "0.parquet"))
        command = [sys.executable, "-m", "benchmarks.dedup_files", Path(folder, "texts"), Path(folder, "out.parquet")]
        return run_command(command).said


def _skipped(found: dict[str, Any]) -> float:
    return float(found["skipped_in_hot_buckets"] + found["skipped_over_limit"])


if __name__ == "__main__":
    print_measures(measures())
