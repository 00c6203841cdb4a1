"""Launchers: where a task runs. The settings choose one, assets don't know which.

`launch(context, task, arguments)` returns the JSON result of the task `corpusmill.tasks.<task>`. A mistake of the user
and a mishap of a machine become a `dagster.Failure` with the message alone; the stack trace is in the debug log or in
the process's own output.
"""

import os
import signal
import subprocess
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import dagster as dg

from corpusmill.tasks.process import task_command, task_environment
from corpusmill.tasks.progress import SparseProgress


class Launcher(Protocol):
    """A way to run a task."""

    def launch(self, context: dg.AssetExecutionContext, task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run the task to its end and return its result; raises dagster.Failure when it has none."""


@dataclass(frozen=True, kw_only=True)
class InProcessLauncher:
    """Runs a task in the step's own process."""

    def launch(self, context: dg.AssetExecutionContext, task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        # Not at the top: every step, also of a task that runs elsewhere, would load the lake and the engines.
        from corpusmill.tasks.expected import told_expected
        from corpusmill.tasks.task import execute

        progress = SparseProgress(context.log.info)
        try:
            return execute(task, arguments, progress.report)
        except Exception as error:
            told = told_expected(error, arguments)
            if told is None:
                raise
            context.log.debug(traceback.format_exc())
            raise dg.Failure(told.message, allow_retries=told.may_retry) from None
        finally:
            progress.close()


@dataclass(frozen=True, kw_only=True)
class SubprocessLauncher:
    """Runs a task in a process group of its own, which ends with the step, whatever way the step ends.

    A cancelled step: SIGTERM to the group, SIGKILL after the grace. A killed step: the task sees its standard input end.
    A killed task: the step fails. Engines that the task leased are not in its group; they end by their own leases.
    """

    grace_seconds: float = 10.0
    """What a task gets to end in good order."""

    def launch(self, context: dg.AssetExecutionContext, task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="corpusmill-task-") as folder, _pipes_session(context) as session:
            command = task_command(task, arguments, folder=Path(folder))
            with self._group(command, task_environment(session.get_bootstrap_env_vars())) as process:
                exit_code = process.wait()
        return _result(task, exit_code, session.get_custom_messages())

    @contextmanager
    def _group(self, command: Sequence[str], environment: Mapping[str, str]) -> "Iterator[subprocess.Popen[bytes]]":
        """Start a process group and leave none of it behind."""
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True) as process:
            try:
                yield process
            finally:
                self._end(process)

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        _signal_group(process, signal.SIGTERM)
        try:
            process.wait(timeout=self.grace_seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _signal_group(process, signal.SIGKILL)


LAUNCHERS: dict[str, type[InProcessLauncher | SubprocessLauncher]] = {
    "in_process": InProcessLauncher,
    "subprocess": SubprocessLauncher,
}


def launcher(name: str) -> Launcher:
    """Return the launcher that the settings name."""
    if name not in LAUNCHERS:
        raise ValueError(f"launcher must be one of {', '.join(LAUNCHERS)}, got {name!r}")
    return LAUNCHERS[name]()


@contextmanager
def _pipes_session(context: dg.AssetExecutionContext) -> Iterator[dg.PipesSession]:
    session = dg.open_pipes_session(
        context=context.op_execution_context,
        context_injector=dg.PipesTempFileContextInjector(),
        message_reader=dg.PipesTempFileMessageReader(),
    )
    with ExitStack() as opened:
        with warnings.catch_warnings():
            # Dagster 1.13 opens every session through a part of its own that it calls a preview.
            warnings.simplefilter("ignore", dg.PreviewWarning)
            entered = opened.enter_context(session)
        yield entered


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _result(task: str, exit_code: int, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    outcome = {name: value for message in messages for name, value in message.items()}
    if "failure" in outcome:
        raise dg.Failure(outcome["failure"], allow_retries=outcome["retry"])
    if "fault" in outcome:
        raise dg.Failure(f"task {task} failed: {outcome['fault']}; the stack trace is in the run's log")
    if exit_code:
        raise dg.Failure(
            f"the process of task {task} {_cause(exit_code)} before it had a result; its output is in the step's stderr"
        )
    if "result" not in outcome:
        raise dg.Failure(f"the process of task {task} ended without a result and without a message")
    return dict(outcome["result"])


def _cause(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    number = -exit_code
    hint = ", as the system does when memory runs out," if number == signal.SIGKILL else ""
    return f"was killed by {signal.Signals(number).name}{hint}"
