"""Snapshots that are made at once, each by a process of its own, end as if one was made after the other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from corpusmill.dedup.parameters import DedupParameters
from tests.dedup.planted import edited
from tests.tasks.dedup_lake import DATASET, LARGE, DedupLake

ROOT = Path(__file__).parents[2]
SNAPSHOTS = {
    "1": [edited(base, 60, 0) for base in range(6)],
    "2": [edited(base, 60, 2) for base in range(4)] + [edited(20, 60, 0)],
    "3": [edited(base, 60, 5) for base in range(6)] + [edited(20, 60, 0)],
}
# Waits at a barrier, so that all begin at once, then makes a snapshot down to its duplicates.
WORKER = """
import json, sys
from corpusmill.tasks.task import execute

settings, dataset, snapshot, dedup, large = json.loads(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for task, partition, parameters in (("sign", snapshot, dedup), ("resolve", "all", dedup), ("duplicates", snapshot, large)):
    arguments = {"settings": settings, "dataset": dataset, "partition": partition, "parameters": parameters}
    execute(task, arguments, lambda message, numbers: None)
"""


def judged(folder: Path) -> DedupLake:
    lake = DedupLake(folder, DedupParameters().to_json())
    for name, texts in SNAPSHOTS.items():
        lake.write(name, texts)
        lake.sign(name)
        for table in ("signatures", "bands"):
            lake.lake.remove(f"curated/{DATASET}/{table}", name)
    return lake


@pytest.mark.slow
def test_snapshots_made_at_once_end_as_one_after_the_other(tmp_path):
    expected = judged(tmp_path / "one by one")
    for name in SNAPSHOTS:
        expected.sign(name)
        expected.resolve()
        expected.run("duplicates", name, **LARGE)
    lake = judged(tmp_path / "at once")
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WORKER,
                json.dumps([lake.settings.to_json(), DATASET, name, lake.parameters, LARGE]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in SNAPSHOTS
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        _, errors = worker.communicate(timeout=600)
        assert worker.returncode == 0, errors[-3000:]
    assert lake.resolution().equals(expected.resolution())
    # A snapshot whose older one came later is made again, as its asset says.
    for name in SNAPSHOTS:
        lake.run("duplicates", name, **LARGE)
    tables = [one.lake.read(f"curated/{DATASET}/duplicates").sort_by("doc_id") for one in (lake, expected)]
    assert tables[0].equals(tables[1])
    assert len(tables[0]) == 11
