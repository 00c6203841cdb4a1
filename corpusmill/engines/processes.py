"""Processes of this machine: who still runs, which ones a host left behind, and how to end them all.

A pid alone names nobody for long: it is used again. A process is named by its pid and its start, counted from the boot of
the machine: the time of day is set while processes run, by a minute and more where a machine was asleep. The processes of a
host are those that inherited its mark (an environment variable) or belong to its session. Finding them costs one walk
over the process table, some milliseconds per hundred processes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from corpusmill.engines.service import HOST_VARIABLE

_PROC = Path("/proc")
_START_FIELD = 19
"""Of /proc/PID/stat behind the name of the program: ticks from the boot to the start of the process."""
TERMINATE_SECONDS = 5.0
"""What a process gets to end by itself before it is killed."""


@dataclass(frozen=True, kw_only=True)
class ProcessName:
    """One process, whatever happens to its pid later."""

    pid: int
    started: str
    """Boot of the machine and ticks since then; on macOS seconds since 1970, which no setting of the clock moves there."""

    @classmethod
    def of_this_process(cls) -> "ProcessName":
        return cls(pid=os.getpid(), started=_start(os.getpid()))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ProcessName":
        return cls(pid=int(value["pid"]), started=str(value["started"]))

    def is_running(self) -> bool:
        """Whether this very process runs; a zombie does not."""
        try:
            return self._holds_pid() and psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def leads_session(self) -> bool:
        """Whether the session with this pid is still the one that this process led."""
        try:
            return self._holds_pid()
        except psutil.NoSuchProcess:
            return True

    def _holds_pid(self) -> bool:
        """Whether the process with this pid is this one; raises NoSuchProcess when there is none."""
        return _start(self.pid) == self.started


def _start(pid: int) -> str:
    if not _PROC.is_dir():
        return str(psutil.Process(pid).create_time())
    try:
        told = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError) as error:
        raise psutil.NoSuchProcess(pid) from error
    return f"{_boot()} {told.rpartition(')')[2].split()[_START_FIELD]}"


@cache
def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def host_processes(host_id: str, host: ProcessName) -> list[psutil.Process]:
    """Return the running processes of a host, dead or alive, without this process."""
    session = host.pid if host.leads_session() else None
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _belongs(process, host_id=host_id, session=session)
    ]


def end_host_processes(host_id: str, host: ProcessName) -> int:
    """End every process of a host but this one, politely and then not; return how many there were.

    Looks again until nothing is left, because a process may start another one while it is being ended.
    """
    num_ended = 0
    grace = TERMINATE_SECONDS
    while found := host_processes(host_id, host):
        num_ended += len(found)
        _signal(found, "terminate" if grace else "kill")
        psutil.wait_procs(found, timeout=grace or TERMINATE_SECONDS)
        grace = 0.0
    return num_ended


def _belongs(process: psutil.Process, *, host_id: str, session: int | None) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if session is not None and os.getsid(process.pid) == session:
            return True
        return bool(process.environ().get(HOST_VARIABLE) == host_id)
    except (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError, PermissionError):
        return False


def _signal(found: list[psutil.Process], action: str) -> None:
    for process in found:
        try:
            getattr(process, action)()
        except psutil.NoSuchProcess:
            continue
