"""Deduplication with this library as a script of a page: Parquet files of texts to a table of duplicates, two threads.

    python -m benchmarks.dedup_files FOLDER out.parquet

The last line of output is JSON: the seconds after a first run over a few documents, what was found, the peak memory.
"""

import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.curation_memory import peak_bytes
from benchmarks.dedup_corpus import write_corpus
from corpusmill.dedup.duplicates import Resolution, find_duplicates
from corpusmill.dedup.parameters import FINEWEB, DedupParameters
from corpusmill.dedup.signatures import sign
from corpusmill.dedup.texts import stored_texts
from corpusmill.lake.store import Store, StoreSettings

THREADS = 2
EFFORT = ("compared_pairs", "skipped_in_hot_buckets", "skipped_over_limit", "largest_hot_bucket")


def deduplicate(
    files: list[Path], *, threads: int = THREADS, parameters: DedupParameters = FINEWEB, snapshot: str = "1"
) -> Resolution:
    """Return who duplicates whom in files of doc_id and text, all of one snapshot."""

    def sign_file(file: Path) -> pa.Table:
        texts = pq.read_table(file, columns=["doc_id", "text"])
        same = {
            name: pa.repeat(value, len(texts)) for name, value in (("snapshot", snapshot), ("text_file", str(file)))
        }
        columns = {name: texts[name] for name in texts.column_names}
        return sign(pa.table({**columns, **same, "text_hash": pa.nulls(len(texts), pa.string())}), parameters.to_json())

    read_texts = stored_texts(Store(StoreSettings(root=str(files[0].parent))))
    with ThreadPoolExecutor(threads) as pool:
        signatures = list(pool.map(sign_file, files))
        return find_duplicates(signatures, parameters=parameters, read_texts=read_texts, map_calls=pool.map)


def main(folder: Path, out: Path) -> None:
    with tempfile.TemporaryDirectory() as first:
        write_corpus(Path(first) / "texts", megabytes=0.1, num_files=2)
        deduplicate(sorted(Path(first, "texts").glob("*.parquet")))
    started, cpu_started = time.perf_counter(), time.process_time()
    found = deduplicate(sorted(folder.glob("*.parquet")))
    pq.write_table(found.table, out)
    seconds = time.perf_counter() - started
    cpu_seconds = time.process_time() - cpu_started
    effort = {name: found.statistics.scalars[name] for name in EFFORT}
    used = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": peak_bytes()}
    print(json.dumps({**used, "removed": len(found.table), **effort}))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
