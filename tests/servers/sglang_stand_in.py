"""What stands in for SGLang's server program: it takes the same arguments, starts a child, serves, and fails as SGLang does."""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.servers.chat_server import ROOT, ChatServer, Plan

MODES = {1: "memory", 2: "crash", 3: "dies", 4: "never_starts", 5: "never_answers"}
"""By --max-running-requests."""
SWITCHES = ("--disable-radix-cache", "--disable-prefill-cuda-graph", "--disable-decode-cuda-graph")
OPTIONS = (
    *("--model-path", "--served-model-name", "--host", "--port", "--context-length", "--device", "--random-seed"),
    *("--max-running-requests", "--mem-fraction-static", "--quantization", "--dtype", "--kv-cache-dtype"),
    *("--tensor-parallel-size", "--chunked-prefill-size", "--max-prefill-tokens", "--speculative-algorithm"),
    *("--speculative-num-draft-tokens", "--speculative-ngram-max-bfs-breadth"),
)


class StandIn(ChatServer):
    """Answers the warm-up; then as its mode says."""

    def __init__(self, plan: Plan, mode: str) -> None:
        super().__init__(plan)
        self.mode = mode

    def outcome(self, text: str, attempt: int, body: dict) -> str:
        if self.mode == "never_answers" and self.counts.arrivals.total() > 1:
            return "hang"
        if self.mode == "dies" and self.counts.arrivals.total() > 1:
            print("Scheduler hit an exception:\nValueError: no such kernel", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)  # SGLang's own way to end itself
        return super().outcome(text, attempt, body)


def environment(folder: Path) -> str:
    """Make an environment in which `python -m sglang.launch_server` is this program; return its Python."""
    packages = folder / "packages"
    (packages / "sglang").mkdir(parents=True)
    (packages / "sglang" / "__init__.py").touch()
    program = "from tests.servers.sglang_stand_in import main\n\nmain()\n"
    (packages / "sglang" / "launch_server.py").write_text(program, encoding="utf-8")
    (packages / "sglang-0.5.23.dist-info").mkdir()
    metadata = packages / "sglang-0.5.23.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.23\n", encoding="utf-8")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:{ROOT}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return str(python)


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for option in OPTIONS:
        parser.add_argument(option)
    for switch in SWITCHES:
        parser.add_argument(switch, action="store_true")
    return parser.parse_args(words)


def main() -> None:
    given = arguments(sys.argv[1:])
    mode = MODES.get(int(given.max_running_requests or 0), "answers")
    subprocess.Popen(["sleep", "1000"])  # SGLang's scheduler is a child, too
    if mode == "memory":
        raise RuntimeError("Not enough memory. Please try to increase --mem-fraction-static.")
    if mode == "crash":
        raise NotImplementedError("no such model")
    if mode == "never_starts":
        signal.pause()
    plan = Plan(host=given.host, port=int(given.port), model=given.served_model_name)
    asyncio.run(StandIn(plan, mode).serve())
