"""Leases on engines that outlive runs: the client's side.

The first lease starts a host process (`corpusmill.engines.host`), later ones find it warm, and it ends itself, with all
its processes, some seconds after the last lease is gone. A lease of a process that died is no lease.

The lease is written before the host is looked for. A host that is about to end says so first and then looks for leases
once more, so one of the two always sees the other.
"""

import json
import os
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpusmill.engines.engine_folder import FAILED, READY, EngineFolder, HostRecord, engine_folder
from corpusmill.engines.processes import end_host_processes
from corpusmill.engines.service import HOST_VARIABLE, SERVICES, EngineSettings, EngineStartError
from corpusmill.engines.worker_path import worker_path

OTHER_HOST_EXIT = 75
"""Exit code of a host that found another one already there."""
POLL_SECONDS = 0.1
GRACE_SECONDS = 30.0
"""What a client waits beyond the start-up budget: the host enforces the budget, and an ending host goes first."""
LOG_TAIL_LINES = 30


@contextmanager
def lease(
    kind: str, settings: EngineSettings, *, state_folder: Path, given_up: threading.Event | None = None
) -> Iterator[dict[str, Any]]:
    """Hold an engine of `kind` and give its endpoint; starts the engine when nobody has it running.

    Raises EngineStartError when it does not start within its budget, or once `given_up` is set while it starts. Cheap to
    nest and to hold from many processes.
    """
    folder = engine_folder(kind, settings, state_folder=state_folder)
    with folder.leased():
        yield _Client(kind, settings, folder).endpoint(given_up or threading.Event())


def end_unheld(state_folder: Path, *, wait_seconds: float) -> list[str]:
    """End the engines that nobody holds, also those that start, and wait; return the names of those still ending then."""
    waiting = [folder for folder in _hosted(state_folder) if not folder.live_leases()]
    for folder in waiting:
        folder.ask_to_end()
    deadline = time.monotonic() + wait_seconds
    while waiting and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        waiting = [folder for folder in waiting if folder.is_hosted()]
    return [folder.path.name for folder in waiting]


def ask_to_end(state_folder: Path) -> None:
    """Ask all engines to end with their last lease, at once: for a process that is about to end with its leases."""
    for folder in _hosted(state_folder):
        folder.ask_to_end()


def reap(state_folder: Path) -> list[str]:
    """End what killed hosts left behind and return the names of their engines, with how many processes there were.

    Stale leases need no reaping: a host drops them by itself and ends.
    """
    ended = []
    for file in sorted(state_folder.absolute().glob("engines/*/host.json")):
        folder = EngineFolder(file.parent)
        lock = folder.take_host_lock()
        if lock is None:
            continue
        with lock:
            record = folder.record()
            num_ended = end_host_processes(record.host_id, record.process) if record else 0
            folder.clear_remains(host_id="")
        if num_ended:
            ended.append(f"{file.parent.name} ({num_ended} processes)")
    return ended


def _hosted(state_folder: Path) -> list[EngineFolder]:
    folders = [EngineFolder(path) for path in sorted(state_folder.absolute().glob("engines/*/"))]
    return [folder for folder in folders if folder.is_hosted()]


class _Client:
    """Waits for the host of one engine, and starts it where there is none."""

    def __init__(self, kind: str, settings: EngineSettings, folder: EngineFolder) -> None:
        self.kind = kind
        self.settings = settings
        self.folder = folder
        self.child: subprocess.Popen[bytes] | None = None
        self.awaited: str | None = None
        """Id of the host whose start this client waits for."""

    def endpoint(self, given_up: threading.Event) -> dict[str, Any]:
        deadline = time.monotonic() + self.settings.startup_seconds + GRACE_SECONDS
        while time.monotonic() < deadline:
            hosted = self.folder.is_hosted()
            record = self.folder.record()
            if not hosted:
                self._start_or_raise(record)
            elif record and record.process.is_running():
                if record.state == READY:
                    return record.endpoint
                self.awaited = record.host_id
            if given_up.wait(POLL_SECONDS):
                raise self._failure("nobody waits for it any more", self.awaited)
        raise self._failure(f"did not answer within {self.settings.startup_seconds:.0f} s", self.awaited)

    def _start_or_raise(self, record: HostRecord | None) -> None:
        if record and record.state == FAILED and record.host_id == self.awaited:
            raise self._failure(record.error, record.host_id)
        if self.child is None:
            self.awaited = uuid.uuid4().hex
            self.child = _spawn_host(self.kind, self.settings, folder=self.folder, host_id=self.awaited)
            return
        code = self.child.poll()
        if code == OTHER_HOST_EXIT:
            self.child = None
        elif code is not None:
            raise self._failure(f"its host ended with exit code {code} while starting", self.awaited)

    def _failure(self, reason: str, host_id: str | None) -> EngineStartError:
        log = self.folder.log(host_id or "none")
        return EngineStartError(f"the {self.kind} engine did not start: {reason}\n{_log_tail(log)}The log is {log}")


def _spawn_host(kind: str, settings: EngineSettings, *, folder: EngineFolder, host_id: str) -> subprocess.Popen[bytes]:
    arguments = {
        "module": SERVICES.get(kind, kind),
        "folder": str(folder.path),
        "settings": asdict(settings),
    }
    environment = {
        **os.environ,
        HOST_VARIABLE: host_id,
        "PYTHONPATH": worker_path(),
        # Ray and vLLM rename their processes; without this the new name overwrites the mark in the environment.
        "SPT_NOENV": "1",
    }
    with folder.log(host_id).open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "corpusmill.engines.host", json.dumps(arguments)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder.path,
            start_new_session=True,
        )
    # The host outlives its lease, often this process too; until then somebody has to take note of its end.
    threading.Thread(target=child.wait, daemon=True).start()
    return child


def _log_tail(log: Path) -> str:
    if not log.exists():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "".join(f"  | {line}\n" for line in lines[-LOG_TAIL_LINES:])
