"""What may go wrong in a task without a fault in the program: its message is for people, its stack trace for nobody."""

from corpusmill.engines.engine import EngineFailedError
from corpusmill.engines.inference import EngineDeadError
from corpusmill.engines.service import EngineStartError
from corpusmill.engines.shards import ShardsFailedError
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
EXPECTED = (*MISTAKES, *MISHAPS)
