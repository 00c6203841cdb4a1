"""Processes of this machine: who still runs, which ones a host left behind, and how to end them all.

A pid alone names nobody for long: it is used again. A process is named by its pid and start time. The processes of a
host are those that inherited its mark (an environment variable) or belong to its session. Finding them costs one walk
over the process table, some milliseconds per hundred processes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psutil

from corpusmill.engines.service import HOST_VARIABLE

START_TOLERANCE_SECONDS = 2.0
"""A start time is computed from the boot time, which moves when the clock is set."""
TERMINATE_SECONDS = 5.0
"""What a process gets to end by itself before it is killed."""


@dataclass(frozen=True, kw_only=True)
class ProcessName:
    """One process, whatever happens to its pid later."""

    pid: int
    started: float

    @classmethod
    def of_this_process(cls) -> "ProcessName":
        return cls(pid=os.getpid(), started=psutil.Process().create_time())

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ProcessName":
        return cls(pid=int(value["pid"]), started=float(value["started"]))

    def is_running(self) -> bool:
        """Whether this very process runs; a zombie does not."""
        try:
            process = psutil.Process(self.pid)
            return self._is(process) and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def leads_session(self) -> bool:
        """Whether the session with this pid is still the one that this process led."""
        try:
            return self._is(psutil.Process(self.pid))
        except psutil.NoSuchProcess:
            return True

    def _is(self, process: psutil.Process) -> bool:
        return abs(process.create_time() - self.started) <= START_TOLERANCE_SECONDS


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
