"""The judge's own task on a leased Spark of two cores: Parquet files of texts to verdict files, in a lake of its own."""

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.document import EXTRACTED, text_hash
from corpusmill.engines.lease import lease
from corpusmill.engines.service import EngineSettings
from corpusmill.engines.shards import ShardPlan, run_shards
from corpusmill.engines.spark import SparkEngine
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.tasks import judge

SHARDS = 12
COPIES = 3
"""How often a shard holds the texts: about 60 MB, so that tasks are as long as in real use (files of 128 MB and more)."""
PARAMETERS = {"judge": "web", "rules": {"identifies_language": False, "masks_pii": False, "languages": []}}
"""The heuristic rules alone, as the bare ones are timed."""
_TABLE = "curated/web/verdicts"


@contextmanager
def judging_on_spark(texts: list[str], languages: list[str]) -> Iterator[Callable[[], float]]:
    """Write the texts to shards and give a function that judges them all, warm, and returns MB of text a second."""
    num_megabytes = SHARDS * COPIES * sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.TemporaryDirectory(prefix="corpusmill-spark-", ignore_cleanup_errors=True) as folder:
        lake = Lake(LakeSettings(store=StoreSettings(root=f"{folder}/lake")))
        keys = [_write(lake, texts, languages, number) for number in range(SHARDS)]
        settings = EngineSettings(service={"master": "local[2]", "driver_memory": "2g"}, linger_seconds=0)
        with lease("spark", settings, state_folder=Path(folder)) as endpoint:
            engine = SparkEngine(endpoint)
            _judge(lake, engine, keys[:2], partition="warm")
            runs = itertools.count()
            yield lambda: num_megabytes / _judge(lake, engine, keys, partition=f"run {next(runs)}")
            engine.close()
        lake.close()


def _judge(lake: Lake, engine: SparkEngine, keys: list[str], *, partition: str) -> float:
    plan = ShardPlan(
        function="corpusmill.tasks.judge:judge_shard",
        inputs=[{"text_file": key} for key in keys],
        parameters=PARAMETERS,
        schema=judge.schema(PARAMETERS),
    )
    started = time.perf_counter()
    run_shards(plan, engine=engine, lake=lake, attempt=lake.begin(_TABLE, partition, plan.schema))
    return time.perf_counter() - started


def extracted_rows(texts: list[str], languages: list[str], *, prefix: str) -> pa.Table:
    """Return EXTRACTED rows of texts that declare their language; `prefix` tells the ids of several tables apart."""
    rows = [
        {
            "doc_id": f"{prefix}{place:08d}",
            "source": "web",
            "snapshot": "1",
            "locator": str(place),
            "declared_language": language,
            "text": text,
            "text_hash": text_hash(text),
            "meta": [],
        }
        for place, (text, language) in enumerate(zip(texts, languages, strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=EXTRACTED)


def _write(lake: Lake, texts: list[str], languages: list[str], number: int) -> str:
    key = f"texts/{number:04d}.parquet"
    sink = pa.BufferOutputStream()
    pq.write_table(extracted_rows(texts * COPIES, languages * COPIES, prefix=f"{number:04d}"), sink, compression="zstd")
    lake.store.write(key, sink.getvalue().to_pybytes())
    return key
