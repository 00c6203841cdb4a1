"""Ctrl-C in a command that runs work: said at once, ended soon, with the engines that nobody else holds."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psutil
import pytest

from corpusmill.engines.engine_folder import EngineFolder
from corpusmill.engines.lease import lease
from corpusmill.engines.processes import end_host_processes
from corpusmill.engines.service import EngineSettings
from jobs.command import ENDING
from tests.jobs.live_instance import wait_for

pytestmark = [pytest.mark.dagster, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
ENGINE = EngineSettings(service={"behaviour": "good"}, linger_seconds=600)
COMMAND = (
    *("materialize", "--assets", "mixed/mixtures/plan", "--partition", "m1"),
    *("--definitions", "toy_definitions"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose one mixture is in the making for ever, and whose engines all end with the test."""
    places = [ROOT, ROOT / "tests/jobs", ROOT / "tests/engines/toys"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, places)))
    monkeypatch.setenv("TOY_FOLDER", str(tmp_path))
    monkeypatch.delenv("CORPUSMILL_SETTINGS", raising=False)
    monkeypatch.setattr(sys, "path", [*map(str, places), *sys.path])
    home = tmp_path / ".corpusmill/dagster"
    home.mkdir(parents=True)
    with dg.DagsterInstance.local_temp(tempdir=str(home)) as instance:
        instance.add_dynamic_partitions("mixtures", ["m1"])
    (tmp_path / "hold").touch()
    yield tmp_path
    for file in tmp_path.glob(".corpusmill/engines/*/host.json"):
        record = EngineFolder(file.parent).record()
        assert record is not None
        end_host_processes(record.host_id, record.process)


def running(folder: Path) -> "subprocess.Popen[str]":
    """Start the command as a terminal does, with a process group of its own, and return it once its step is at work."""
    command = [sys.executable, "-m", "jobs.command", *COMMAND]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, cwd=folder, process_group=0, **pipes)
    wait_for((folder / "at-work").exists)
    return process


def watchers(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Return the programs by which Dagster mirrors what a step prints, that have come to wait."""
    children = psutil.Process(process.pid).children()
    return [one for one in children if "watch_orphans" in str(one.cmdline()) and one.status() == psutil.STATUS_SLEEPING]


def is_hosted(folder: Path) -> bool:
    (path,) = (folder / ".corpusmill/engines").glob("*/")
    return EngineFolder(path).is_hosted()


def test_control_c_is_answered_at_once_and_ends_engines_that_nobody_holds(folder):
    with lease("toy_service", ENGINE, state_folder=folder / ".corpusmill"):
        pass
    process = running(folder)
    wait_for(lambda: len(watchers(process)) == 2)
    os.killpg(process.pid, signal.SIGINT)
    asked = time.monotonic()
    assert process.stderr.readline().startswith("Interrupted: ending the run and its engines.")
    assert time.monotonic() - asked < 2
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - asked < 15
    said = "Ended. Finished shards and partitions are kept: the same command goes on from here.\n"
    assert (process.returncode, err) == (130, said), out
    assert not is_hosted(folder)


def test_an_engine_that_another_process_holds_stays(folder):
    with lease("toy_service", ENGINE, state_folder=folder / ".corpusmill"):
        process = running(folder)
        process.send_signal(signal.SIGTERM)
        assert "Ended." in process.communicate(timeout=60)[1]
        assert is_hosted(folder)


def test_a_program_that_a_thread_waits_for_ends_too(folder):
    (folder / "program").touch()
    process = running(folder)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


def test_a_second_control_c_ends_what_does_not_listen(folder):
    (folder / "deaf").touch()
    process = running(folder)
    process.send_signal(signal.SIGINT)
    assert process.stderr.readline().startswith("Interrupted")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_control_c_while_dev_starts_is_answered_at_once_and_ends_what_has_started(folder):
    command = [sys.executable, "-m", "jobs.command", "dev", "--port", "0", "--definitions", "toy_definitions"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for((folder / ".corpusmill/dagster/output/code-server.log").exists)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    assert process.stderr.readline() == f"{ENDING}\n"
    assert time.monotonic() - asked < 2
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []
