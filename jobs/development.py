"""Dagster on this machine: one code server, the webserver and the daemon, started and ended together.

They share a Dagster home below the state folder, with a copy of the chosen profile as its dagster.yaml. A lock in that
folder says who runs there: two daemons over one SQLite would launch everything twice.
"""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corpusmill.engines.lease import end_unheld
from corpusmill.settings import SETTINGS_VARIABLE, Settings, settings_file
from jobs.graphql import Instance, InstanceError

PROJECT = Path(__file__).resolve().parent.parent
DAEMON_PAUSE_SECONDS = 0.5
"""Between two looks at backfills. A look is one query; a backfill waits for two or three of them at every level."""
START_SECONDS = 180.0
STOP_SECONDS = 20.0
"""For runs in flight to be canceled, and again for the processes to end."""
LOG_TAIL_LINES = 20
CODE_SERVER = "code server"
IN_FLIGHT = """
{ runsOrError(filter: {statuses: [STARTING, STARTED, CANCELING]}) { ... on Runs { results { runId } } } }
"""
LOCATIONS = """
{ workspaceOrError { ... on Workspace { locationEntries {
    loadStatus locationOrLoadError { __typename ... on PythonError { message errorChain { error { message } } } }
} } } }
"""
TERMINATE = "mutation Terminate($id: String!) { terminateRun(runId: $id) { __typename } }"


@dataclass(frozen=True, kw_only=True)
class Development:
    """What runs: where to open it and where it writes."""

    url: str
    home: Path
    processes: Mapping[str, subprocess.Popen[bytes]]

    def wait(self) -> None:
        """Wait until a process ends by itself, which none should; raises ValueError that shows its last words."""
        while True:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise ValueError(
                        f"the {name} ended with exit code {process.returncode}\n{log_tail(self.home, name)}"
                    )
            time.sleep(0.5)


def dagster_home(settings: Settings) -> Path:
    return Path(settings.state_folder) / "dagster"


def prepare_home(settings: Settings) -> Path:
    """Make the Dagster home and put the chosen profile there; return the folder. Repeating it changes nothing."""
    profile = Path(settings.dagster_profile)
    candidates = [profile] if profile.is_absolute() else [Path.cwd() / profile, PROJECT / profile]
    found = next((file for file in candidates if file.is_file()), None)
    if found is None:
        raise ValueError(
            f"the setting dagster_profile names {settings.dagster_profile!r}, which is not in {Path.cwd()} nor in "
            f"{PROJECT}; give the path of a dagster.yaml, for example deploy/postgres/dagster.yaml"
        )
    home = dagster_home(settings)
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found, home / "dagster.yaml")
    return home


def check_instance(home: Path, *, profile: str) -> None:
    """Open the Dagster instance once, which makes its tables; raises ValueError when its storage does not answer."""
    import dagster as dg
    from dagster._core.errors import DagsterInvalidConfigError
    from dagster_postgres.utils import DagsterPostgresException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with dg.DagsterInstance.from_config(str(home)) as instance:
            instance.get_runs_count()
    except (DagsterInvalidConfigError, DagsterPostgresException, SQLAlchemyError) as error:
        # Dagster puts the sentence that matters last, and a stack trace behind it.
        sentences = str(error.__cause__ or error).partition("Stack Trace:")[0].strip().splitlines()
        reason = sentences[0] if error.__cause__ else sentences[-1].rpartition("Error: ")[2].partition(" Expected: ")[0]
        raise ValueError(f"the Dagster instance of {profile} does not open: {reason.strip()}") from error


def environment(home: Path) -> dict[str, str]:
    """Return the environment of everything that runs over `home`, with this process's own settings file."""
    file = settings_file()
    named = {SETTINGS_VARIABLE: str(file)} if file.exists() else {}
    paths = [str(PROJECT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, **named, "DAGSTER_HOME": str(home), "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


def running_url(settings: Settings) -> str | None:
    """Return where the UI over these settings is, None when nobody runs it."""
    file = dagster_home(settings) / "running.json"
    try:
        with (dagster_home(settings) / "running.lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return str(json.loads(file.read_text(encoding="utf-8"))["url"]) if file.exists() else None
    except FileNotFoundError:
        pass
    return None


@contextmanager
def development(
    settings: Settings, *, host: str = "127.0.0.1", port: int = 3000, definitions: str = "definitions"
) -> Iterator[Development]:
    """Run the code server of the module `definitions`, webserver and daemon; when left, cancel what runs and end them.

    Engines that nobody holds then end too. Port 0 takes a free one. Raises ValueError when the port is taken, when they
    already run over this home, or when one does not start.
    """
    home = prepare_home(settings)
    with _only_one(home, settings), _ending_engines(settings), _Services(home) as services:
        chosen = _usable_port(host, port)
        check_instance(home, profile=settings.dagster_profile)
        url = f"http://{host}:{chosen}"
        _write(home / "running.json", json.dumps({"url": url, "pid": os.getpid()}))
        workspace = services.start_code_server(definitions)
        # Both load the code location as they start: side by side, so that their imports overlap.
        services.start("webserver", ["dagster_webserver", "-h", host, "-p", str(chosen), "-w", str(workspace)])
        services.start("daemon", ["jobs.daemon", str(DAEMON_PAUSE_SECONDS), "run", "-w", str(workspace)])
        services.wait_for(lambda: _answers(f"{url}/server_info"), name="webserver")
        services.wait_for(lambda: _is_loaded(Instance(url=url), definitions), name="webserver")
        try:
            yield Development(url=url, home=home, processes=services.processes)
        finally:
            services.cancel_runs(Instance(url=url, timeout_seconds=5.0))


@contextmanager
def _ending_engines(settings: Settings) -> Iterator[None]:
    try:
        yield
    finally:
        end_unheld(Path(settings.state_folder), wait_seconds=STOP_SECONDS)


class _Services:
    """The processes, each with a session and a log file of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "_Services":
        (self.home / "output").mkdir(exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start_code_server(self, definitions: str) -> Path:
        """Start it, wait until it listens, and return the workspace file that names it."""
        port = _free_port()
        server = ["dagster", "code-server", "start", "-m", definitions, "-h", "127.0.0.1", "-p", str(port)]
        self.start(CODE_SERVER, [*server, "--use-python-environment-entry-point", "--log-level", "warning"])
        self.wait_for(lambda: _is_listening(port), name=CODE_SERVER)
        workspace = self.home / "workspace.yaml"
        location = json.dumps({"host": "127.0.0.1", "port": port, "location_name": "corpusmill"})
        _write(workspace, f"load_from:\n  - grpc_server: {location}\n")
        return workspace

    def start(self, name: str, module_and_arguments: Sequence[str]) -> None:
        with _log_file(self.home, name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *module_and_arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(self.home),
                start_new_session=True,  # Ctrl-C reaches us only, and we end them in order
                preexec_fn=_killed_with_parent if sys.platform == "linux" else None,
            )

    def wait_for(self, is_ready: Callable[[], bool], *, name: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            code = self.processes[name].poll()
            if code is not None:
                raise ValueError(f"the {name} did not start (exit code {code})\n{log_tail(self.home, name)}")
            if time.monotonic() > deadline:
                raise ValueError(f"the {name} did not answer in {START_SECONDS:.0f} s\n{log_tail(self.home, name)}")
            time.sleep(0.1)

    def cancel_runs(self, instance: Instance) -> None:
        """Cancel the runs in flight, so that they are seen as canceled; queued ones wait for the next start."""
        deadline = time.monotonic() + STOP_SECONDS
        asked: set[str] = set()
        while self.processes["webserver"].poll() is None and time.monotonic() < deadline:
            try:
                running = [run["runId"] for run in instance.ask(IN_FLIGHT)["runsOrError"]["results"]]
                for run_id in set(running) - asked:
                    instance.ask(TERMINATE, id=run_id)
            except InstanceError:
                return
            asked.update(running)
            if not running:
                return
            time.sleep(0.2)

    def stop(self) -> None:
        """Ask all to end and kill what is left: an idle code server does not end by itself."""
        for process in self.processes.values():
            _signal_group(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for name, process in self.processes.items():
            if name != CODE_SERVER:
                try:
                    process.wait(max(0.1, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue
        for process in self.processes.values():
            _signal_group(process, signal.SIGKILL)
            process.wait()


@contextmanager
def _only_one(home: Path, settings: Settings) -> Iterator[None]:
    with (home / "running.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"Corpusmill already runs over {home}, at {running_url(settings) or 'an address it has yet to say'}. "
                "Use that one, end it, or set another state_folder"
            ) from error
        try:
            yield
        finally:
            (home / "running.json").unlink(missing_ok=True)


def log_tail(home: Path, name: str) -> str:
    """Return the last lines of a process's log and where it is."""
    file = _log_file(home, name)
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    return "".join(f"  | {line}\n" for line in lines[-LOG_TAIL_LINES:]) + f"The log is {file}"


def _log_file(home: Path, name: str) -> Path:
    return home / "output" / f"{name.replace(' ', '-')}.log"


def _usable_port(host: str, port: int) -> int:
    if port == 0:
        return _free_port()
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ValueError(
                f"port {port} on {host} cannot be used: {error.strerror}. "
                f"End what uses it, or choose another, for example --port {port + 1}"
            ) from error
    return port


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _is_loaded(instance: Instance, definitions: str) -> bool:
    """Whether the code location has loaded; raises ValueError with the reason when it cannot."""
    (entry,) = instance.ask(LOCATIONS)["workspaceOrError"]["locationEntries"]
    location = entry["locationOrLoadError"]
    if location and location["__typename"] == "PythonError":
        innermost = [location["message"], *(one["error"]["message"] for one in location["errorChain"])][-1]
        raise ValueError(f"the definitions in {definitions} do not load: {innermost.strip()}")
    return bool(entry["loadStatus"] == "LOADED" and location)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _killed_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, for when we are killed ourselves


def _write(file: Path, text: str) -> None:
    temporary = file.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
