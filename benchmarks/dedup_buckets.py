"""Hot buckets: many documents that share a text but for a few words, and many that share a template and nothing else.

Each runs in a process of its own, which tells its peak memory; the seconds are those of the library, Parquet in to duplicates
out on two threads, or of the product's tasks, after a first small run.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedup_corpus import punctuated_texts, templated_rows, to_texts
from benchmarks.dedup_lake import add_snapshot, settings_in
from benchmarks.dedup_whole import run_command
from benchmarks.harness import Measure, at_least, at_most, print_measures

HOT_SIZES = (25_000, 50_000, 100_000)
TEMPLATED = 50_000
MAX_GIGABYTES = 3.0
"""Of one process, libraries included."""
MAX_GROWTH = 1.5
"""Linear, but for sorts: n log n would give 1.14."""


def measures() -> list[Measure]:
    """Return memory, time and comparisons of the three kinds of corpus."""
    num_hot, num_templated = HOT_SIZES[-1], TEMPLATED
    template = f"{num_templated:,} documents, 80 % shared template"
    templated = run_in_process(to_texts(templated_rows(num_templated, template_words=80, own_words=20)))
    return [
        *_hot(
            f"{num_hot:,} documents of the same words, all in one bucket of every band",
            [run_in_process(punctuated_texts(size, num_words=100)) for size in HOT_SIZES],
        ),
        *_effort(
            f"{num_hot:,} documents of the same words, by the tasks",
            run_tasks(punctuated_texts(num_hot, num_words=100)),
        ),
        *_hot(
            f"{num_hot:,} documents, 4 of 104 words their own",
            [run_in_process(to_texts(templated_rows(size, template_words=100, own_words=4))) for size in HOT_SIZES],
        ),
        *_hot(
            f"{num_hot:,} documents, 4 of 104 words their own, by the tasks",
            [run_tasks(to_texts(templated_rows(size, template_words=100, own_words=4))) for size in HOT_SIZES],
        ),
        Measure(measure=f"{template}: removed", ours=templated["removed"], bar=at_most(0)),
        Measure(
            measure=f"{template}: comparisons a document",
            ours=templated["compared_pairs"] / num_templated,
            bar=at_most(50),
        ),
        Measure(measure=f"{template}: skipped pairs, counted", ours=_skipped(templated), bar=at_least(1)),
        *_effort(template, templated),
    ]


def _hot(what: str, found: list[dict[str, Any]]) -> list[Measure]:
    """Return the measures of a growing hot bucket."""
    times = [one["cpu_seconds"] for one in found]
    growth = times[-1] / times[0] / (HOT_SIZES[-1] / HOT_SIZES[0])
    seconds = ", ".join(f"{one:.1f}" for one in times)
    largest = found[-1]["largest_hot_bucket"]
    return [
        Measure(measure=f"{what}: documents in the largest bucket", ours=largest, bar=at_least(0.85 * HOT_SIZES[-1])),
        *_effort(what, found[-1]),
        Measure(
            measure=f"{what}: CPU a document, to that at a quarter ({seconds} s)", ours=growth, bar=at_most(MAX_GROWTH)
        ),
    ]


def _effort(what: str, found: dict[str, Any]) -> list[Measure]:
    return [
        Measure(measure=f"{what}: peak memory (GB)", ours=found["peak_bytes"] / 1e9, bar=at_most(MAX_GIGABYTES)),
        Measure(measure=f"{what}: time (s)", ours=found["seconds"]),
    ]


def run_in_process(texts: pa.Array) -> dict[str, Any]:
    """Deduplicate texts in a process of its own and return what that says."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        doc_ids = pa.array([f"{number:08d}" for number in range(len(texts))])
        (Path(folder) / "texts").mkdir()
        pq.write_table(pa.table({"doc_id": doc_ids, "text": texts}), Path(folder, "texts", "0.parquet"))
        command = [sys.executable, "-m", "benchmarks.dedup_files", Path(folder, "texts"), Path(folder, "out.parquet")]
        return run_command(command).said


def run_tasks(texts: pa.Array) -> dict[str, Any]:
    """Deduplicate texts as a snapshot of a lake, by the product's tasks on the plain engine, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        add_snapshot(settings_in(Path(folder), engine="plain"), "1", texts)
        return run_command([sys.executable, "-m", "benchmarks.dedup_lake", folder, "1"]).said


def _skipped(found: dict[str, Any]) -> float:
    return float(found["skipped_in_hot_buckets"] + found["skipped_over_limit"])


if __name__ == "__main__":
    print_measures(measures())
