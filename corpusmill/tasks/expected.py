"""What may go wrong in a task without a fault in the program: its message is for people, its stack trace for nobody."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from corpusmill.engines.engine import EngineFailedError
from corpusmill.engines.inference import EngineDeadError
from corpusmill.engines.service import EngineStartError
from corpusmill.engines.shards import ShardsFailedError
from corpusmill.full_disk import told_full_disk
from corpusmill.lake.errors import CommitTimeoutError, StaleAttemptError

MISTAKES = (ValueError,)
"""Of the user: trying again changes nothing."""
MISHAPS = (
    EngineStartError,
    EngineFailedError,
    EngineDeadError,
    ShardsFailedError,
    StaleAttemptError,
    CommitTimeoutError,
)
"""Of a machine: another attempt may do better."""


class Told(NamedTuple):
    """An expected failure as people read it."""

    message: str
    may_retry: bool


def told_expected(error: Exception, arguments: Mapping[str, Any]) -> Told | None:
    """Return what to say of an error of the task with these arguments; None for a fault of the program."""
    settings = arguments["settings"]
    file = f"a file in {settings['lake']['store']['root']} or {settings['state_folder']}"
    if full := told_full_disk(error, file=file):
        return Told(full, may_retry=False)
    if isinstance(error, (*MISTAKES, *MISHAPS)):
        return Told(str(error), may_retry=isinstance(error, MISHAPS))
    return None
