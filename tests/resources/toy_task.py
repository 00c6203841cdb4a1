"""A task for tests of launchers: its parameters say how it behaves."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.engines.service import EngineStartError
from corpusmill.lake.tables import Attempt
from corpusmill.tasks.task import Job, Outcome

SCHEMA = pa.schema([pa.field("word", pa.string())])
SLEEPER = "import threading; threading.Event().wait()"


def table(dataset: str) -> str:
    return f"curated/{dataset}/words"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return SCHEMA


def inputs(job: Job) -> dict[str, Any]:
    return {}


def run(job: Job, attempt: Attempt) -> Outcome:
    job.report("looking at the words", {"words": 12345})
    BEHAVIOURS[job.parameters["behaviour"]](job.parameters)
    return Outcome(files=[], counts=Counts(rows_in=2, dropped={"too_short": 2}))


def fine(parameters: Mapping[str, Any]) -> None:
    print("printed by the task")


def mistake(parameters: Mapping[str, Any]) -> None:
    raise ValueError("snapshot 2031 does not exist; there are 2024, 2025")


def mishap(parameters: Mapping[str, Any]) -> None:
    raise EngineStartError("the engine did not start: no memory")


def full_disk(parameters: Mapping[str, Any]) -> None:
    with open("/dev/full", "w") as full:
        full.write("x")


def bug(parameters: Mapping[str, Any]) -> None:
    raise ZeroDivisionError("a fault in the program")


def die(parameters: Mapping[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(parameters: Mapping[str, Any]) -> None:
    os._exit(0)


def hang(parameters: Mapping[str, Any]) -> None:
    """Start a child, tell both pids and never end; a deaf one does not hear SIGTERM."""
    if parameters.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", SLEEPER])
    folder = Path(parameters["folder"])
    (folder / "writing").write_text(f"{os.getpid()} {child.pid}")
    (folder / "writing").rename(folder / "pids")
    threading.Event().wait()


BEHAVIOURS = {run.__name__: run for run in (fine, mistake, mishap, full_disk, bug, die, leave, hang)}
