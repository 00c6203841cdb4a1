"""A task in a process of its own: `python -m corpusmill.tasks <name> <arguments.json>`.

Started by a launcher it reports through Dagster Pipes: progress as log lines, then one custom message: {"result": ...},
{"failure": ..., "retry": ...} for what may go wrong without a fault of the program, or {"fault": ...}. Started by a
person it prints progress to stderr and the result to stdout. Exit code 0 means that there is a result.

It ends with whoever started it: SIGTERM ends the task in good order, and a standard input that was handed over and ends
means that the launcher is gone, however that happened.
"""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from dagster_pipes import DAGSTER_PIPES_CONTEXT_ENV_VAR, open_dagster_pipes

from corpusmill.tasks.expected import told_expected
from corpusmill.tasks.process import WATCH_VARIABLE
from corpusmill.tasks.progress import SparseProgress
from corpusmill.tasks.task import execute

GRACE_SECONDS = 10.0
"""What a task gets to end in good order after its launcher is gone."""

Log = Callable[[str], None]
Tell = Callable[[Mapping[str, Any]], None]


def main(name: str, arguments_file: str) -> int:
    """Run the task and return the exit code."""
    signal.signal(signal.SIGTERM, _end_in_good_order)
    if os.environ.get(WATCH_VARIABLE):
        threading.Thread(target=_watch_launcher, daemon=True).start()
    arguments = json.loads(Path(arguments_file).read_text(encoding="utf-8"))
    with _channel() as (log, tell):
        progress = SparseProgress(log)
        try:
            result = execute(name, arguments, progress.report)
        except Exception as error:
            told = told_expected(error, arguments)
            if told is None:
                tell({"fault": f"{type(error).__name__}: {error}"})
                raise
            traceback.print_exc()
            tell({"failure": told.message, "retry": told.may_retry})
            return 1
        finally:
            progress.close()
        tell({"result": result})
    return 0


@contextmanager
def _channel() -> Iterator[tuple[Log, Tell]]:
    """Give what to call with a line of progress and with the outcome."""
    if DAGSTER_PIPES_CONTEXT_ENV_VAR in os.environ:
        with open_dagster_pipes() as pipes:
            yield pipes.log.info, pipes.report_custom_message
    else:
        yield (lambda line: print(line, file=sys.stderr, flush=True)), _print_outcome


def _print_outcome(outcome: Mapping[str, Any]) -> None:
    if "result" in outcome:
        print(json.dumps(outcome["result"], indent=2))


def _end_in_good_order(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def _watch_launcher() -> None:
    """End this task's whole process group once the launcher is gone."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.killpg(0, signal.SIGTERM)
    threading.Event().wait(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: python -m corpusmill.tasks <name> <arguments.json>, got {sys.argv[1:]}")
    sys.exit(main(*sys.argv[1:]))
