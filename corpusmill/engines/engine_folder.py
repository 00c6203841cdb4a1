"""The folder of one engine: where its host and its clients meet.

    host.lock              locked by the host as long as it lives, whatever way it dies
    host.json              who the host is, what it is doing, and its endpoint
    leases/<lease>.json    one per client, with the process that holds it
    end-unheld             somebody asked that the engine ends with its last lease, without lingering
    logs/<host>.log        what the host and its service printed
    service-<host>/        the service's own files

The lock decides whether there is a host; the files only describe it. All files are replaced in one step.
"""

import fcntl
import json
import os
import shutil
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from corpusmill.engines.processes import ProcessName
from corpusmill.engines.service import EngineSettings
from corpusmill.engines.worker_path import SOURCE_ROOT, worker_path
from corpusmill.fingerprint import fingerprint

STARTING, READY, ENDING, FAILED = "starting", "ready", "ending", "failed"


@dataclass(frozen=True, kw_only=True)
class HostRecord:
    """What a host says about itself."""

    host_id: str
    process: ProcessName
    state: str
    endpoint: dict[str, Any] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "HostRecord":
        return cls(**{**value, "process": ProcessName.from_json(value["process"])})


class EngineFolder:
    """Reads and writes one engine's folder. Both sides make their own from the same path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.leases = path / "leases"
        self.logs = path / "logs"
        self.lock = path / "host.lock"
        self.request = path / "end-unheld"
        for folder in (self.leases, self.logs):
            folder.mkdir(parents=True, exist_ok=True)

    def record(self) -> HostRecord | None:
        """Return what the last host said, or None."""
        value = _read_json(self.path / "host.json")
        return HostRecord.from_json(value) if value else None

    def write_record(self, record: HostRecord) -> None:
        _write_json(self.path / "host.json", asdict(record))

    def log(self, host_id: str) -> Path:
        return self.logs / f"{host_id}.log"

    def service_folder(self, host_id: str) -> Path:
        return self.path / f"service-{host_id}"

    @contextmanager
    def leased(self) -> Iterator[None]:
        """Hold a lease of this process; whoever dies without giving it back loses it all the same."""
        lease = self.leases / f"{uuid.uuid4().hex}.json"
        _write_json(lease, asdict(ProcessName.of_this_process()))
        self.request.unlink(missing_ok=True)
        try:
            yield
        finally:
            lease.unlink(missing_ok=True)

    def live_leases(self) -> int:
        """Return how many leases are held, and drop those whose process is gone."""
        num_live = 0
        for lease in self.leases.glob("*.json"):
            value = _read_json(lease)
            if value and ProcessName.from_json(value).is_running():
                num_live += 1
            else:
                lease.unlink(missing_ok=True)
        return num_live

    def ask_to_end(self) -> None:
        """Ask the host to end with the last lease, at once; the next lease takes the request back."""
        self.request.touch()

    def may_end(self) -> bool:
        """Whether the host was asked to end and nobody holds the engine."""
        return self.request.exists() and not self.live_leases()

    def is_hosted(self) -> bool:
        """Whether a host lives."""
        with self.lock.open("a") as file:
            return not _try_lock(file, fcntl.LOCK_SH)

    def take_host_lock(self) -> IO[str] | None:
        """Return the lock, held until the file is closed or this process ends, or None when another host has it."""
        file = self.lock.open("a")
        if _try_lock(file, fcntl.LOCK_EX):
            return file
        file.close()
        return None

    def clear_remains(self, *, host_id: str) -> None:
        """Remove what earlier hosts left, but for their last few logs."""
        self.request.unlink(missing_ok=True)
        for folder in self.path.glob("service-*"):
            if folder != self.service_folder(host_id):
                shutil.rmtree(folder, ignore_errors=True)
        others = [log for log in self.logs.glob("*.log") if log != self.log(host_id)]
        for log in sorted(others, key=_modified)[:-5]:
            log.unlink(missing_ok=True)


def _modified(file: Path) -> float:
    """Return when a file was written last; one that another starter took along meanwhile is the oldest."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def engine_folder(kind: str, settings: EngineSettings, *, state_folder: Path) -> EngineFolder:
    """Return the folder of the engine that serves `settings` on this machine.

    Workers keep the code and the credentials that their engine was started with, so other ones are another engine.
    """
    identity = {
        "service": dict(settings.service),
        "python": sys.executable,
        "machine": socket.gethostname(),
        "code": source_version(),
        "environment": {name: value for name, value in os.environ.items() if name.startswith("AWS_")},
        "path": worker_path(),
    }
    short = kind.rpartition(".")[2]
    return EngineFolder(state_folder.absolute() / "engines" / f"{short}-{fingerprint(identity)[:12]}")


@cache
def source_version() -> str:
    """Return what names all source of the package."""
    files = sorted((SOURCE_ROOT / "corpusmill").rglob("*.py"))
    return fingerprint({str(file.relative_to(SOURCE_ROOT)): file.read_text(encoding="utf-8") for file in files})


def _try_lock(file: IO[str], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise ValueError(
            f"engines need a state folder on a local disk with file locks; locking {file.name} failed: {error}"
        ) from error
    return True


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(value, file)
    Path(name).replace(path)
