"""Inside a cell of the jail: runs the steps of one job (compile it, run it), each limited, and tells how the last ended.

The keeper is process 1 of the cell. It watches clock, output and memory, and ends everything that a step started before
the next step begins. Only the standard library is used.
"""

import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from corpusmill.engines import sandbox_linux as linux
from corpusmill.engines.sandbox_memory import descendants, memory_bytes, own_number
from corpusmill.engines.sandbox_program import REPORT, run_job

REPORT_BYTES = 4 << 20
LOOK_SECONDS = 0.02
"""How often memory is looked at. A process writes some 100 MB in that time; its own limits hold at once."""
ADDRESS_SPACE_RESERVE = 16 << 30
"""What a runtime may reserve of addresses beyond its memory, where it reserves more than it uses."""
JAIL_PROCESSES = 5
"""A user namespace counts the jail's processes with those of the program."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Where the steps of one job run."""

    folder: str
    user: int
    in_namespaces: bool
    proc: int
    """Descriptor of the machine's /proc, which the program does not get."""

    @property
    def num_other_processes(self) -> int:
        return JAIL_PROCESSES if self.in_namespaces and self.user == os.geteuid() else 0


def run_steps(job: dict[str, Any], cell: Cell) -> dict[str, Any]:
    """Run the steps of the job until one does not succeed; return how the last of them ended."""
    linux.adopt_orphans()
    told: dict[str, Any] = {}
    for number, step in enumerate(job["steps"]):
        if number and cell.in_namespaces:
            _leave_room(cell.folder, step["limits"]["file_bytes"])
        told = _run_step(step, job["files"] if number == 0 else {}, cell)
        has_failed = told["exit_code"] != 0 or told["timed_out"] or told["memory_exceeded"]
        told["compile_failed"] = step["is_compile"] and has_failed
        if has_failed:
            break
    return told


def _leave_room(folder: str, num_bytes: int) -> None:
    """Let the next step write so many bytes beside what lies in the folder already."""
    state = os.statvfs(folder)
    used = (state.f_blocks - state.f_bfree) * state.f_frsize
    flags = linux.MS_REMOUNT | linux.MS_NOSUID | linux.MS_NODEV
    linux.mount(None, folder, flags=flags, options=f"size={used + num_bytes}")


def _run_step(step: dict[str, Any], files: dict[str, str], cell: Cell) -> dict[str, Any]:
    pipes = [os.pipe() for _ in range(3)]
    writers = [writer for _, writer in pipes]
    given = _input(step["stdin"])
    program = linux.fork(partial(_program, step, files, [given, *writers], cell))
    for descriptor in (given, *writers):
        os.close(descriptor)
    told = _watch(program, [reader for reader, _ in pipes], step["limits"], cell)
    for reader, _ in pipes:
        os.close(reader)
    return told


def _input(text: str) -> int:
    """Return a descriptor that the text can be read from."""
    if not text:
        return os.open("/dev/null", os.O_RDONLY)
    descriptor = os.memfd_create("stdin")
    linux.write_all(descriptor, text.encode(errors="surrogatepass"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _program(step: dict[str, Any], files: dict[str, str], descriptors: list[int], cell: Cell) -> int:
    os.setsid()
    os.chdir(cell.folder)
    _take_descriptors(descriptors)
    is_python = step["python"] is not None
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            is_ignored = is_python and number in (signal.SIGPIPE, signal.SIGXFSZ)
            signal.signal(number, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    _restrict(step, cell)
    for name, text in files.items():
        file = Path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    if is_python:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run_job(step["python"])
    os.execv(step["argv"][0], step["argv"])


def _take_descriptors(descriptors: list[int]) -> None:
    """Make these standard input, output, error and the report; close all else."""
    for place, descriptor in enumerate(descriptors, start=100):
        os.dup2(descriptor, place)
    for place in (0, 1, 2, REPORT):
        os.dup2(100 + place, place)
    os.closerange(REPORT + 1, 65536)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115


def _restrict(step: dict[str, Any], cell: Cell) -> None:
    """Set the limits of the program and give up every right of this process."""
    limits = step["limits"]
    cpu, memory = limits["cpu_seconds"], limits["memory_bytes"]
    num_processes = limits["num_processes"] + cell.num_other_processes
    reserve = ADDRESS_SPACE_RESERVE if step["reserves_addresses"] else 0
    for what, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_AS, memory + reserve, memory + reserve),
        (resource.RLIMIT_DATA, memory, memory),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["num_files"], limits["num_files"]),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, num_processes, num_processes),
    ):
        resource.setrlimit(what, (soft, hard))
    if cell.user != os.geteuid():
        os.setgroups([])
        os.setresgid(cell.user, cell.user, cell.user)
        os.setresuid(cell.user, cell.user, cell.user)
        linux.die_with_parent()  # changing the user undid it
    linux.give_up_rights()
    os.environ.clear()
    os.environ.update(HOME=os.getcwd(), LANG="C.UTF-8", PATH="/usr/bin:/bin", TMPDIR=os.getcwd(), **step["environment"])


def _watch(program: int, readers: list[int], limits: dict[str, Any], cell: Cell) -> dict[str, Any]:
    """Collect what the program says until it ends, or its time or memory is up; then end all that it started."""
    said = _Said(readers, limits)
    ending = os.pidfd_open(program)
    said.poll.register(ending, select.POLLIN)
    keeper = own_number(cell.proc)
    deadline, next_look = time.monotonic() + limits["wall_seconds"], 0.0
    has_ended = memory_exceeded = False
    while not (has_ended or memory_exceeded) and (now := time.monotonic()) < deadline:
        if now >= next_look:
            memory_exceeded = memory_bytes(cell.proc, descendants(cell.proc, keeper)) > limits["memory_bytes"]
            next_look = now + LOOK_SECONDS
        has_ended = ending in said.read(min(deadline, next_look) - now)
    if not has_ended:
        os.kill(program, signal.SIGKILL)
    _, status, usage = os.wait4(program, 0)
    said.read(0)  # what came between the last look and the end
    os.close(ending)
    _end_descendants(program, keeper, cell)
    code = os.waitstatus_to_exitcode(status)
    cpu_is_up = code == -signal.SIGKILL and usage.ru_utime + usage.ru_stime >= limits["cpu_seconds"]
    return {
        "exit_code": code,
        **said.texts(),
        "is_output_cut": said.is_cut,
        "memory_exceeded": memory_exceeded,
        "timed_out": not (has_ended or memory_exceeded) or code == -signal.SIGXCPU or cpu_is_up,
    }


class _Said:
    """What a program says on its pipes; what goes beyond the limit is read and dropped."""

    def __init__(self, readers: list[int], limits: dict[str, Any]) -> None:
        room = [limits["output_bytes"], limits["output_bytes"], REPORT_BYTES]
        self.poll = select.poll()
        self.kept = {reader: bytearray() for reader in readers}
        self.is_cut = False
        self._room = dict(zip(readers, room, strict=True))
        for reader in readers:
            self.poll.register(reader, select.POLLIN)

    def read(self, seconds: float) -> list[int]:
        """Wait so long for something to read, read it, and return the descriptors that were ready."""
        ready = [descriptor for descriptor, _ in self.poll.poll(seconds * 1000)]
        for reader in set(ready) & set(self.kept):
            said = os.read(reader, 1 << 16)
            room = self._room[reader] - len(self.kept[reader])
            self.kept[reader] += said[:room]
            self.is_cut = self.is_cut or len(said) > room
            if not said:
                self.poll.unregister(reader)
        return ready

    def texts(self) -> dict[str, str]:
        texts = [bytes(text).decode(errors="replace") for text in self.kept.values()]
        return dict(zip(("stdout", "stderr", "report"), texts, strict=True))


def _end_descendants(program: int, keeper: str, cell: Cell) -> None:
    """Kill the program's group and whatever else of it came to this process."""
    with suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)
    if cell.in_namespaces:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all of the cell but its process 1, which this is
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
    while not cell.in_namespaces and (pids := descendants(cell.proc, keeper)):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
