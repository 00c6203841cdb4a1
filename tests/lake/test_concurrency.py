"""Writers in processes of their own, killed writers, and readers that look on.

The same cases run on SQLite and a folder, and on Postgres and S3.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake

TABLE = "curated/web/documents"
SCHEMA = pa.schema([pa.field("doc_id", pa.string(), nullable=False), pa.field("version", pa.int64())])
NUM_WRITERS = 4
NUM_ROUNDS = 3

# Writes a partition; with "stop" it waits between closing its files and committing them, until it is killed or resumed.
WRITER = """
import json, os, signal, sys
import pyarrow as pa
from corpusmill.lake.errors import StaleAttemptError
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings
from corpusmill.lake.tables import Lake

settings, partition, rounds, mode = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
schema = pa.schema([pa.field("doc_id", pa.string(), nullable=False), pa.field("version", pa.int64())])
lake = Lake(LakeSettings.from_json(settings))
for version in range(rounds):
    attempt = lake.begin("curated/web/documents", partition, schema)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=schema, partition=partition, target_bytes=1
    ) as writer:
        for part in range(2):
            writer.write(pa.table({"doc_id": [f"{partition}-{part}"], "version": pa.array([version], pa.int64())}))
    if mode == "stop":
        print("stopped", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        lake.commit(attempt, writer.files, {})
    except StaleAttemptError:
        print("stale", flush=True)
        sys.exit(3)
lake.close()
"""


@pytest.fixture(params=["local", pytest.param("remote", marks=[pytest.mark.s3, pytest.mark.postgres])])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lake]:
    if request.param == "local":
        settings = LakeSettings(store=StoreSettings(root=str(tmp_path / "lake")))
    else:
        root, server = request.getfixturevalue("s3_root"), request.getfixturevalue("s3_server")
        store = StoreSettings(root=root, endpoint=server.endpoint)
        settings = LakeSettings(store=store, catalog=request.getfixturevalue("postgres_url"))
    opened = Lake(settings)
    yield opened
    opened.close()


def start(lake: Lake, partition: str, *, rounds: int = 1, mode: str = "run") -> subprocess.Popen[str]:
    settings = json.dumps(lake.settings.to_json())
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, settings, partition, str(rounds), mode],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def put(lake: Lake, partition: str, version: int) -> None:
    attempt = lake.begin(TABLE, partition, SCHEMA)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition=partition
    ) as writer:
        writer.write(pa.table({"doc_id": [f"{partition}-0"], "version": pa.array([version], pa.int64())}))
    lake.commit(attempt, writer.files, {})


def versions(lake: Lake, partition: str) -> list[int]:
    return lake.read(TABLE, partitions=[partition], columns=["version"]).column("version").to_pylist()


@pytest.mark.slow
def test_four_processes_that_commit_different_partitions_at_once_all_land(lake: Lake) -> None:
    """They also create the catalog and the table at once. CASES 26: readers in between see whole partitions only."""
    names = [f"p{number}" for number in range(NUM_WRITERS)]
    writers = [start(lake, name, rounds=NUM_ROUNDS) for name in names]
    num_looks = 0
    while any(writer.poll() is None for writer in writers):
        states = lake.partitions(TABLE) if TABLE in lake.tables() else {}
        for name in states:
            found = versions(lake, name)
            assert len(found) == 2, f"half a commit of {name}: {found}"
            assert len(set(found)) == 1, f"two commits mixed in {name}: {found}"
            num_looks += 1
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0] * NUM_WRITERS
    assert {name: versions(lake, name) for name in names} == {name: [NUM_ROUNDS - 1] * 2 for name in names}
    assert {name: state.fence for name, state in lake.partitions(TABLE).items()} == dict.fromkeys(names, NUM_ROUNDS)
    assert num_looks


def test_a_writer_killed_between_writing_and_committing_leaves_the_old_version(lake: Lake) -> None:
    put(lake, "p", 41)
    writer = start(lake, "p", mode="stop")
    assert writer.stdout is not None
    assert writer.stdout.readline() == "stopped\n"
    writer.kill()
    writer.communicate()
    assert versions(lake, "p") == [41]
    put(lake, "p", 42)
    assert versions(lake, "p") == [42]


def test_a_stopped_writer_that_wakes_after_a_newer_commit_is_refused(lake: Lake) -> None:
    writer = start(lake, "p", mode="stop")
    assert writer.stdout is not None
    assert writer.stdout.readline() == "stopped\n"
    put(lake, "p", 42)
    os.kill(writer.pid, signal.SIGCONT)
    output, _ = writer.communicate()
    assert (output, writer.returncode) == ("stale\n", 3)
    assert versions(lake, "p") == [42]
