"""The tasks of synthesis over a pool of servers: one of two killed, what is asked again, and the key that is kept nowhere."""

import dataclasses
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthesis_lake import add_seeds, documents, run_task, settings_in
from corpusmill.settings import Settings
from tests.servers.chat_server import RunningServer, chat_server

NUM_SEEDS, CHUNK = 60, 20


def lake_of(folder: Path, *servers: RunningServer, **more: Any) -> Settings:
    settings = settings_in(folder, [server.url for server in servers])
    inference = dataclasses.replace(settings.inference, chunk_requests=CHUNK, **more)
    return dataclasses.replace(settings, inference=inference)


@pytest.fixture
def server() -> Iterator[RunningServer]:
    with chat_server() as running:
        yield running


def num_asked(*servers: RunningServer) -> int:
    return sum(sum(server.counts()["arrivals"].values()) for server in servers)


def test_case_14_one_of_two_servers_is_killed_and_the_job_completes(tmp_path):
    with (
        chat_server(latency_seconds=0.02) as server,
        chat_server(dies_at=15, log=str(tmp_path / "dying.log")) as dying,
    ):
        settings = lake_of(tmp_path, server, dying)
        add_seeds(settings, NUM_SEEDS)
        run_task(settings, "requests")
        answered = run_task(settings, "completions")
        assert dying.process.wait(timeout=60) == -signal.SIGKILL
        asked = num_asked(server)
    assert answered["counts"] == {"rows_in": NUM_SEEDS, "kept": NUM_SEEDS, "dropped": {}, "failed": {}}
    arrived = (tmp_path / "dying.log").read_text().count(" arrived ")
    assert 0 < asked + arrived - NUM_SEEDS <= CHUNK
    judged = run_task(settings, "accept")["counts"]
    assert judged["kept"] + sum(judged["dropped"].values()) == judged["rows_in"] == NUM_SEEDS
    assert len({row["parent_ids"][0] for row in documents(settings)}) == NUM_SEEDS


def test_only_another_model_is_asked_again(tmp_path, server):
    settings = lake_of(tmp_path, server)
    add_seeds(settings, 5)
    for revision, asked in (("1", 5), ("1", 5), ("2", 10)):
        now = lake_of(tmp_path, server, model_revision=revision)
        run_task(now, "requests")
        run_task(now, "completions")
        assert num_asked(server) == asked


def test_the_key_is_in_nothing_that_is_kept_or_told(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TOY_KEY", "sk-secret")
    with chat_server(key="sk-secret") as server:
        settings = lake_of(tmp_path, server, api_key_variable="TOY_KEY")
        add_seeds(settings, 3)
        results = [run_task(settings, task) for task in ("requests", "completions", "accept")]
    assert results[-1]["counts"]["failed"] == {}
    kept = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert len(kept) > 3
    assert not any(b"sk-secret" in data for data in kept)
    assert "sk-secret" not in f"{results} {settings.to_json()} {capfd.readouterr()}"
