"""Commits and planning at 100,000 files, beside PyIceberg's own calls on the same disk.

Ours gets the statistics that workers hand over, so no data file is opened. PyIceberg's `add_files` opens each footer: it
is timed on 1,000 small real files and scaled up. Planning runs both on the very same table.
"""

import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Measure, at_most
from corpusmill.document import DOCUMENTS
from corpusmill.lake.files import ColumnStatistics, WrittenFile
from corpusmill.lake.partitions import Attempt
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Commit, Lake

NUM_FILES = 100_000
NUM_PARTITIONS = 100
BATCH_PARTITIONS = 10
REGISTER_BAR_SECONDS = 300.0
PLAN_BAR_SECONDS = 10.0
_NUM_REAL_FILES = 1_000
_TABLE = "curated/web/documents"
_IDENTIFIER = ("curated", "web", "documents")


def measure() -> list[Measure]:
    """Time registering and planning; all figures are seconds."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-bench-") as folder:
        lake = Lake(LakeSettings(store=StoreSettings(root=f"{folder}/ours")))
        register_seconds = _register(lake)
        plan_seconds = _seconds(lambda: _require(len(lake.files(_TABLE)) == NUM_FILES))
        one_seconds = _seconds(lambda: _require(len(lake.files(_TABLE, ["p042"])) == NUM_FILES // NUM_PARTITIONS))
        scan = lake.catalog.load_table(_IDENTIFIER).scan()
        their_plan_seconds = _seconds(lambda: _require(len(list(scan.plan_files())) == NUM_FILES))
        their_register_seconds = _add_files(Path(folder)) * NUM_FILES / _NUM_REAL_FILES
        lake.close()
    pyiceberg = f"PyIceberg {version('pyiceberg')}"
    return [
        Measure(
            measure=f"register {NUM_FILES:,} files (s)",
            ours=register_seconds,
            other=their_register_seconds,
            other_name=f"{pyiceberg} add_files, from {_NUM_REAL_FILES:,} files",
            bar=at_most(REGISTER_BAR_SECONDS),
        ),
        Measure(
            measure=f"plan {NUM_FILES:,} files (s)",
            ours=plan_seconds,
            other=their_plan_seconds,
            other_name=f"{pyiceberg} plan_files, same table",
            bar=at_most(PLAN_BAR_SECONDS),
        ),
        Measure(
            measure=f"plan one of {NUM_PARTITIONS} partitions (s)", ours=one_seconds, bar=at_most(PLAN_BAR_SECONDS)
        ),
    ]


def _register(lake: Lake) -> float:
    names = [f"p{number:03d}" for number in range(NUM_PARTITIONS)]
    attempts = [lake.begin(_TABLE, name, DOCUMENTS) for name in names]
    commits = [Commit(attempt=attempt, files=_made_up_files(lake, attempt), state={}) for attempt in attempts]

    def commit_all() -> None:
        for start in range(0, len(commits), BATCH_PARTITIONS):
            lake.commit_many(commits[start : start + BATCH_PARTITIONS])

    return _seconds(commit_all)


def _made_up_files(lake: Lake, attempt: Attempt) -> list[WrittenFile]:
    """Return statistics as a worker reports them for files of 200 MB; the files themselves are never needed."""
    primitive = [field.name for field in DOCUMENTS if not pa.types.is_nested(field.type)]
    columns = {
        name: ColumnStatistics(num_bytes=10_000_000, num_nulls=0, lower="0" * 16, upper="f" * 16) for name in primitive
    }
    return [
        WrittenFile(
            path=lake.store.uri(f"{attempt.directory}/{attempt.attempt}-{number:05d}.parquet"),
            num_rows=40_000,
            num_bytes=200_000_000 + number,
            content_hash=f"{number:032x}",
            columns=columns,
            row_group_offsets=(4, 70_000_000, 140_000_000),
        )
        for number in range(NUM_FILES // NUM_PARTITIONS)
    ]


def _add_files(folder: Path) -> float:
    """Time PyIceberg's own call on small real files of the same schema."""
    from pyiceberg.catalog.sql import SqlCatalog

    folder = folder / "theirs"
    folder.mkdir()
    table = pa.Table.from_pylist([{field.name: _sample(field) for field in DOCUMENTS}] * 10, schema=DOCUMENTS)
    paths = [str(folder / f"{number:05d}.parquet") for number in range(_NUM_REAL_FILES)]
    for path in paths:
        pq.write_table(table, path, compression="zstd")
    catalog = SqlCatalog("theirs", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
    catalog.create_namespace("curated")
    created = catalog.create_table("curated.documents", DOCUMENTS)
    seconds = _seconds(lambda: created.add_files(paths))
    catalog.close()
    return seconds


def _sample(field: pa.Field) -> Any:
    if pa.types.is_map(field.type):
        return [("key", "value")]
    return ["parent"] if pa.types.is_list(field.type) else "text of a document"


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _require(is_right: bool) -> None:
    if not is_right:
        raise AssertionError("a plan lists the wrong number of files")
