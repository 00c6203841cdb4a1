"""Ray for real: shards on a local Ray, failures named, nothing left behind."""

import subprocess

import psutil
import pytest
import toy_shards

from corpusmill.counts import Counts
from corpusmill.engines.engine import EngineFailedError
from corpusmill.engines.plain import PlainEngine
from corpusmill.engines.service import EngineStartError
from corpusmill.engines.shards import ShardPlan, ShardsFailedError, run_shards, total
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake

pytestmark = [pytest.mark.ray, pytest.mark.slow]

TABLE = "curated/toy/words"
INPUTS = [{"words": [f"word{index}", "a", "x" * index]} for index in range(6)]


@pytest.fixture(scope="module")
def engine():
    from corpusmill.engines.ray import RayEngine

    engine = RayEngine(num_cpus=2)
    yield engine
    children = psutil.Process().children(recursive=True)
    assert any("raylet" in child.name() for child in children)
    engine.close()
    psutil.wait_procs(children, timeout=30)
    assert not any("raylet" in child.name() for child in psutil.Process().children(recursive=True))


@pytest.fixture
def lake(tmp_path):
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    yield lake
    lake.close()


def run(lake, engine, function="measure", partition="a", **parameters):
    plan = ShardPlan(
        function=f"toy_shards:{function}",
        inputs=INPUTS,
        parameters={"min_length": 3, **parameters},
        schema=toy_shards.SCHEMA,
    )
    return run_shards(plan, engine=engine, lake=lake, attempt=lake.begin(TABLE, partition, plan.schema))


def test_a_ray_that_cannot_start_is_tried_twice_and_leaves_nothing(monkeypatch):
    """CASES 16: before the engine of this module has started."""
    import ray

    from corpusmill.engines.ray import RayEngine

    started = []

    def start_half(**arguments):
        started.append(subprocess.Popen(["sleep", "600"]))
        raise RuntimeError("the node timed out")

    monkeypatch.setattr(ray, "init", start_half)
    with pytest.raises(EngineStartError, match="Ray at local did not start: the node timed out"):
        RayEngine(num_cpus=1)
    for process in started:
        process.wait(10)
    assert len(started) == 2 and not any(psutil.pid_exists(process.pid) for process in started)


def test_ray_makes_the_shards_that_plain_python_makes(engine, lake):
    on_ray = total(run(lake, engine))
    on_plain = total(run(lake, PlainEngine(), partition="b"))
    assert on_ray.counts == on_plain.counts == Counts(rows_in=18, kept=9, dropped={"too_short": 9})
    assert [file.content_hash for file in on_ray.files] == [file.content_hash for file in on_plain.files]


def test_one_failing_shard_is_named_and_the_finished_ones_are_used_again(engine, lake, tmp_path):
    visits = tmp_path / "visits"
    for _ in range(2):
        with pytest.raises(ShardsFailedError, match=r"shard 4 of 6 .*: OSError: the disk is full"):
            run(lake, engine, "measure_or_fail", bad="word3", visits=str(visits))
    assert sorted(visits.read_text().split()) == ["word0", "word1", "word2", "word4", "word5"]


def test_function_that_raises_is_the_engines_failure_with_its_cause(engine):
    with pytest.raises(EngineFailedError, match=r"Ray failed at toy_rules:fail: .*KeyError: 'no such key: a'"):
        list(engine.map_rows("toy_rules:fail", [b"a"]))


def test_case_12_row_that_kills_every_worker_ends_the_run(engine):
    with pytest.raises(EngineFailedError, match="The worker died unexpectedly"):
        list(engine.map_rows("toy_rules:die", [b"poison"]))


def test_no_rows_need_no_work(engine):
    assert list(engine.map_rows("toy_rules:shout", [])) == []
