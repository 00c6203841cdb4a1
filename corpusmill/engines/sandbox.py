"""Running untrusted programs, such as code that a model wrote: limited in time, memory, processes, files and output.

A program sees its language's standard library and an empty folder; no network, no other process, no file of this
machine. It is compiled in there, too. When it ends or its time is up, everything that it started is killed. That needs
Linux namespaces, which root and normal users have on most machines; where they are forbidden (many containers), running
is refused unless the caller accepts weaker walls. A batch starts one jail; then a Python program costs about 10 ms. What
a program reports about its own doctests is its own word: good against mistakes, not against a program that wants to
cheat.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from corpusmill.engines.sandbox_languages import LIMITS, Language, Program, Step, python_main, toolchain
from corpusmill.engines.sandbox_limits import Limits as Limits
from corpusmill.engines.sandbox_limits import SandboxError as SandboxError
from corpusmill.synthesize.verify.inputs import Call

JAIL = "corpusmill.engines.sandbox_jail"
SPARE_SECONDS = 30.0
"""What a jail gets beyond the time of its programs before it is taken for stuck."""
_SOURCE_ROOT = Path(__file__).parents[2]

Outcome = Literal["succeeded", "failed", "killed", "timed_out", "memory_exceeded", "does_not_compile"]
"""`failed`: it ended with another exit code than 0. `killed`: by a signal, its own or the kernel's."""


@dataclass(frozen=True, kw_only=True)
class SandboxResult:
    """How a program ended."""

    exit_code: int
    """Negative: the signal that ended it."""
    stdout: str
    stderr: str
    timed_out: bool
    """It was ended because its processor or wall-clock time was up."""
    is_output_cut: bool
    report: str = ""
    memory_exceeded: bool = False
    """It was ended because its processes together held more than they may. A single process that is denied memory
    fails by itself, as its language has it."""
    compile_failed: bool = False
    """The compiler ended so, not the program, which did not run."""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0 and not self.timed_out and not self.memory_exceeded

    @property
    def outcome(self) -> Outcome:
        """How it ended, in a word."""
        if self.compile_failed:
            return "does_not_compile"
        if self.timed_out:
            return "timed_out"
        if self.memory_exceeded:
            return "memory_exceeded"
        return "succeeded" if self.succeeded else "failed" if self.exit_code > 0 else "killed"


@dataclass(frozen=True, kw_only=True)
class ExampleOutcome:
    """What one example of a doctest gave."""

    source: str
    status: Literal["passed", "failed", "raised"]
    got: str
    """Output, or the exception's last line; memory addresses are replaced by 0x0."""


@dataclass(frozen=True, kw_only=True)
class DoctestRun:
    """The doctests of one text, run in the namespace of another (or the same) text."""

    outcomes: Mapping[tuple[str, int], ExampleOutcome]
    """(Qualified name of the documented object, number of the example in it) -> outcome. Comparable between runs."""
    failure: Literal["module_raised", "timed_out", "ended_early"] | None
    """Why outcomes are missing, or None when every example was run."""
    stderr: str = ""

    @property
    def passed(self) -> frozenset[tuple[str, int]]:
        return frozenset(key for key, outcome in self.outcomes.items() if outcome.status == "passed")


@dataclass(frozen=True, kw_only=True)
class DoctestJob:
    """Run the doctests that stand in `doctests_of`, or in `source` itself, against the code of `source`."""

    source: str
    doctests_of: str | None = None


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """What one call gave, spelled such that two runs can be compared."""

    status: Literal["returned", "raised", "unclear"]
    """`unclear` when its time, the recursion or the memory ran out."""
    value: str
    """The value's text, or the name of the exception's type."""
    printed: str


@dataclass(frozen=True, kw_only=True)
class CallJob:
    """Evaluate calls against the code of `source`, one after another, until the time of all of them is spent."""

    source: str
    calls: Sequence[Call]
    seconds: float
    """Of the processor, for one call."""
    total_seconds: float


def run_python(source: str, *, limits: Limits | None = None) -> SandboxResult:
    """Run one program; raises SandboxError where the machine does not permit the walls."""
    return run_programs([source], limits=limits)[0]


def run_programs(sources: Sequence[str], *, limits: Limits | None = None) -> list[SandboxResult]:
    """Run Python programs one after another, each in a cell of its own; results are in the order of the sources."""
    return _run([_python_job(source) for source in sources], limits or LIMITS["python"])


def run_programs_in(
    language: Language, programs: Sequence[Program], *, limits: Limits | None = None
) -> list[SandboxResult]:
    """Compile and run programs of one language, each in a cell of its own; results are in the order of the programs.

    `limits` are of the run, by default the language's; compiling has its own. Raises SandboxError where the machine does
    not permit the walls or lacks the language's toolchain, and says what to install.
    """
    tools = toolchain(language)
    limits = limits or LIMITS[language]
    jobs = [_job(language, program, tools.steps(program, limits)) for program in programs]
    return _run(jobs, limits, shown=tools.shown)


def run_doctests(source: str, *, doctests_of: str | None = None, limits: Limits | None = None) -> DoctestRun:
    """Run the doctests of `doctests_of`, by default of `source`, against the code of `source`.

    Run a text's doctests against itself and then against its rewrite to see whether the rewrite behaves as before.
    """
    return run_doctest_jobs([DoctestJob(source=source, doctests_of=doctests_of)], limits=limits)[0]


def run_doctest_jobs(jobs: Sequence[DoctestJob], *, limits: Limits | None = None) -> list[DoctestRun]:
    """Run several jobs one after another; results are in the order of the jobs."""
    asked = [_python_job(job.source, doctests_of=job.doctests_of or job.source) for job in jobs]
    return [_doctest_run(result) for result in _run(asked, limits or LIMITS["python"])]


def run_call_jobs(jobs: Sequence[CallJob], *, limits: Limits | None = None) -> list[dict[int, CallOutcome]]:
    """Run several jobs one after another; return for each what came of its calls, by number, as far as it got."""
    asked = [
        _python_job(
            job.source,
            calls=[asdict(call) for call in job.calls],
            times={"seconds": job.seconds, "total_seconds": job.total_seconds},
        )
        for job in jobs
    ]
    return [
        {line.pop("call"): CallOutcome(**line) for line in _reported(result) if "call" in line}
        for result in _run(asked, limits or LIMITS["python"])
    ]


def _job(language: Language, program: Program, steps: Sequence[Step]) -> dict[str, Any]:
    """Spell a job for the jail."""
    python = None
    if language == "python":
        main = python_main(program)
        python = {"source": program.files[main], "file": main, "arguments": program.arguments}
    spelled = [{**asdict(step), "stdin": "", "python": python} for step in steps]
    spelled[-1]["stdin"] = program.stdin
    return {"files": dict(program.files), "steps": spelled}


def _python_job(source: str, **asked: Any) -> dict[str, Any]:
    return {"files": {}, "steps": [{"stdin": "", "python": {"source": source, **asked}}]}


def _run(jobs: list[dict[str, Any]], limits: Limits, *, shown: Sequence[str] = ()) -> list[SandboxResult]:
    if not jobs:
        return []
    seconds = SPARE_SECONDS
    for job in jobs:
        job["steps"] = [{**_STEP, "limits": asdict(limits), **step} for step in job["steps"]]
        seconds += sum(step["limits"]["wall_seconds"] + 1 for step in job["steps"])
    with _folders(0 if limits.require_namespaces else len(jobs)) as folders:
        jobs = [{**job, "folder": folder} for job, folder in zip_longest(jobs, folders)]
        order = {
            "num_jobs": len(jobs),
            "require_namespaces": limits.require_namespaces,
            "shown": list(shown),
            "source_root": str(_SOURCE_ROOT),
        }
        told = _ask_jail(order, jobs, seconds=seconds)
    refusal = next((answer["refused"] for answer in told if "refused" in answer), None)
    if refusal:
        raise SandboxError(
            f"untrusted code needs a sandbox, but {refusal}. Permit unprivileged user namespaces, or accept weaker "
            "walls with require_namespaces=False."
        )
    return [SandboxResult(**answer) for answer in told]


_STEP = {"argv": (), "is_compile": False, "reserves_addresses": False, "environment": {}}


@contextmanager
def _folders(count: int) -> Iterator[list[str]]:
    """Give empty folders that every user may write into; a jail with namespaces makes its own, in memory."""
    if not count:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="cm-sandbox-", ignore_cleanup_errors=True) as base:
        Path(base).chmod(0o711)
        folders = [Path(base, str(number)) for number in range(count)]
        for folder in folders:
            folder.mkdir()
            folder.chmod(0o777)
        yield [str(folder) for folder in folders]


def _ask_jail(order: dict[str, Any], jobs: list[dict[str, Any]], *, seconds: float) -> list[dict[str, Any]]:
    jail = subprocess.Popen(
        [sys.executable, "-S", "-s", "-P", "-B", "-W", "ignore", "-m", JAIL],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(_SOURCE_ROOT), "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,
    )
    asked = "\n".join(json.dumps(value) for value in (order, *jobs)) + "\n"
    try:
        stdout, stderr = jail.communicate(asked.encode(), timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"the jail did not end within {seconds:.0f} s and was killed") from error
    finally:
        if jail.poll() is None:
            os.killpg(jail.pid, signal.SIGKILL)
        jail.communicate()
    answers = [json.loads(line) for line in stdout.splitlines()]
    if len(answers) != len(jobs) and "refused" not in (answers or [{}])[-1]:
        raise SandboxError(f"the jail ended with exit code {jail.returncode} before its work: {stderr[-2000:]!r}")
    if any("lost" in answer for answer in answers):
        raise SandboxError(f"a cell of the jail ended without a word: {stderr[-2000:]!r}")
    return answers


def _reported(result: SandboxResult) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.report.splitlines() if line.endswith("}")]


def _doctest_run(result: SandboxResult) -> DoctestRun:
    lines = _reported(result)
    outcomes = {
        (line["name"], line["number"]): ExampleOutcome(source=line["source"], status=line["status"], got=line["got"])
        for line in lines
        if "name" in line
    }
    told = [line["module"] for line in lines if "module" in line]
    return DoctestRun(outcomes=outcomes, failure=_failure(result, told), stderr=result.stderr)


def _failure(result: SandboxResult, told: list[str]) -> Literal["module_raised", "timed_out", "ended_early"] | None:
    if result.timed_out:
        return "timed_out"
    if not told:
        return "module_raised"
    return None if "done" in told else "ended_early"
