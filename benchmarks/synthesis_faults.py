"""2,000 requests to a server that fails by plan, killed with -9 at half and run again: what is lost, and what asked twice.

The server (`tests/servers/chat_server.py`) answers 2 % of the tries with status 500, 2 % with 400, 1 % with broken JSON, and
0.5 % never; it logs every try, so what was asked again is its word, not ours. Other tools get the same prompts from a
server with the same faults, are killed at the same point and resume by their own means, with the same deadline of a
request. Their scripts are `faults_*.py`, each run in an environment of its own; a run that ends with an error is started
again, up to `MAX_RERUNS` times, and what it has then counts.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Measure, at_most, print_measures
from benchmarks.peers import peer_python
from benchmarks.synthesis_lake import (
    CHUNK_REQUESTS,
    MAX_CONCURRENCY,
    REQUEST_SECONDS,
    add_seeds,
    documents,
    num_completions,
    prompts,
    run_task,
    settings_in,
)
from tests.servers.chat_server import RunningServer, chat_server, log_name

NUM_REQUESTS = 2_000
PLAN: dict[str, Any] = {
    "error_share": 0.02,
    "refuse_share": 0.02,
    "hang_share": 0.005,
    "broken_share": 0.01,
    "latency_seconds": 0.05,
    # On this address datatrove takes OpenAI's client, as it does for servers elsewhere; for 127.0.0.1 it has a plainer one.
    "host": "127.0.0.2",
}
MAX_RERUNS = 4
SECONDS = 240.0
"""All runs of a tool together; what it has then counts."""
PASSING = ("error", "hang", "broken", "reset", "busy")
"""Outcomes after which asking again is right."""
HERE = Path(__file__).parent
PEERS: dict[str, tuple[str, ...]] = {
    "datatrove": (
        "datatrove==0.10.1",
        "aiofiles==25.1.0",
        "aiosqlite==0.22.1",
        "openai==3.57.0",
        "httpx==0.28.1",
        "orjson==3.13.0",
        "xxhash==3.8.2",
    ),
    "distilabel": ("distilabel[openai]==1.5.3", "openai==3.57.0", "requests==2.34.2"),
    "data_designer": ("data-designer==0.9.7",),
}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What is left after the kill and the reruns."""

    answered: int
    failed: int
    """Rows that are there, without an answer."""
    lost: int
    duplicated: int
    asked_again: int
    """Tries beyond the first, less those that the server failed."""
    reruns: int
    seconds: float
    error: str = ""
    """Why the last rerun ended, where it ended with an error."""


def measures() -> list[Measure]:
    """Kill and rerun ours, then each of the others."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-faults-") as scratch:
        folder = Path(scratch)
        ours, counts = _ours(folder / "ours")
        told = prompts(settings_in(folder / "ours", ["http://127.0.0.1:1"]))
        lines = [json.dumps({"id": doc_id, "prompt": prompt}) for doc_id, prompt in told.items()]
        (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        found = _own_measures(ours, counts)
        for name, requirements in PEERS.items():
            found += _beside(ours, name, requirements, folder)
    return found


def _own_measures(ours: Outcome, counts: dict[str, Any]) -> list[Measure]:
    accounted = counts["kept"] + sum(counts["dropped"].values()) + sum(counts["failed"].values())
    print(f"ours: {ours} {counts}", file=sys.stderr, flush=True)
    about = f"{NUM_REQUESTS:,} requests, killed at half"
    return [
        Measure(measure=f"{about}: rows lost", ours=ours.lost, bar=at_most(0)),
        Measure(measure=f"{about}: rows duplicated", ours=ours.duplicated, bar=at_most(0)),
        Measure(
            measure=f"{about}: |in - accepted - rejected - failed|",
            ours=abs(counts["rows_in"] - accounted) + abs(counts["rows_in"] - NUM_REQUESTS),
            bar=at_most(0),
        ),
        Measure(measure=f"{about}: asked again", ours=ours.asked_again, bar=at_most(CHUNK_REQUESTS)),
        Measure(measure=f"{about}: accepted", ours=counts["kept"]),
        Measure(measure=f"{about}: rejected", ours=sum(counts["dropped"].values())),
        Measure(measure=f"{about}: failed", ours=sum(counts["failed"].values())),
        Measure(measure=f"{about}: both runs together (s)", ours=ours.seconds),
    ]


def _ours(folder: Path) -> tuple[Outcome, dict[str, Any]]:
    folder.mkdir()
    log = folder / "server.log"
    with chat_server(**PLAN, log=str(log)) as server:
        settings = settings_in(folder, [server.url])
        add_seeds(settings, NUM_REQUESTS)
        run_task(settings, "requests")
        command = [sys.executable, "-m", "benchmarks.synthesis_lake", str(folder), server.url]
        runs = _kill_and_rerun(command, server, max_reruns=1)
        rows = documents(settings)
        assert num_completions(settings) == NUM_REQUESTS
        told = prompts(settings).values()
    ids = Counter(row["parent_ids"][0] for row in rows)
    outcome = Outcome(
        answered=sum(not (row["reject_reason"] or "").startswith("failed/") for row in rows),
        failed=sum((row["reject_reason"] or "").startswith("failed/") for row in rows),
        lost=NUM_REQUESTS - len(ids),
        duplicated=len(rows) - len(ids),
        asked_again=asked_again(log, told),
        reruns=runs.reruns,
        seconds=runs.seconds,
        error=runs.error,
    )
    return outcome, json.loads(runs.said)["counts"]


def _beside(ours: Outcome, name: str, requirements: Sequence[str], folder: Path) -> list[Measure]:
    """Return ours beside another tool's; one line that says why, where it could not be run."""
    about = f"{NUM_REQUESTS:,} requests, killed at half"
    try:
        theirs = _theirs(name, requirements, folder)
    except (subprocess.CalledProcessError, ValueError) as error:
        return [Measure(measure=f"{about}: rows lost ({name} could not be run: {error})", ours=ours.lost)]
    print(f"{name}: {theirs}", file=sys.stderr, flush=True)
    version = requirements[0].replace("[openai]", "")
    ended = f" (its last run: {theirs.error})" if theirs.error else ""
    pairs = {
        f"rows lost{ended}": (ours.lost, theirs.lost),
        "rows without an answer": (ours.failed, theirs.failed),
        "rows duplicated": (ours.duplicated, theirs.duplicated),
        "asked again": (ours.asked_again, theirs.asked_again),
        "reruns": (ours.reruns, theirs.reruns),
        "all runs together (s)": (ours.seconds, theirs.seconds),
    }
    return [
        Measure(measure=f"{about}: {what}", ours=mine, other=other, other_name=version)
        for what, (mine, other) in pairs.items()
    ]


def _theirs(name: str, requirements: Sequence[str], folder: Path) -> Outcome:
    python = peer_python(name, requirements)
    home = folder / name
    home.mkdir()
    log = home / "server.log"
    with chat_server(**PLAN, log=str(log)) as server:
        script = HERE / f"faults_{name}.py"
        options = json.dumps({"url": server.url, "seconds": REQUEST_SECONDS, "concurrency": MAX_CONCURRENCY})
        command = [str(python), str(script), "run", str(folder / "prompts.jsonl"), str(home), options]
        runs = _kill_and_rerun(command, server, max_reruns=MAX_RERUNS)
    said = subprocess.run([str(python), str(script), "rows", str(home)], capture_output=True, text=True, check=True)
    rows: list[tuple[str, bool]] = json.loads(said.stdout.splitlines()[-1])
    ids = Counter(doc_id for doc_id, _ in rows)
    told = [json.loads(line)["prompt"] for line in (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    return Outcome(
        answered=sum(has_answer for _, has_answer in rows),
        failed=sum(not has_answer for _, has_answer in rows),
        lost=NUM_REQUESTS - len(ids),
        duplicated=len(rows) - len(ids),
        asked_again=asked_again(log, told),
        reruns=runs.reruns,
        seconds=runs.seconds,
        error=runs.error,
    )


@dataclass(frozen=True, kw_only=True)
class Runs:
    """A command that was killed at half and then run to its end."""

    said: str
    """The last line of output."""
    reruns: int
    seconds: float
    error: str


def _kill_and_rerun(command: list[str], server: RunningServer, *, max_reruns: int) -> Runs:
    started = time.perf_counter()
    num_runs, code, is_killed = 0, None, False
    while code != 0 and num_runs <= max_reruns and time.perf_counter() < started + SECONDS:
        num_runs += 1
        run = _Run(command, server, deadline=started + SECONDS)
        is_killed |= run.wait(until_answered=None if is_killed else NUM_REQUESTS // 2)
        code = run.kill()
    said, errors = run.told()
    error = "" if code == 0 else _last_error(errors) if code else f"no end within {SECONDS:.0f} s"
    return Runs(said=said, reruns=num_runs - 1, seconds=time.perf_counter() - started, error=error)


class _Run:
    """One run of a command, in a session of its own, its output in files."""

    def __init__(self, command: list[str], server: RunningServer, *, deadline: float) -> None:
        self._server = server
        self._deadline = deadline
        self._out = tempfile.TemporaryFile("w+")  # noqa: SIM115 (read after the run)
        self._err = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdout=self._out, stderr=self._err, start_new_session=True, cwd=HERE.parent, env=_environment()
        )

    def wait(self, *, until_answered: int | None) -> bool:
        """Wait until the run ends or the time is over, or return true once so many requests are answered."""
        while self._process.poll() is None and time.perf_counter() < self._deadline:
            if until_answered is not None and self._server.counts()["outcomes"].get("answer", 0) >= until_answered:
                return True
            time.sleep(0.1)
        return False

    def kill(self) -> int | None:
        """Kill what is left of the run; return the code with which it had ended by itself, None where it had not."""
        code = self._process.poll()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return code

    def told(self) -> tuple[str, str]:
        """Return the last line of output, and all of the errors."""
        for file in (self._out, self._err):
            file.seek(0)
        lines = self._out.read().strip().splitlines()
        return (lines[-1] if lines else "", self._err.read())


def asked_again(log: Path, told: Iterable[str]) -> int:
    """Return the tries beyond the first of each prompt, less those before which the server had failed it."""
    arrivals: Counter[str] = Counter()
    setbacks: Counter[str] = Counter()
    for line in log.read_text().splitlines():
        _, what, request = line.split()
        arrivals[request] += what == "arrived"
        setbacks[request] += what in PASSING
    return sum(max(0, arrivals[request] - 1 - setbacks[request]) for request in map(log_name, told))


def _last_error(text: str) -> str:
    lines = [line for line in text.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return (lines[-1] if lines else text.strip()[-200:])[:200]


def _environment() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


if __name__ == "__main__":
    print_measures(measures())
