"""Leases with a toy engine that has real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from corpusmill.engines.engine_folder import READY, EngineFolder, HostRecord, engine_folder
from corpusmill.engines.lease import ask_to_end, end_unheld, lease, reap
from corpusmill.engines.processes import ProcessName, host_processes
from corpusmill.engines.service import EngineSettings, EngineStartError

pytestmark = pytest.mark.slow


def toy(behaviour: str = "good", *, startup_seconds: float = 60, linger_seconds: float = 0) -> EngineSettings:
    return EngineSettings(
        service={"behaviour": behaviour}, startup_seconds=startup_seconds, linger_seconds=linger_seconds
    )


def folder_of(state_folder: Path) -> EngineFolder:
    (path,) = state_folder.glob("engines/*")
    return EngineFolder(path)


def record_of(state_folder: Path) -> HostRecord:
    record = folder_of(state_folder).record()
    assert record is not None
    return record


def tree_of(record: HostRecord) -> list[int]:
    return sorted(process.pid for process in host_processes(record.host_id, record.process))


@pytest.fixture
def holder(state):
    """Starts processes that hold a lease; each gives its endpoint in its first line."""
    started: list[subprocess.Popen] = []

    def start(settings: EngineSettings) -> subprocess.Popen:
        arguments = ["toy_service", json.dumps(vars(settings)), str(state)]
        process = subprocess.Popen(
            [sys.executable, "-m", "toy_holder", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_engine_ends_with_its_whole_tree_after_the_last_lease(state):
    settings = toy()
    with lease("toy_service", settings, state_folder=state) as endpoint:
        assert psutil.pid_exists(endpoint["pid"])
        record = record_of(state)
        wait_until(lambda: len(tree_of(record)) == 3)  # host, service, its child
    wait_until(lambda: not tree_of(record))


def test_engine_stays_for_the_next_lease_while_it_lingers(state):
    settings = toy(linger_seconds=60)
    with lease("toy_service", settings, state_folder=state) as first:
        pass
    with lease("toy_service", settings, state_folder=state) as second:
        assert second == first


def test_concurrent_starters_share_one_host(holder, state):
    settings = toy()
    holders = [holder(settings) for _ in range(6)]
    endpoints = [json.loads(process.stdout.readline()) for process in holders]
    assert len({endpoint["pid"] for endpoint in endpoints}) == 1
    # A host that finds another one takes its log along.
    wait_until(lambda: len(list(folder_of(state).logs.iterdir())) == 1)


def test_engines_with_other_settings_are_other_engines(state):
    with (
        lease("toy_service", toy(), state_folder=state) as first,
        lease("toy_service", toy("stubborn"), state_folder=state) as second,
    ):
        assert first["pid"] != second["pid"]


def test_lease_of_a_killed_process_is_dropped_and_the_engine_ends(holder, state):
    settings = toy()
    process = holder(settings)
    process.stdout.readline()
    record = record_of(state)
    process.kill()
    wait_until(lambda: not tree_of(record))
    assert not list(folder_of(state).leases.iterdir())


def test_lease_of_a_reused_pid_is_dropped(state):
    folder = EngineFolder(state)
    me = ProcessName.of_this_process()
    (folder.leases / "old.json").write_text(json.dumps({"pid": me.pid, "started": "an earlier start"}))
    assert folder.live_leases() == 0
    with folder.leased():
        assert folder.live_leases() == 1
    assert folder.live_leases() == 0


def test_a_lease_holds_while_the_clock_is_set(state, monkeypatch):
    with EngineFolder(state).leased():
        monkeypatch.setattr(psutil.Process, "create_time", lambda process: 0.0)
        assert EngineFolder(state).live_leases() == 1


def test_killed_host_is_replaced_and_its_orphans_end(state):
    settings = toy("stubborn")
    with lease("toy_service", settings, state_folder=state) as first:
        killed = record_of(state)
        os.kill(killed.process.pid, signal.SIGKILL)
        wait_until(lambda: not killed.process.is_running())
        assert psutil.pid_exists(first["pid"])  # a session of its own, and deaf to SIGTERM
        with lease("toy_service", settings, state_folder=state) as second:
            assert second["pid"] != first["pid"]
            assert not tree_of(killed)


def test_other_credentials_are_another_engine(tmp_path, monkeypatch):
    """Workers keep the environment that their engine was started with."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "old")
    first = engine_folder("toy_service", toy(), state_folder=tmp_path).path
    assert engine_folder("toy_service", toy(linger_seconds=60), state_folder=tmp_path).path == first
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "new")
    assert engine_folder("toy_service", toy(), state_folder=tmp_path).path != first


def test_what_a_killed_host_left_is_reaped_and_running_engines_are_not(state):
    settings = toy(linger_seconds=60)
    with lease("toy_service", settings, state_folder=state) as endpoint:
        assert reap(state) == []
        killed = record_of(state)
        wait_until(lambda: len(tree_of(killed)) == 3)  # the host, the engine and the engine's child
        os.kill(killed.process.pid, signal.SIGKILL)
        wait_until(lambda: not killed.process.is_running())
        assert reap(state) == [f"{folder_of(state).path.name} (2 processes)"]
        assert not list(state.glob("engines/*/service-*"))
        assert not psutil.pid_exists(endpoint["pid"])
        assert reap(state) == []


def test_dead_service_ends_its_host_and_the_next_lease_gets_a_new_one(state):
    settings = toy(linger_seconds=60)
    with lease("toy_service", settings, state_folder=state) as first:
        record = record_of(state)
        os.kill(first["pid"], signal.SIGKILL)
        wait_until(lambda: not tree_of(record))
        with lease("toy_service", settings, state_folder=state) as second:
            assert second["pid"] != first["pid"]


def test_host_told_to_end_ends_its_tree(state):
    settings = toy(linger_seconds=60)
    with lease("toy_service", settings, state_folder=state):
        record = record_of(state)
        os.kill(record.process.pid, signal.SIGTERM)
        wait_until(lambda: not tree_of(record))


def test_new_lease_stops_a_host_that_was_about_to_end(state):
    """The host says that it ends, then looks once more: the lease that came meanwhile keeps it."""
    settings = toy(linger_seconds=0.6)
    endpoints = set()
    for _ in range(4):
        with lease("toy_service", settings, state_folder=state) as endpoint:
            assert psutil.pid_exists(endpoint["pid"])
            assert record_of(state).state == READY
            endpoints.add(endpoint["pid"])
    assert len(endpoints) == 1


def test_an_engine_that_nobody_holds_ends_when_asked_and_a_held_one_stays(state):
    settings = toy(linger_seconds=600)
    with lease("toy_service", settings, state_folder=state) as endpoint:
        assert end_unheld(state, wait_seconds=60) == []
        assert psutil.pid_exists(endpoint["pid"])
        record = record_of(state)
    assert end_unheld(state, wait_seconds=60) == []
    wait_until(lambda: not tree_of(record))


def test_an_engine_ends_with_the_process_that_asked_for_it(holder, state):
    process = holder(toy(linger_seconds=600))
    process.stdout.readline()
    record = record_of(state)
    ask_to_end(state)
    process.kill()
    wait_until(lambda: not tree_of(record))


def test_the_next_lease_takes_back_that_the_engine_is_to_end(state):
    with lease("toy_service", toy(linger_seconds=600), state_folder=state) as first:
        ask_to_end(state)
        with lease("toy_service", toy(linger_seconds=600), state_folder=state):
            pass
    with lease("toy_service", toy(linger_seconds=600), state_folder=state) as second:
        assert second == first


def test_a_start_that_nobody_waits_for_any_more_ends(state):
    given_up = threading.Event()
    threading.Timer(2, given_up.set).start()
    with (
        pytest.raises(EngineStartError, match="nobody waits for it any more"),
        lease("toy_service", toy("hangs", startup_seconds=600), state_folder=state, given_up=given_up),
    ):
        pass
    record = record_of(state)
    assert tree_of(record)
    assert end_unheld(state, wait_seconds=60) == []
    wait_until(lambda: not tree_of(record))


@pytest.mark.parametrize(
    ("behaviour", "startup_seconds", "message"),
    [
        ("refuses", 60, "there is no key; put one under the mat"),
        ("crashes", 60, "KeyError: 'a mistake of ours'"),
        ("hangs", 2, "start-up budget of 2 s"),
    ],
)
def test_engine_that_cannot_start_is_a_clear_error(state, behaviour, startup_seconds, message):
    settings = toy(behaviour, startup_seconds=startup_seconds)
    with pytest.raises(EngineStartError) as raised, lease("toy_service", settings, state_folder=state):
        pass
    assert message in str(raised.value)
    assert "The log is /" in str(raised.value)
    record = record_of(state)
    wait_until(lambda: not tree_of(record))


def test_error_shows_the_end_of_the_log(state):
    with (
        pytest.raises(EngineStartError, match="the toy looked for its key"),
        lease("toy_service", toy("refuses"), state_folder=state),
    ):
        pass


def test_waiting_clients_get_the_reason_too(holder, state):
    settings = toy("hangs", startup_seconds=3)
    holders = [holder(settings) for _ in range(3)]
    assert [process.wait(timeout=60) for process in holders] == [1, 1, 1]
    assert len(list(folder_of(state).logs.iterdir())) == 1


@pytest.mark.parametrize("settings", [{"startup_seconds": 0}, {"linger_seconds": -1}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match="startup_seconds must be positive"):
        EngineSettings(**settings)
