"""Running one trial of an engine's settings in a process of its own, within a budget, and naming how it failed.

How an engine is started is a function by name, `module:function`, from settings to an `InferenceEngine`. Another server
is measured by naming another function. What an engine starts stays in the trial's process group, and ends with it.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from corpusmill.engines.worker_path import worker_path
from corpusmill.tune.trial import CRASH, OUT_OF_MEMORY, RUN_TIMEOUT, START_TIMEOUT

PROCESS = "corpusmill.engines.trial_process"
VLLM = "corpusmill.engines.vllm_local:start"
SGLANG = "corpusmill.engines.sglang_server:start"
MEMORY_WORDS = (
    "out of memory",
    "outofmemory",
    "memoryerror",
    "cannot allocate memory",
    "can't allocate memory",
    "bad_alloc",
    "no available memory for the cache",
    "larger than the available kv cache memory",
    "less than desired gpu memory utilization",
    "to be available for kv cache",
    "not enough memory",
    "exit code: -9",
)
"""How torch, CUDA, the C++ library, Python, vLLM and SGLang say it; the last is SGLang's word of a killed child."""
MESSAGE_CHARACTERS = 300
LOG_BYTES = 64 << 10


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long a trial may take."""

    start_seconds: float
    run_seconds: float

    def __post_init__(self) -> None:
        if self.start_seconds <= 0 or self.run_seconds <= 0:
            raise ValueError(f"a trial's budgets must be positive, got {self.start_seconds} and {self.run_seconds}")


def run_trial(
    server: str, settings: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], *, budget: Budget
) -> dict[str, Any]:
    """Start the engine, ask it `groups` once and return what is measured: fields of `corpusmill.tune.trial.Trial`.

    A group has `sampling` and `requests`, both as JSON. Whatever goes wrong is a `failure` with a `message`.
    """
    order = {"server": server, "settings": dict(settings), "groups": [dict(group) for group in groups]}
    with tempfile.TemporaryFile() as log:
        process = _spawn(log)
        try:
            return _follow(process, order, budget, log)
        finally:
            _end(process)


def _spawn(log: IO[bytes]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", PROCESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env={**os.environ, "PYTHONPATH": worker_path()},
        start_new_session=True,
    )


def _follow(
    process: "subprocess.Popen[str]", order: Mapping[str, Any], budget: Budget, log: IO[bytes]
) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(process.stdout, lines), daemon=True).start()
    with suppress(BrokenPipeError):  # its end is seen below
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    started = time.monotonic()
    ready = _next(lines, budget.start_seconds)
    start_seconds = {"start_seconds": round(time.monotonic() - started, 3)}
    if ready is None:
        return {"failure": START_TIMEOUT, "message": f"not ready within {budget.start_seconds:.0f} s", **start_seconds}
    if not ready:
        return start_seconds | _obituary(process, log)
    done = _next(lines, budget.run_seconds)
    if done is None:
        return {"failure": RUN_TIMEOUT, "message": f"not done within {budget.run_seconds:.0f} s", **start_seconds}
    return start_seconds | (json.loads(done)["done"] if done else _obituary(process, log))


def _next(lines: "queue.SimpleQueue[str]", seconds: float) -> str | None:
    """Return the next line, empty when the process ended, None when the time is up."""
    try:
        return lines.get(timeout=seconds)
    except queue.Empty:
        return None


def _read_lines(stream: IO[str], lines: "queue.SimpleQueue[str]") -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def _obituary(process: "subprocess.Popen[str]", log: IO[bytes]) -> dict[str, str]:
    code = process.wait()
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - LOG_BYTES))
    words = log.read().decode("utf-8", "replace")
    return {"failure": failure_class(code, words), "message": f"exit code {code}: {last_error(words)}"}


def failure_class(exit_code: int, words: str) -> str:
    """Return OUT_OF_MEMORY or CRASH. Nobody here kills a trial that has ended, so SIGKILL was the kernel's, for memory."""
    lower = words.lower()
    if exit_code == -signal.SIGKILL or any(word in lower for word in MEMORY_WORDS):
        return OUT_OF_MEMORY
    return CRASH


def last_error(words: str) -> str:
    """Return the last line that names an error, else the last line."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line.partition(":")[0] or "error:" in line.lower()]
    return (errors or lines or ["no last words"])[-1][-MESSAGE_CHARACTERS:]


def _end(process: "subprocess.Popen[str]") -> None:
    """End the process with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(BrokenPipeError):
            stream.close()
