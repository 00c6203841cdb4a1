"""Mixes read while a component is still being made: real commits meanwhile, ranks that race, kills, partitions made again."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from corpusmill.lake.names import log_directory
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.mix.live import Live
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.mix.solve import plan
from corpusmill.settings import settings_from_table
from corpusmill.stream.flight_client import open_remote
from corpusmill.stream.flight_server import MixtureServer
from corpusmill.stream.inventory import PLAN_TABLE, read_inventory, read_plan, read_plans
from corpusmill.stream.live import ComponentLateError, read_log, standing
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.torch_dataset import MixtureLoader
from corpusmill.tasks.task import execute
from corpusmill.trace.explain import MixTracer
from corpusmill.trace.reads import read_counts
from tests.stream.conftest import LENGTH, SmallLake, sequence_row

WEB, SYNTH = "tokenized/web/sequences", "tokenized/synth/sequences"
RANK = Path(__file__).with_name("live_rank.py")


def mixture(**live: Any) -> Mixture:
    """32 sequences of web and as many of synth by turns; web may be read three times."""
    settings = {"expected_tokens": 40 * LENGTH, "lenders": ("web",), **live}
    return Mixture(
        name="demo",
        seed=5,
        sequence_length=LENGTH,
        components=(
            Component(name="web", table=WEB, weight=0.4, max_epochs=3),
            Component(name="synth", table=SYNTH, weight=0.6, live=Live(**settings)),
        ),
        budget_tokens=480,
        live_window=8,
    )


def commit_synth(held: SmallLake, name: str, numbers: range, **settings: Any) -> None:
    held.commit_sequences(SYNTH, name, [[sequence_row(3, number, number) for number in numbers]], **settings)


def make_live(held: SmallLake, **live: Any) -> None:
    held.commit_sequences(WEB, "s1", [[sequence_row(1, number, number) for number in range(30)]])
    made = mixture(**live)
    held.commit_plan(plan(made, read_inventory(held.lake, made.pinned_tables)))


@pytest.fixture
def live(small_lake):
    """Web is there, synth has not even a table."""
    make_live(small_lake)
    return small_lake


def spelled(samples) -> list[tuple]:
    return [(one.position, one.component, one.epoch, one.index, one.tokens.tolist()) for one in samples]


def by_ranks(held: SmallLake, world_size: int, *, start: int = 0) -> list[tuple]:
    """Read by as many streams at once, each in a thread of its own."""
    streams = [
        MixtureStream(held.settings, "demo", rank=rank, world_size=world_size, start=start)
        for rank in range(world_size)
    ]
    with ThreadPoolExecutor(world_size) as ranks:
        return sorted(sample for found in ranks.map(lambda stream: spelled(stream), streams) for sample in found)


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_a_stream_over_a_table_that_grows_replays_with_any_ranks(live, world_size):
    """Partitions are committed by a process's other thread each time that reading has come so far."""
    come = threading.Semaphore(0)

    def grow() -> None:
        for number in range(5):
            come.acquire()
            commit_synth(live, f"s{number}", range(8 * number, 8 * number + 8))

    growing = threading.Thread(target=grow)
    growing.start()
    streams = [MixtureStream(live.settings, "demo", rank=rank, world_size=world_size) for rank in range(world_size)]
    given: list[tuple] = []
    for turn, samples in enumerate(zip(*map(iter, streams), strict=False)):
        given += spelled(samples)
        if turn * world_size % 12 == 0:
            come.release()
    for _ in range(5):
        come.release()
    growing.join()
    assert len(given) >= streams[0].num_positions - world_size
    assert any(component.startswith("synth+") for _, component, *_ in given)
    commit_synth(live, "late", range(40, 60))
    for other in (1, 2, 4):
        assert by_ranks(live, other)[: len(given)] == sorted(given)
    assert by_ranks(live, 2, start=13) == by_ranks(live, 1)[13:]


def test_ranks_and_jobs_that_race_decide_once(live):
    """Eight streams that know nothing of one another begin at once, with commits among them."""
    streams = [MixtureStream(live.settings, "demo") for _ in range(8)]
    begin = threading.Barrier(9)

    def read(stream: MixtureStream) -> list[tuple]:
        begin.wait()
        return spelled(stream)

    with ThreadPoolExecutor(8) as jobs:
        found = jobs.map(read, streams)
        begin.wait()
        for number in range(4):
            commit_synth(live, f"s{number}", range(10 * number, 10 * number + 10))
        first, *others = found
    assert others == [first] * 7
    assert [position for position, *_ in first] == list(range(streams[0].num_positions))


def test_a_stream_that_waits_says_so_and_ends_in_one_line(small_lake):
    make_live(small_lake, lenders=())
    commit_synth(small_lake, "s1", range(2))
    said: list[str] = []
    stream = MixtureStream(small_lake.settings, "demo", patience_seconds=0.1, say=said.append)
    told = (
        r"^mix demo@\w+ has no sequence of component 'synth' for positions from 4 on: 2 of 40 sequences of "
        r"tokenized/synth/sequences came so far"
    )
    given = []
    with pytest.raises(ComponentLateError, match=told + r"\. It did not come in 0.1 s: materialize more partitions"):
        given += spelled(iter_into(stream, given))
    assert len(given) == stream.position == 4
    assert len(said) == 1 and "waiting since 0 s, 0.1 s at most" in said[0]
    commit_synth(small_lake, "s2", range(2, 40))
    given += spelled(stream)
    assert spelled(MixtureStream(small_lake.settings, "demo")) == given


def iter_into(stream: MixtureStream, given: list[tuple]):
    """Note each sample when it is given, so that those before an error are known."""
    for sample in stream:
        given += spelled([sample])
    yield from ()


def test_a_rank_that_waits_goes_on_with_what_comes(small_lake):
    make_live(small_lake, lenders=())
    stream = MixtureStream(small_lake.settings, "demo", say=lambda line: commit_synth(small_lake, "s1", range(40)))
    assert len(spelled(stream)) == stream.num_positions


def test_a_decision_outlives_a_rank_that_is_killed_before_its_batch(live, tmp_path):
    with subprocess.Popen(
        [sys.executable, RANK, tmp_path / "lake"],
        env={**os.environ, "PYTHONPATH": str(RANK.parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as rank:
        assert rank.stdout is not None
        position, decided = map(int, rank.stdout.readline().split())
        rank.kill()
    assert (position, decided) == (0, 8)
    commit_synth(live, "s1", range(40))
    stream = MixtureStream(live.settings, "demo")
    given = spelled(stream)
    assert {component for _, component, *_ in given[:8]} == {"web"}
    assert [component for _, component, *_ in given].count("synth+1") == stream.plan.decided.plan.components[
        1
    ].planned_sequences


def test_a_partition_that_is_made_again_is_read_as_it_was_seen(live):
    commit_synth(live, "s1", range(10))
    stream = MixtureStream(live.settings, "demo")
    begun = spelled(islice(stream, 4))
    live.commit_sequences(SYNTH, "s1", [[sequence_row(4, number, number) for number in range(12)]])
    commit_synth(live, "s2", range(10, 40))
    now = datetime.now(UTC) + timedelta(days=9)
    live.lake.maintain(keep_snapshots_days=1, orphan_age_days=1, now=now)
    given = begun + spelled(stream)
    tokens = [row for _, component, _, _, row in given if component.startswith("synth")]
    assert all(row[0] // 1_000_000 == 3 for row in tokens) and len(tokens) == 36
    assert by_ranks(live, 2) == given


def test_partitions_that_cannot_be_read_are_left_out_or_refused(live):
    attempt, files = live.write(SYNTH, "failed", [[sequence_row(3, 0, 0)]])
    state = {"num_tokens": 3, "tokenizer": "t1", "sequence_length": LENGTH}
    live.lake.commit(attempt, files, {**state, "gate_failures": ["fill"]})
    commit_synth(live, "empty", range(0))
    stream = MixtureStream(live.settings, "demo")
    assert {component for _, component, *_ in spelled(islice(stream, 8))} == {"web"}
    commit_synth(live, "other", range(3), tokenizer="t2")
    with pytest.raises(
        ValueError, match=r"partition 'other': wanted sequences of 8 tokens by tokenizer t1 .* got 8 by t2"
    ):
        next(iter(stream))


def test_what_was_decided_can_be_traced_and_what_was_not_is_told(live):
    commit_synth(live, "s1", range(10))
    stream = MixtureStream(live.settings, "demo")
    samples = list(islice(stream, 8))
    stop = stream.plan.num_positions
    at = next(one for one in samples if one.component == "synth+1")
    piece = stream.provenance(at.position).pieces[0]
    assert piece.doc_id == f"c3-{at.index}-a"
    tracer = MixTracer(live.lake, "demo")
    with pytest.raises(ValueError, match=rf"the first {stop} positions of mix demo@.* are decided, got {stop}; no"):
        tracer.explain(stop)
    so_far = standing(live.lake, read_plan(live.lake, "demo"))
    assert sum(map(sum, read_counts(so_far))) == stop < stream.num_positions
    assert [one.mix for one in read_plans(live.lake)] == ["demo"]


def test_a_position_that_no_run_in_turn_asks_for_decides_nothing(live, monkeypatch):
    monkeypatch.setattr("corpusmill.stream.course.FURTHEST", 3)
    stream = MixtureStream(live.settings, "demo", start=70)
    with pytest.raises(
        ValueError, match=r"the first 0 positions of mix demo@\w+ are decided, got 70: .* it is read in turn"
    ):
        next(iter(stream))
    assert not read_log(live.lake, read_plan(live.lake, "demo")).decisions
    others = spelled(islice(MixtureStream(live.settings, "demo"), 9))
    assert spelled(islice(MixtureStream(live.settings, "demo"), 9)) == others
    assert stream.read([15])[0].position == 15


@pytest.mark.s3
def test_streams_that_race_on_s3_decide_once(s3_server, s3_root, tmp_path):
    store = StoreSettings(root=s3_root, endpoint=s3_server.endpoint)
    remote = SmallLake(tmp_path, LakeSettings(store=store, catalog=f"sqlite:///{tmp_path / 'catalog.db'}"))
    make_live(remote)
    commit_synth(remote, "s1", range(6))
    given = by_ranks(remote, 2, start=0)
    assert {component for _, component, *_ in given} == {"web", "synth+1"}
    commit_synth(remote, "s2", range(6, 40))
    assert by_ranks(remote, 1) == given
    remote.lake.close()


def test_a_damaged_log_is_refused_before_the_first_batch(live):
    spelled(islice(MixtureStream(live.settings, "demo"), 9))
    version = read_plan(live.lake, "demo").version
    assert len(read_log(live.lake, read_plan(live.lake, "demo")).decisions) == 2
    key = f"{log_directory(PLAN_TABLE, 'demo')}/{version}/00000000.json"
    live.lake.store.delete([key])
    with pytest.raises(ValueError, match="is damaged: wanted decision 0 from position 0, got 1 for positions 8 to 16"):
        MixtureStream(live.settings, "demo")
    live.lake.store.write(key, b"[]")
    with pytest.raises(ValueError, match=r"00000000\.json holds no decision that this release can read"):
        MixtureStream(live.settings, "demo")


@pytest.mark.parametrize("num_workers", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_a_checkpoint_goes_on_with_other_ranks_and_workers(live, num_workers):
    pytest.importorskip("torch", reason="torch is not installed: the cpu extra brings it")
    commit_synth(live, "s1", range(10))
    loader = MixtureLoader(MixtureStream(live.settings, "demo"), batch_size=4, num_workers=num_workers)
    begun = [row for batch in islice(loader, 5) for row in batch["tokens"].tolist()]
    state = loader.state_dict()
    commit_synth(live, "s2", range(10, 40))
    rest: dict[int, list[int]] = {}
    for rank in (0, 1):
        resumed = MixtureLoader(MixtureStream(live.settings, "demo", rank=rank, world_size=2), batch_size=2)
        resumed.load_state_dict(state)
        for batch in resumed:
            rest |= dict(zip(batch["position"].tolist(), batch["tokens"].tolist(), strict=True))
    whole = [sample.tokens.tolist() for sample in MixtureStream(live.settings, "demo")]
    padded = [row + [0] * (LENGTH - len(row)) for row in whole]
    assert begun == padded[:20] and len(rest) > 40
    assert [rest[position] for position in sorted(rest)] == padded[20 : 20 + len(rest)]


def test_ranks_without_the_lake_read_the_same_from_servers(live):
    """Two servers of one mix: what one of them decides with one rank, the other one knows of, also a reopened stream."""
    commit_synth(live, "s1", range(6))
    with (
        MixtureServer(MixtureStream(live.settings, "demo")) as server,
        MixtureServer(MixtureStream(live.settings, "demo")) as other,
    ):
        urls = [f"grpc://127.0.0.1:{one.port}" for one in (server, other)]
        first, second = (open_remote(url, rank=rank, world_size=2) for rank, url in enumerate(urls))
        begun = [pickle.loads(pickle.dumps(first)), second]
        given = [sample for stream in begun for sample in spelled(islice(stream, 20))]
        commit_synth(live, "s2", range(6, 40))
        given += [sample for stream in begun for sample in spelled(stream)]
        assert sorted(given) == by_ranks(live, 1)
        assert first.read([30])[0].tokens.tolist() == sorted(given)[30][-1]
        at = next(position for position, component, *_ in sorted(given) if component == "synth+1")
        assert first.provenance(at).pieces[0].doc_id.startswith("c3-")


def test_a_rank_without_the_lake_waits_as_one_with_it(small_lake):
    make_live(small_lake, lenders=())
    said: list[str] = []
    with MixtureServer(MixtureStream(small_lake.settings, "demo")) as server:
        stream = open_remote(f"grpc://127.0.0.1:{server.port}", late_seconds=0.1, say=said.append)
        with pytest.raises(
            ComponentLateError, match=r"0 of 40 sequences of tokenized/synth/sequences came so far\. It did"
        ):
            list(stream)
    assert len(said) == 1


def test_plan_and_report_are_made_by_their_tasks(tmp_path):
    """The plan does not change when more comes, and the report holds what was decided against what was planned for it."""
    settings = settings_from_table({"state_folder": str(tmp_path / "state")}, base=tmp_path)
    held = SmallLake(tmp_path, settings.lake)
    held.commit_sequences(WEB, "s1", [[sequence_row(1, number, number) for number in range(30)]])

    def run(task: str) -> dict[str, Any]:
        arguments = {"settings": settings.to_json(), "dataset": "mixtures", "partition": "demo"}
        return execute(
            task, {**arguments, "parameters": {"mixture": mixture().to_json()}}, lambda message, numbers: None
        )

    made = run("plan")
    nothing = run("report")
    assert [row["realised_tokens"] for row in nothing["tables"]["shares"]] == [0, 0]
    stream = MixtureStream(settings.lake, "demo")
    list(islice(stream, 8))
    commit_synth(held, "s1", range(40))
    assert run("plan")["metrics"]["mix_version"] == made["metrics"]["mix_version"]
    behind = {row["component"]: row for row in run("report")["tables"]["shares"]}
    assert behind["synth"]["realised_tokens"] == 0 and behind["synth"]["planned_tokens"] > 30
    list(stream)
    last = run("report")["tables"]
    whole = {row["component"]: row for row in last["shares"]}
    planned = {one.name: one for one in stream.plan.decided.plan.components}
    assert whole["synth"]["planned_tokens"] == planned["synth"].planned_tokens
    assert whole["synth"]["epochs"] == planned["synth"].planned_sequences / 40
    rows = last["decisions"]
    assert (rows[0]["rule"], rows[0]["available"], rows[0]["given"]) == ("borrow", 0, 0)
    assert rows[0]["lenders"] == f"web {rows[0]['planned']}" and rows[0]["owed"] == rows[0]["borrowed"]
    assert sum(row["borrowed"] - row["repaid"] for row in rows) == rows[-1]["owed"] == 0
    held.lake.close()
