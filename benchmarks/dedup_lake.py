"""A lake of extracted texts and their verdicts, made without a crawl, and the tasks of deduplication on it.

What runs on it are the product's own tasks: signatures of a snapshot, the resolution of all, the removals of a snapshot.
"""

import itertools
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.curation_memory import peak_bytes
from benchmarks.dedup_corpus import MEAN_BYTES, to_texts, word_rows
from benchmarks.dedup_files import EFFORT
from corpusmill.dedup.parameters import FINEWEB
from corpusmill.document import EXTRACTED, text_hash
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.names import data_directory
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks import extract, judge
from corpusmill.tasks.task import UNPARTITIONED, execute

DATASET = "web"
FILES_A_SNAPSHOT = 4


def settings_in(folder: Path, *, engine: str) -> Settings:
    """Return the settings of a lake in a folder, its engine `plain` or a `spark` of two cores."""
    spark = {"engine": engine, "master": "local[2]", "driver_memory": "2g", "linger_seconds": 120}
    return settings_from_table({"state_folder": str(folder), "spark": spark}, base=folder)


def corpus_texts(megabytes: float, *, seed: int = 1) -> pa.Array:
    """Return documents of together about `megabytes`, a quarter of them copies of others."""
    return to_texts(list(itertools.islice(word_rows(seed), max(1, round(megabytes * 1e6 / MEAN_BYTES)))))


def add_snapshot(settings: Settings, name: str, texts: pa.Array, *, dataset: str = DATASET) -> int:
    """Commit documents as an extracted snapshot whose every verdict keeps them; return their bytes."""
    lake = Lake(settings.lake)
    extracted = [_extracted(name, number, every(texts, FILES_A_SNAPSHOT, number)) for number in range(FILES_A_SNAPSHOT)]
    files = _commit(lake, extract.table(dataset), name, extracted)
    verdicts = [_verdicts(table, file) for table, file in zip(extracted, files, strict=True)]
    _commit(lake, judge.table(dataset), name, verdicts)
    lake.close()
    return int(pc.sum(pc.binary_length(texts)).as_py())


def every(texts: pa.Array, step: int, start: int) -> pa.Array:
    """Return each `step`-th text from `start` on."""
    return texts.take(pa.array(np.arange(start, len(texts), step)))


def deduplicate_snapshot(settings: Settings, name: str, *, dataset: str = DATASET) -> dict[str, Any]:
    """Run the tasks on a snapshot and return the result of the resolution; where its gate fails, that is the end."""
    run_task(settings, "sign", name, dataset=dataset)
    result = run_task(settings, "resolve", UNPARTITIONED, dataset=dataset)
    if result["gates"]["retention"]["passed"]:
        run_task(settings, "duplicates", name, dataset=dataset)
    return result


def run_task(settings: Settings, task: str, partition: str, *, dataset: str = DATASET) -> dict[str, Any]:
    """Run one task as its asset does."""
    parameters = {"max_removed_share": 1.0} if task == "duplicates" else FINEWEB.to_json()
    arguments = {"settings": settings.to_json(), "dataset": dataset, "partition": partition, "parameters": parameters}
    return execute(task, arguments, lambda message, numbers: None)


def measured(settings: Settings, name: str) -> dict[str, float]:
    """Deduplicate a snapshot after a first small run elsewhere; return seconds, CPU seconds and bytes read."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-first-") as folder:
        first = settings_in(Path(folder), engine="plain")
        add_snapshot(first, "1", corpus_texts(0.05))
        deduplicate_snapshot(first, "1")
    before = (time.perf_counter(), _cpu_seconds(), _bytes_read())
    result = deduplicate_snapshot(settings, name)
    after = (time.perf_counter(), _cpu_seconds(), _bytes_read())
    seconds, cpu_seconds, bytes_read = (end - start for start, end in zip(before, after, strict=True))
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "bytes_read": bytes_read,
        "removed": sum(result["counts"]["dropped"].values()),
        "peak_bytes": peak_bytes(),
        **{name: result["metrics"][name] for name in EFFORT},
    }


def _extracted(snapshot: str, number: int, texts: pa.Array) -> pa.Table:
    columns = {
        "doc_id": pa.array([f"{snapshot}-{number}-{place:07d}" for place in range(len(texts))]),
        "source": pa.repeat("web", len(texts)),
        "snapshot": pa.repeat(snapshot, len(texts)),
        "locator": pa.repeat("generated", len(texts)),
        "text": texts,
        "text_hash": pa.array([text_hash(text) for text in texts.to_pylist()]),
    }
    return _whole(columns, EXTRACTED, len(texts))


def _verdicts(texts: pa.Table, text_file: str) -> pa.Table:
    schema = judge.schema({"judge": "stem"})
    return _whole({"doc_id": texts["doc_id"], "text_file": pa.repeat(text_file, len(texts))}, schema, len(texts))


def _whole(columns: dict[str, Any], schema: pa.Schema, num_rows: int) -> pa.Table:
    """Return a table of the schema, null where `columns` has nothing."""
    return pa.table([columns.get(item.name, pa.nulls(num_rows, item.type)) for item in schema], schema=schema)


def _commit(lake: Lake, table: str, partition: str, tables: list[pa.Table]) -> list[str]:
    """Commit a file for each table and return the files' names."""
    attempt = lake.begin(table, partition, tables[0].schema)
    files = []
    for number, rows in enumerate(tables):
        writer = ShardWriter(
            lake.store,
            directory=data_directory(table, partition),
            name=f"{attempt.attempt}-{number}",
            schema=rows.schema,
            partition=partition,
        )
        with writer:
            writer.write(rows)
        files += writer.files
    lake.commit(attempt, files, {})
    return [lake.store.key(file.path) for file in files]


def _cpu_seconds() -> float:
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _bytes_read() -> int:
    """Return what this process has read so far, from the page cache or from the disk."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("rchar"))


if __name__ == "__main__":
    print(json.dumps(measured(settings_in(Path(sys.argv[1]), engine="plain"), sys.argv[2])))
