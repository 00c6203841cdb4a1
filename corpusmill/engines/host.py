"""The host of one leased engine: a process that starts the service, watches its leases and ends everything it started.

Started by `corpusmill.engines.lease` as `python -m corpusmill.engines.host <JSON>`, in a session of its own. One host per
engine folder: whoever gets the lock is the host, others leave. It first ends what a killed predecessor left.
"""

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from corpusmill.engines.engine_folder import ENDING, FAILED, READY, STARTING, EngineFolder, HostRecord
from corpusmill.engines.lease import OTHER_HOST_EXIT
from corpusmill.engines.processes import ProcessName, end_host_processes
from corpusmill.engines.service import HOST_VARIABLE, EngineSettings, EngineStartError, Service

TICK_SECONDS = 0.5
STOP_SECONDS = 20.0
"""What a service gets to stop before the host ends its processes itself."""
LOCK_ATTEMPTS = 20
"""A client that looks whether there is a host holds the lock for a moment."""


class Host:
    """One engine from start to end. Its main thread runs the service's start and then the watch."""

    def __init__(self, *, module: str, folder: EngineFolder, settings: EngineSettings, host_id: str) -> None:
        self.module = module
        self.folder = folder
        self.settings = settings
        self.record = HostRecord(host_id=host_id, process=ProcessName.of_this_process(), state=STARTING)
        self.told_to_end = threading.Event()
        self.record_lock = threading.Lock()

    def run(self) -> int:
        """Serve until nobody needs the engine; return the exit code."""
        self._end_predecessor()
        self._say(STARTING)
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        try:
            service = self._start()
            if service is None:
                return 1
            self._say(READY, endpoint=service.endpoint)
            reason = self._watch(service)
            print(f"ending: {reason}", flush=True)
            self._say(ENDING, error=reason)
            self._stop(service)
        finally:
            end_host_processes(self.record.host_id, self.record.process)
        return 0

    def _end_predecessor(self) -> None:
        before = self.folder.record()
        if before and before.host_id != self.record.host_id:
            num_ended = end_host_processes(before.host_id, before.process)
            print(f"ended {num_ended} processes that host {before.host_id} left behind", flush=True)
        self.folder.clear_remains(host_id=self.record.host_id)

    def _start(self) -> Service | None:
        budget = _Deadline(self.settings.startup_seconds, self._give_up)
        unheld = _Watch(self.folder.may_end, self._end_start)
        folder = self.folder.service_folder(self.record.host_id)
        folder.mkdir()
        os.chdir(folder)
        try:
            service: Service = importlib.import_module(self.module).serve(dict(self.settings.service), folder)
        except EngineStartError as error:
            self._say(FAILED, error=str(error))
            return None
        except BaseException as error:
            self._say(FAILED, error=f"{type(error).__name__}: {error}")
            raise
        finally:
            budget.cancel()
            unheld.cancel()
        return service

    def _watch(self, service: Service) -> str:
        last_leased = time.monotonic()
        while not self.told_to_end.wait(TICK_SECONDS):
            if not service.alive():
                return "the service died"
            if self.folder.live_leases():
                last_leased = time.monotonic()
            elif self.folder.request.exists() or time.monotonic() - last_leased >= self.settings.linger_seconds:
                self._say(ENDING, endpoint=service.endpoint)
                if not self.folder.live_leases():
                    return "no lease is left"
                self._say(READY, endpoint=service.endpoint)
        return "told to end"

    def _stop(self, service: Service) -> None:
        patience = _Deadline(STOP_SECONDS, self._abandon)
        service.stop()
        patience.cancel()

    def _give_up(self) -> None:
        seconds = self.settings.startup_seconds
        self._say(FAILED, error=f"it did not answer within its start-up budget of {seconds:.0f} s")
        self._abandon()

    def _end_start(self) -> None:
        self._say(ENDING, error="nobody waits for it any more")
        self._abandon()

    def _abandon(self) -> None:
        end_host_processes(self.record.host_id, self.record.process)
        os._exit(1)

    def _say(self, state: str, *, endpoint: dict[str, Any] | None = None, error: str = "") -> None:
        """Tell the clients. The first failure stands: what fails because of it comes later and explains less."""
        with self.record_lock:
            if self.record.state != FAILED:
                self.record = replace(self.record, state=state, endpoint=endpoint or {}, error=error)
                self.folder.write_record(self.record)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.told_to_end.set()


class _Deadline:
    """Runs `action` in a thread unless it is cancelled in time."""

    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        self.timer = threading.Timer(seconds, action)
        self.timer.daemon = True
        self.timer.start()

    def cancel(self) -> None:
        self.timer.cancel()


class _Watch:
    """Runs `action` in a thread once `is_due`, unless it is cancelled before."""

    def __init__(self, is_due: Callable[[], bool], action: Callable[[], None]) -> None:
        self.cancelled = threading.Event()
        self.is_due = is_due
        self.action = action
        threading.Thread(target=self._run, daemon=True).start()

    def cancel(self) -> None:
        self.cancelled.set()

    def _run(self) -> None:
        while not self.cancelled.wait(TICK_SECONDS):
            if self.is_due():
                self.action()


def main(arguments: dict[str, Any]) -> int:
    """Become the host of the folder, or leave when it has one."""
    folder = EngineFolder(Path(arguments["folder"]))
    host_id = os.environ[HOST_VARIABLE]
    for _ in range(LOCK_ATTEMPTS):
        lock = folder.take_host_lock()
        if lock is not None:
            break
        time.sleep(0.02)
    else:
        folder.log(host_id).unlink()
        return OTHER_HOST_EXIT
    settings = EngineSettings(**arguments["settings"])
    with lock:
        return Host(module=arguments["module"], folder=folder, settings=settings, host_id=host_id).run()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
