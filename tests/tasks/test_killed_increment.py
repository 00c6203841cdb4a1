"""A resolution that adds a snapshot, killed with kill -9 at exact places: the next one is that of an undisturbed lake."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpusmill.dedup.parameters import DedupParameters
from tests.dedup.planted import edited
from tests.engines.toys.waiting import wait_until
from tests.killed.stops import Stop
from tests.killed.way import ROOT, WAIT_SECONDS, is_stopped
from tests.tasks.dedup_lake import DATASET, DedupLake
from tests.tasks.signed_lake import put_signatures

pytestmark = pytest.mark.slow
PARAMETERS = DedupParameters(num_bands=20, rows_per_band=4)
RESOLUTION = f"curated/{DATASET}/resolution"
WRITE = "corpusmill.lake.store:Store.write"
WORKER = """
import json, sys
from corpusmill.tasks.task import execute
from tests.killed.stops import Stop
stop, arguments = json.loads(sys.argv[1])
Stop(**stop).install()
execute("resolve", arguments, lambda message, numbers: None)
"""
STOPS = {
    "what stands apart is written": Stop(when="after", function=WRITE, about=f"staging/{RESOLUTION}/"),
    "the bands have met": Stop(when="after", function=WRITE, about=f"staging/{RESOLUTION}/", call=2),
    # The second write again: the bands are not met a second time.
    "the pairs are compared": Stop(when="after", function=WRITE, about=f"staging/{RESOLUTION}/", call=2),
    "links and ledger are written": Stop(
        when="after", function="corpusmill.tasks.known_links:_write", about="-ledger.parquet"
    ),
    "the report is written": Stop(when="after", function=WRITE, about=f"reports/{RESOLUTION}/"),
    "the commit begins": Stop(
        when="before", function="corpusmill.lake.tables:commit_change", about=f"tables/{RESOLUTION}/"
    ),
}


def lake_with_a_new_snapshot(folder: Path) -> DedupLake:
    lake = DedupLake(folder, PARAMETERS.to_json())
    put_signatures(lake, "1", [edited(base, 60, replaced) for base in range(6) for replaced in (0, 2)], PARAMETERS)
    lake.resolve()
    put_signatures(lake, "2", [edited(base, 60, 5) for base in range(6)], PARAMETERS)
    return lake


def kill(lake: DedupLake, stop: Stop, *, place: str) -> None:
    """Resolve in a process of its own and kill it where it stops."""
    arguments = {"settings": lake.settings.to_json(), "dataset": DATASET, "partition": "all"}
    told = json.dumps([dataclasses.asdict(stop), {**arguments, "parameters": lake.parameters}])
    process = subprocess.Popen([sys.executable, "-c", WORKER, told], cwd=ROOT, start_new_session=True)
    try:
        wait_until(lambda: process.poll() is not None or is_stopped(process), seconds=WAIT_SECONDS)
        assert process.returncode is None, f"ended before it stopped where {place}"
    finally:
        process.kill()
        process.wait()


def checkpoints(lake: DedupLake) -> list[str]:
    keys = [item.key for item in lake.lake.store.list(f"staging/{RESOLUTION}/")]
    return [key for key in keys if key.endswith(".json")]


def numbers(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result["metrics"].items() if "seconds" not in name}


def test_a_killed_increment_is_finished_by_the_next(tmp_path: Path) -> None:
    undisturbed = lake_with_a_new_snapshot(tmp_path / "undisturbed")
    expected = undisturbed.resolve()
    assert expected["metrics"]["fresh_snapshots"] == 1
    lake = lake_with_a_new_snapshot(tmp_path / "killed")
    before = lake.lake.partition(RESOLUTION, "all")
    for place, stop in STOPS.items():
        kill(lake, stop, place=place)
        assert lake.lake.partition(RESOLUTION, "all") == before
        assert place != "the pairs are compared" or len(checkpoints(lake)) == 2
    result = lake.resolve()
    assert lake.resolution().equals(undisturbed.resolution())
    assert numbers(result) == numbers(expected)
    assert result["tables"] == expected["tables"]
