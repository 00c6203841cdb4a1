"""Spark for real: shards on a leased Spark Connect server, and what is left when something is killed."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import toy_shards
from waiting import wait_until

from corpusmill.counts import Counts
from corpusmill.engines.engine import EngineFailedError
from corpusmill.engines.engine_folder import EngineFolder, HostRecord
from corpusmill.engines.java import find_java
from corpusmill.engines.lease import lease
from corpusmill.engines.plain import PlainEngine
from corpusmill.engines.processes import host_processes
from corpusmill.engines.service import EngineSettings, EngineStartError
from corpusmill.engines.shards import ShardPlan, ShardsFailedError, run_shards, total
from corpusmill.engines.spark import active
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake

TABLE = "curated/toy/words"
INPUTS = [{"words": [f"word{index}", "a", "x" * index]} for index in range(6)]


@pytest.fixture(scope="module")
def endpoint(engine_state):
    with lease("spark", EngineSettings(service={"driver_memory": "1g"}), state_folder=engine_state) as endpoint:
        yield endpoint


@pytest.fixture
def engine(endpoint):
    from corpusmill.engines.spark import SparkEngine

    engine = SparkEngine(endpoint)
    yield engine
    engine.close()
    engine.close()  # a second call does nothing


@pytest.fixture
def lake(tmp_path):
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    yield lake
    lake.close()


def in_new_thread(function):
    """Call in a thread where no session is active yet."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result()


def test_what_a_server_keeps_stays_with_its_own_client(engine):
    """Another client of this process, whose server is gone, was never closed and is the thread's active one."""
    from pyspark.sql import SparkSession

    def count_kept_rows() -> int:
        gone = SparkSession.builder.remote("sc://localhost:1").create()
        assert type(gone).active() is gone
        try:
            with active(engine.session):
                kept = engine.session.range(3).localCheckpoint().select("id")
            assert type(gone).active() is gone
            return kept.count()
        finally:
            gone.release_session_on_close = False
            gone.stop()

    assert in_new_thread(count_kept_rows) == 3


def plan_of(function="measure", **parameters) -> ShardPlan:
    return ShardPlan(
        function=f"toy_shards:{function}",
        inputs=INPUTS,
        parameters={"min_length": 3, **parameters},
        schema=toy_shards.SCHEMA,
    )


def run(lake, plan, engine, partition="a"):
    attempt = lake.begin(TABLE, partition, plan.schema)
    return run_shards(plan, engine=engine, lake=lake, attempt=attempt)


def record_of(state: Path) -> HostRecord:
    (path,) = state.glob("engines/spark-*")
    record = EngineFolder(path).record()
    assert record is not None
    return record


def processes_of(record: HostRecord, name: str) -> list[psutil.Process]:
    return [process for process in host_processes(record.host_id, record.process) if name in process.name()]


@pytest.mark.spark
@pytest.mark.slow
class TestShards:
    def test_spark_makes_the_shards_that_plain_python_makes(self, engine, lake):
        on_spark = total(run(lake, plan_of(), engine))
        on_plain = total(run(lake, plan_of(), PlainEngine(), partition="b"))
        assert on_spark.counts == on_plain.counts == Counts(rows_in=18, kept=9, dropped={"too_short": 9})
        assert [file.content_hash for file in on_spark.files] == [file.content_hash for file in on_plain.files]
        assert on_spark.samples == on_plain.samples

    def test_one_failing_shard_is_named_and_the_finished_ones_are_used_again(self, engine, lake, tmp_path):
        visits = tmp_path / "visits"
        plan = plan_of("measure_or_fail", bad="word3", visits=str(visits))
        for _ in range(2):
            with pytest.raises(ShardsFailedError) as raised:
                run(lake, plan, engine)
            assert str(raised.value) == (
                "1 of 6 shards failed, 5 are finished and will be used by the next attempt. "
                'shard 4 of 6 ({"words": ["word3", "a", "xxx"]}): OSError: the disk is full'
            )
        assert sorted(visits.read_text().split()) == ["word0", "word1", "word2", "word4", "word5"]

    def test_killed_worker_is_replaced(self, engine, lake, tmp_path):
        trigger = tmp_path / "trigger"
        trigger.touch()
        outcomes = run(lake, plan_of("measure_or_die", fatal="word3", trigger=str(trigger)), engine)
        assert not trigger.exists()
        assert total(outcomes).counts.rows_in == 18

    def test_case_12_shard_that_kills_every_worker_ends_the_run(self, engine):
        with pytest.raises(EngineFailedError, match=r"failed 3 times.*Python worker exited unexpectedly"):
            list(engine.map_rows("toy_rules:die", [b"poison"]))

    def test_engine_failure_says_that_finished_shards_are_kept(self, engine, lake, tmp_path):
        plan = plan_of("die_always", fatal="word5")
        with pytest.raises(EngineFailedError, match="of 6 shards are finished and will be used by the next attempt"):
            run(lake, plan, engine)

    def test_closing_the_results_early_ends_the_work(self, engine, tmp_path):
        marker = tmp_path / "pid"
        results = engine.map_rows("toy_rules:first_or_wait", [b"first", str(marker).encode()])
        assert next(results) == b"first"
        wait_until(lambda: marker.exists() and marker.read_text())
        results.close()
        wait_until(lambda: not is_running(int(marker.read_text())))

    def test_many_rows_are_spread_over_the_workers(self, engine):
        pids = list(engine.map_rows("toy_rules:worker_pid", [b""] * 40))
        assert len(pids) == 40
        assert 2 <= len(set(pids)) <= 2 * (os.cpu_count() or 1)

    def test_stranger_without_the_token_is_refused(self, endpoint):
        from corpusmill.engines.spark import SparkEngine

        url = re.sub(r"token=\w+", "token=wrong", endpoint["url"])
        with pytest.raises(EngineFailedError, match="Invalid authentication token"):
            SparkEngine({"url": url})


@pytest.mark.spark
@pytest.mark.slow
def test_killed_client_leaves_no_process(state, tmp_path):
    marker = tmp_path / "pid"
    client = subprocess.Popen([sys.executable, "-m", "toy_spark_client", str(state), str(marker)])
    wait_until(lambda: marker.exists() and marker.read_text(), seconds=180)
    record = record_of(state)
    worker = int(marker.read_text())
    assert len(processes_of(record, "java")) == 1
    assert worker in [process.pid for process in host_processes(record.host_id, record.process)]
    client.kill()
    client.wait()
    wait_until(lambda: not host_processes(record.host_id, record.process))
    wait_until(lambda: not is_running(worker))


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and that init has not collected yet does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.spark
@pytest.mark.slow
def test_killed_host_and_killed_jvm_are_replaced_by_the_next_lease(state):
    from corpusmill.engines.spark import SparkEngine

    settings = EngineSettings(service={"driver_memory": "1g"}, linger_seconds=0)
    with lease("spark", settings, state_folder=state):
        first = record_of(state)
        (orphan,) = processes_of(first, "java")
        os.kill(first.process.pid, signal.SIGKILL)
        wait_until(lambda: not first.process.is_running())
        assert orphan.is_running()
        with lease("spark", settings, state_folder=state) as endpoint:
            wait_until(lambda: not orphan.is_running())
            engine = SparkEngine(endpoint)
            assert list(engine.map_rows("toy_rules:shout", [b"a", b"b"])) == [b"A", b"B"]
            second = record_of(state)
            (jvm,) = processes_of(second, "java")
            jvm.kill()
            with pytest.raises(EngineFailedError):
                list(engine.map_rows("toy_rules:shout", [b"a"]))
            engine.close()
    wait_until(lambda: not host_processes(second.host_id, second.process))


@pytest.mark.spark
@pytest.mark.slow
def test_spark_that_cannot_start_says_why(state):
    settings = EngineSettings(service={"driver_memory": "1 elephant"})
    with pytest.raises(EngineStartError, match="elephant"), lease("spark", settings, state_folder=state):
        pass


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "there is no java on the PATH"),
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", 'openjdk version "11.0.2" 2019-01-15'),
        ("echo 'java version \"1.8.0_392\"' >&2", 'java version "1.8.0_392"'),
        ("exit 1", "no Java that answers"),
    ],
    ids=["none", "eleven", "eight", "broken"],
)
def test_missing_or_old_java_is_a_clear_message(tmp_path, monkeypatch, answer, message):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if answer:
        (tmp_path / "java").write_text(f"#!/bin/sh\n{answer}\n")
        (tmp_path / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineStartError) as raised:
        find_java()
    assert message in str(raised.value)
    assert "apt install openjdk-17-jre-headless" in str(raised.value)


def test_java_home_without_java_is_a_clear_message(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineStartError, match=f"JAVA_HOME={tmp_path} has no bin/java"):
        find_java()
