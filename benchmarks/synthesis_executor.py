"""The executor beside a direct run: real tasks in five languages, each solution with its own test, must end alike.

The tasks are those of mxeval in the languages that the sandbox runs, and Rust files with tests of their own. A direct
run is the same text in a folder of its own, compiled and started by `subprocess`, with no walls and no limits but time.
Not every solution passes its test; what counts is that both ways say the same. What takes long is compiling, which both
do with the same compiler; the two take turns, ten programs at a time.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from benchmarks.harness import Measure, at_least, at_most, print_measures
from corpusmill.engines.sandbox import SandboxError, run_programs_in
from corpusmill.engines.sandbox_languages import Language, Program, program, toolchain

DATA = Path(__file__).parents[2] / "shared" / "data"
TASKS = DATA / "code_exec_mxeval" / "mbxp_canonical.jsonl.gz"
RUST = DATA / "code_thealgorithms" / "rust.jsonl.gz"
LANGUAGES: tuple[Language, ...] = ("python", "javascript", "cpp", "java", "rust")
NUM_RUST = 40
TOGETHER = 10
DIRECT_SECONDS = 60
MAX_TIME_RATIO = 1.5
DIRECT: dict[Language, tuple[tuple[str, ...], ...]] = {
    "python": ((sys.executable, "main.py"),),
    "javascript": (("node", "main.js"),),
    "cpp": (("g++", "-std=c++17", "-O1", "-o", "program", "main.cpp"), ("./program",)),
    "java": (("javac", "-nowarn", "-d", "classes", "Main.java"), ("java", "-cp", "classes", "Main")),
    "rust": (("rustc", "--edition", "2021", "--test", "-o", "program", "main.rs"), ("./program",)),
}
"""The commands of a direct run, as a person would type them."""


def measures() -> list[Measure]:
    """Return the measures; a language whose data or toolchain is absent gives none, with a line that says why."""
    return [measure for language in LANGUAGES for measure in _compared(language)]


def _compared(language: Language) -> list[Measure]:
    file = RUST if language == "rust" else TASKS
    if not file.exists():
        print(f"no {language}: {file} is absent")
        return []
    try:
        toolchain(language)
    except SandboxError as error:
        print(f"no {language}: {error}")
        return []
    programs = list(_programs(language))
    ours, others, seconds = _both(language, programs)
    print(f"{language}: {sum(others)} of {len(programs)} solutions pass their tests when run directly")
    for number, (our, other) in enumerate(zip(ours, others, strict=True)):
        if our != other:
            print(f"{language} {number}: sandbox {our}, direct {other}")
    equal = sum(our == other for our, other in zip(ours, others, strict=True))
    return [
        Measure(
            measure=f"{language}: share of {len(programs)} programs with the verdict of a direct run",
            ours=equal / len(programs),
            bar=at_least(1.0),
        ),
        Measure(
            measure=f"{language}: one program, compiled and run (s)",
            ours=seconds[0] / len(programs),
            other=seconds[1] / len(programs),
            other_name="subprocess, no walls",
            bar=at_most(MAX_TIME_RATIO, of="ratio"),
        ),
    ]


def _both(language: Language, programs: Sequence[Program]) -> tuple[list[bool], list[bool], tuple[float, float]]:
    """Run every program both ways; return the verdicts and the seconds of each way."""
    ours: list[bool] = []
    others: list[bool] = []
    our_seconds = other_seconds = 0.0
    for some in _batches(programs):
        started = time.perf_counter()
        ours += [result.succeeded for result in run_programs_in(language, some)]
        our_seconds += time.perf_counter() - started
        started = time.perf_counter()
        others += [_passes_directly(language, one) for one in some]
        other_seconds += time.perf_counter() - started
    return ours, others, (our_seconds, other_seconds)


def _batches(programs: Sequence[Program]) -> Iterator[Sequence[Program]]:
    for start in range(0, len(programs), TOGETHER):
        yield programs[start : start + TOGETHER]


def _passes_directly(language: Language, asked: Program) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in asked.files.items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for command in DIRECT[language]:
            try:
                done = subprocess.run(
                    command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=DIRECT_SECONDS
                )
            except subprocess.TimeoutExpired:
                return False
            if done.returncode:
                return False
    return True


def _programs(language: Language) -> Iterator[Program]:
    if language == "rust":
        for row in islice(_rows(RUST), NUM_RUST):
            yield program("rust", row["content"], compiler_arguments=("--test",))
        return
    for row in _rows(TASKS):
        if row["language"] == language:
            call = f"\ncheck({row['entry_point']})\n" if language == "python" else ""
            made = program(language, row["prompt"] + row["canonical_solution"] + row["test"] + call)
            lodash = {"node_modules/lodash/index.js": _lodash()} if language == "javascript" else {}
            yield Program(files={**made.files, **lodash}, main=next(iter(made.files)) if lodash else None)


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def _lodash() -> str:
    """Return the library that the JavaScript tests compare with, fetched by npm; empty where there is no npm."""
    if shutil.which("npm") is None:
        print("npm is absent: the JavaScript tests, which need lodash, all fail, in both ways")
        return ""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "lodash@4"], cwd=folder, check=True)
        return Path(folder, "node_modules", "lodash", "lodash.js").read_text(encoding="utf-8")


if __name__ == "__main__":
    print_measures(measures())
