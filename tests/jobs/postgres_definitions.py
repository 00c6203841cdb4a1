"""One asset that commits to a lake, for the test of the Postgres profile. Four partitions meet before any commits."""

import os
import time
from pathlib import Path

import dagster as dg
import pyarrow as pa

from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Commit, Lake
from corpusmill.settings import load_settings

SNAPSHOTS = dg.DynamicPartitionsDefinition(name="web_snapshots")
SCHEMA = pa.schema([pa.field("doc_id", pa.string(), nullable=False)])
NUM_TOGETHER = 4


@dg.asset(key=["sources", "web", "records"], partitions_def=SNAPSHOTS)
def records(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    partition = context.partition_key
    lake = Lake(load_settings().lake)
    attempt = lake.begin("sources/web/records", partition, SCHEMA)
    rows = pa.table({"doc_id": [f"{partition}-{number}" for number in range(3)]}, schema=SCHEMA)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition=partition
    ) as writer:
        writer.write(rows)
    _meet(partition)
    (state,) = lake.commit_many([Commit(attempt=attempt, files=writer.files, state={})])
    return dg.MaterializeResult(metadata={"rows_in": state.num_rows}, data_version=dg.DataVersion(state.content_hash))


def _meet(partition: str) -> None:
    folder = Path(os.environ["TOY_FOLDER"], "met")
    folder.mkdir(exist_ok=True)
    (folder / partition).touch()
    deadline = time.monotonic() + 120
    while len(list(folder.iterdir())) < NUM_TOGETHER:
        assert time.monotonic() < deadline, f"only {sorted(folder.iterdir())} runs at the same time"
        time.sleep(0.05)


defs = dg.Definitions(assets=[records], executor=dg.in_process_executor)
