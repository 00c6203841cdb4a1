"""A small asset graph with the shapes of the real one, for tests of the backfill command against real servers.

Snapshots are dynamic, one asset sees all of them, styles are a second dimension, mixes another set. The records of the
snapshot named `broken` fail until $TOY_FOLDER/mended exists. A plan is in the making while $TOY_FOLDER/hold exists, and
takes no interrupt while $TOY_FOLDER/deaf does, and waits for a program while $TOY_FOLDER/program does.
"""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import dagster as dg

SNAPSHOTS = dg.DynamicPartitionsDefinition(name="web_snapshots")
STYLES = dg.StaticPartitionsDefinition(["plain", "rhyme"])
STYLED = dg.MultiPartitionsDefinition({"style": STYLES, "snapshot": SNAPSHOTS})
MIXES = dg.DynamicPartitionsDefinition(name="mixtures")


def result(rows: int) -> dg.MaterializeResult:
    return dg.MaterializeResult(
        metadata={"rows_in": rows, "tokens": rows * 100, "work_seconds": 36.0, "device_seconds": 7.2}
    )


@dg.asset(key=["sources", "web", "records"], partitions_def=SNAPSHOTS)
def records(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    if context.partition_key == "broken" and not Path(os.environ["TOY_FOLDER"], "mended").exists():
        raise ValueError("the snapshot broken has no readable file")
    return result(10)


@dg.asset(key=["curated", "web", "signatures"], partitions_def=SNAPSHOTS, deps=[records])
def signatures() -> dg.MaterializeResult:
    return result(10)


@dg.asset(key=["curated", "web", "resolution"], deps=[signatures])
def resolution() -> dg.MaterializeResult:
    return result(30)


@dg.asset(key=["curated", "web", "documents"], partitions_def=SNAPSHOTS, deps=[signatures, resolution])
def documents() -> dg.MaterializeResult:
    return result(8)


@dg.asset(key=["synthesized", "web_rephrased", "requests"], partitions_def=STYLED, deps=[documents])
def requests() -> dg.MaterializeResult:
    return result(4)


EVERY = dg.AllPartitionMapping()


@dg.asset(
    key=["mixed", "mixtures", "plan"],
    partitions_def=MIXES,
    deps=[dg.AssetDep(asset, partition_mapping=EVERY) for asset in (documents, requests)],
)
def plan() -> dg.MaterializeResult:
    folder = Path(os.environ["TOY_FOLDER"])
    if (folder / "deaf").exists():
        signal.signal(signal.SIGINT, lambda number, frame: None)
    if (folder / "program").exists():
        threading.Thread(target=subprocess.run, args=(["sleep", "600"],)).start()
    (folder / "at-work").touch()
    while (folder / "hold").exists():
        time.sleep(0.05)
    return result(1)


defs = dg.Definitions(
    assets=[records, signatures, resolution, documents, requests, plan],
    executor=dg.in_process_executor,
)
