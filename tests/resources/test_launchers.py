"""Launchers with real Dagster runs: results, failures, and what is left after a cancel or a kill."""

import json
import os
import signal
import subprocess
import sys

import dagster as dg
import psutil
import pytest

from resources.launchers import InProcessLauncher, SubprocessLauncher, launcher
from tests.engines.toys.waiting import wait_until
from tests.resources.toy_run import job_of

BOTH = pytest.mark.parametrize(
    "chosen",
    [InProcessLauncher(), pytest.param(SubprocessLauncher(), marks=pytest.mark.dagster)],
    ids=["in_process", "subprocess"],
)


@pytest.fixture
def instance(tmp_path):
    with dg.DagsterInstance.ephemeral(str(tmp_path)) as instance:
        yield instance


def run(chosen, instance, folder, behaviour, *, max_retries=0):
    job = job_of(chosen, folder, {"behaviour": behaviour}, max_retries=max_retries)
    return job.execute_in_process(instance=instance, raise_on_error=False)


def lines(instance, result) -> list[str]:
    return [entry.user_message for entry in instance.all_logs(result.run_id)]


def failure_of(result):
    (event,) = [event for event in result.all_events if event.is_step_failure]
    return event.step_failure_data


@BOTH
def test_result_and_progress_arrive(chosen, instance, tmp_path):
    result = run(chosen, instance, tmp_path, "fine")
    assert result.success
    (materialization,) = result.asset_materializations_for_node("words")
    assert materialization.metadata["dropped"].value == 2
    assert "curated/web/words: looking at the words (words 12,345)" in lines(instance, result)
    told = "curated/web/words: committed, and nothing of what came in was kept (rows 0"
    assert any(line.startswith(told) for line in lines(instance, result))


@BOTH
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("mistake", "snapshot 2031 does not exist; there are 2024, 2025"),
        ("mishap", "the engine did not start: no memory"),
    ],
)
def test_expected_failure_is_its_message_alone(chosen, instance, tmp_path, behaviour, message):
    result = run(chosen, instance, tmp_path, behaviour)
    assert not result.success
    failure = failure_of(result)
    assert failure.user_failure_data.description == message
    assert failure.error.cause is None
    assert not any("toy_task.py" in line for line in failure.error.stack)


@BOTH
def test_a_full_disk_is_told_in_a_line_that_names_the_folders(chosen, instance, tmp_path):
    failure = failure_of(run(chosen, instance, tmp_path, "full_disk"))
    told = failure.user_failure_data.description
    folders = f"{tmp_path}/.corpusmill/lake or {tmp_path}/.corpusmill"
    assert (
        told.startswith(f"wanted to write a file in {folders}, but there is no room on its disk") and "\n" not in told
    )
    assert failure.error.cause is None


@BOTH
@pytest.mark.parametrize(("behaviour", "num_attempts"), [("mistake", 1), ("mishap", 2)])
def test_only_a_mishap_is_tried_again(chosen, instance, tmp_path, behaviour, num_attempts):
    result = run(chosen, instance, tmp_path, behaviour, max_retries=1)
    assert lines(instance, result).count("curated/web/words: looking at the words (words 12,345)") == num_attempts


@BOTH
def test_fault_in_the_program_shows_where_it_is(chosen, instance, tmp_path):
    result = run(chosen, instance, tmp_path, "bug")
    assert not result.success
    everything = "".join(
        str(entry.dagster_event.event_specific_data)
        for entry in instance.all_logs(result.run_id)
        if entry.dagster_event
    )
    assert "ZeroDivisionError: a fault in the program" in everything
    assert "toy_task.py" in everything


@pytest.mark.dagster
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("die", "was killed by SIGKILL, as the system does when memory runs out, before it had a result"),
        ("leave", "ended without a result and without a message"),
        ("bug", "task tests.resources.toy_task failed: ZeroDivisionError: a fault in the program"),
    ],
)
def test_case_28_dead_or_silent_process_fails_the_asset(instance, tmp_path, behaviour, message):
    result = run(SubprocessLauncher(), instance, tmp_path, behaviour)
    assert not result.success
    assert message in failure_of(result).user_failure_data.description
    assert not result.asset_materializations_for_node("words")


@pytest.fixture
def running(tmp_path):
    """Start a run whose task hangs; gives the run's process, and the pids of the task and of the task's child."""
    started = []

    def start(**parameters):
        spelled = json.dumps({"behaviour": "hang", "folder": str(tmp_path), **parameters})
        environment = {**os.environ, "TOY_FOLDER": str(tmp_path), "TOY_PARAMETERS": spelled}
        process = subprocess.Popen([sys.executable, "-m", "tests.resources.toy_run", str(tmp_path)], env=environment)
        started.append(process)
        wait_until(lambda: (tmp_path / "pids").exists(), seconds=120)
        task, child = map(int, (tmp_path / "pids").read_text().split())
        assert psutil.pid_exists(task)
        assert psutil.pid_exists(child)
        return process, task, child

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.dagster
@pytest.mark.slow
@pytest.mark.parametrize("deaf", [False, True])
def test_cancelled_run_ends_the_task_and_its_children(running, deaf):
    process, task, child = running(deaf=deaf)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: not psutil.pid_exists(task) and not psutil.pid_exists(child))
    assert process.wait(timeout=60) is not None


@pytest.mark.dagster
@pytest.mark.slow
def test_killed_step_ends_the_task_and_its_children(running):
    process, task, child = running()
    step = psutil.Process(task).parent()
    assert step.pid != process.pid
    step.kill()
    wait_until(lambda: not psutil.pid_exists(task) and not psutil.pid_exists(child))


@pytest.mark.dagster
def test_task_without_dagster_prints_its_result(tmp_path):
    from tests.resources.toy_run import TASK, settings_from_table

    def execute(behaviour):
        arguments = {
            "settings": settings_from_table({}, base=tmp_path).to_json(),
            "dataset": "web",
            "partition": "2024",
            "parameters": {"behaviour": behaviour},
        }
        (tmp_path / "arguments.json").write_text(json.dumps(arguments))
        command = [sys.executable, "-m", "corpusmill.tasks", TASK, str(tmp_path / "arguments.json")]
        return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    failed = execute("mistake")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "snapshot 2031 does not exist" in failed.stderr
    done = execute("fine")
    assert done.returncode == 0
    assert "curated/web/words: looking at the words (words 12,345)" in done.stderr
    assert json.loads(done.stdout.partition("printed by the task\n")[2])["counts"]["rows_in"] == 2


def test_settings_choose_the_launcher():
    assert isinstance(launcher("in_process"), InProcessLauncher)
    assert isinstance(launcher("subprocess"), SubprocessLauncher)
    with pytest.raises(ValueError, match="launcher must be one of in_process, subprocess, got 'moon'"):
        launcher("moon")
