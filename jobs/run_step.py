"""Running a step in this process, recorded in the Dagster instance like any other run, with its progress as lines."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from jobs.way import Step

Say = Callable[[str], None]
"""Takes a line for the person who waits."""


PROGRESS = "progress"
"""The name of the logger that gives progress to a person."""


class StepFailedError(RuntimeError):
    """A step's run failed; the message names the step and why."""


class _LineHandler(logging.Handler):
    """Gives the progress that tasks log to `say`.

    Dagster's own events are in its event log already, and its errors come as the run's reason.
    """

    def __init__(self, say: Say) -> None:
        super().__init__(level=logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {})
        if record.levelno == logging.INFO and not meta.get("dagster_event"):
            self._say(f"      {meta.get('orig_message', record.getMessage())}")


def line_logger(say: Say) -> dg.LoggerDefinition:
    """Return the Dagster logger that gives progress to `say`."""

    @dg.logger
    def lines(context: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("corpusmill.progress", level=logging.INFO)
        logger.addHandler(_LineHandler(say))
        return logger

    return lines


def run_step(definitions: dg.Definitions, step: Step, *, instance: dg.DagsterInstance) -> None:
    """Run a step in this process; raises StepFailedError that says why it failed."""
    job = definitions.resolve_job_def(step.job)
    config: dict[str, Any] = {"loggers": {PROGRESS: {}}} if PROGRESS in job.loggers else {}
    partition = None if job.partitions_def is None else step.partition
    result = job.execute_in_process(run_config=config, partition_key=partition, instance=instance, raise_on_error=False)
    check_success(result, what=f"{step.job} failed on {step.partition}")


def check_success(result: dg.ExecuteInProcessResult, *, what: str) -> None:
    """Raise StepFailedError with the reason of a run that failed, KeyboardInterrupt of one that was interrupted."""
    if result.success:
        return
    errors = [event.step_failure_data.error for event in result.all_events if event.is_step_failure]
    if any(error and error.cls_name == dg.DagsterExecutionInterruptedError.__name__ for error in errors):
        raise KeyboardInterrupt
    raise StepFailedError(f"{what}: {_failure_reason(result)}")


def _failure_reason(result: dg.ExecuteInProcessResult) -> str:
    """Return the innermost message of the first failed step of a run; of one that only a check stopped, what the check says."""
    for event in result.all_events:
        if event.is_step_failure:
            data = event.step_failure_data
            error = data.error
            while error and error.cause:
                error = error.cause
            described = data.user_failure_data.description if data.user_failure_data else None
            checked = "; ".join(_failed_checks(result, event.step_key))
            return described or checked or (error.message.strip() if error else "no reason given")
    return "a check failed, or the run ended without a reason; see the run in the UI"


def _failed_checks(result: dg.ExecuteInProcessResult, step_key: str | None) -> Iterator[str]:
    for event in result.all_events:
        if event.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION and event.step_key == step_key:
            check = event.asset_check_evaluation_data
            if not check.passed and check.blocking:
                yield f"{check.asset_key.to_user_string()}: {check.description or check.check_name}"
