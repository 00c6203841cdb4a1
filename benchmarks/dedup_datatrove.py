"""datatrove's MinHash stages; started with the python of datatrove's own environment, so nothing of ours is imported.

    python dedup_datatrove.py stages FOLDER SCRATCH    the four stages over FOLDER/*.parquet, two workers
    python dedup_datatrove.py sign texts.parquet       the signatures of stage 1 alone, in this process

Both with FineWeb's settings: word 5-grams, 14 x 8, 64-bit hashes. The last line of output is JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from datatrove.data import Document
from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
from datatrove.utils.hashing import HashConfig
from datatrove.utils.typeshelper import Languages

WORKERS = 2
CONFIG = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8, hash_config=HashConfig(precision=64))


def run_stages(folder: str, scratch: str) -> dict[str, float]:
    """Run the four stages, one after the other; return how many documents are left."""
    tasks = len(list(Path(folder).glob("*.parquet")))
    reader = ParquetReader(folder, text_key="text", id_key="doc_id", glob_pattern="*.parquet")
    signatures, buckets, removals = (f"{scratch}/{name}" for name in ("signatures", "buckets", "removals"))
    stages = (
        ([reader, MinhashDedupSignature(signatures, config=CONFIG, language=Languages.english)], tasks),
        ([MinhashDedupBuckets(signatures, buckets, config=CONFIG)], CONFIG.num_buckets),
        ([MinhashDedupCluster(buckets, removals, config=CONFIG)], 1),
        ([reader, MinhashDedupFilter(removals), ParquetWriter(f"{scratch}/kept")], tasks),
    )
    for number, (pipeline, num_tasks) in enumerate(stages):
        workers = min(WORKERS, num_tasks)
        LocalPipelineExecutor(pipeline, tasks=num_tasks, workers=workers, logging_dir=f"{scratch}/logs{number}").run()
    kept = sum(pq.read_metadata(file).num_rows for file in Path(scratch, "kept").glob("*.parquet"))
    return {"kept": kept}


def sign(file: str) -> dict[str, float]:
    """Return the CPU seconds of signing the texts of a file that was read before, tokenizer warm."""
    texts = pq.read_table(file)["text"].to_pylist()
    step = MinhashDedupSignature(f"{file}-signatures", config=CONFIG, language=Languages.english)
    step.get_signature(step.get_shingles(texts[0]))
    documents = [Document(text=text, id=str(number)) for number, text in enumerate(texts)]
    started = time.process_time()
    step.run(iter(documents))
    return {"seconds": time.process_time() - started}


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    command, *rest = sys.argv[1:]
    commands: dict[str, Callable[..., dict[str, float]]] = {"stages": run_stages, "sign": sign}
    print(json.dumps(commands[command](*rest)))
