"""A lake over the small snapshots, and its steps as real Dagster runs: in this process, or in one that a test kills."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
import pytest

import definitions as front_door
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import kept_result
from jobs.demo import register_partitions
from jobs.development import prepare_home
from jobs.run_step import run_step
from jobs.stages import job_name
from jobs.way import Step, way_steps
from tests.engines.toys.waiting import wait_until
from tests.killed.answers import CALLS_VARIABLE
from tests.killed.stops import Stop

ROOT = Path(__file__).parents[2]
JOBS = ("sources_web", "curated_web", "synthesized_web_rephrased")
STAGES = ("sources", "curated", "synthesized")
STYLE = "distilled"
SCRIPT = "tests.killed.answers:answer"
WAIT_SECONDS = 300
"""For a machine with much else to do."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """One lake and its Dagster home."""

    settings: Settings
    calls: Path
    """Has a line for every request that the scripted model was asked."""

    @property
    def lake(self) -> Lake:
        return Lake(self.settings.lake)

    def run(self, *names: str) -> None:
        """Run the steps whose name (`job partition`) starts so, in order, all where none is named."""
        with pytest.MonkeyPatch.context() as patch, self._instance(patch) as instance:
            definitions = front_door.build(self.settings)
            for step in self._steps(instance):
                if step_name(step).startswith(names or ""):
                    run_step(definitions, step, instance=instance)

    def is_current(self, name: str) -> bool:
        with pytest.MonkeyPatch.context() as patch, self._instance(patch) as instance:
            (step,) = [step for step in self._steps(instance) if step_name(step) == name]
            return step.is_current(instance)

    @contextmanager
    def started(self, name: str, *, stop: Stop) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a step in a process of its own until it stops where it should; at the end it is killed."""
        with self._worker(name, stop=stop) as process:
            wait_until(lambda: process.poll() is not None or is_stopped(process), seconds=WAIT_SECONDS)
            assert process.returncode is None, f"ended before it stopped:\n{self.log(name).read_text()}"
            yield process

    def kill(self, name: str, *, stop: Stop) -> None:
        """Run a step in a process of its own and kill it, as kill -9 does, where it stops."""
        with self.started(name, stop=stop) as process:
            process.kill()
            assert process.wait() == -9

    def kill_when(self, name: str, condition: Callable[[], bool]) -> None:
        """Run a step in a process of its own and kill it once a condition holds."""
        with self._worker(name, stop=None) as process:
            wait_until(lambda: process.poll() is not None or condition(), seconds=WAIT_SECONDS)
            process.kill()
            assert process.wait() == -9, self.log(name).read_text()

    def log(self, name: str) -> Path:
        return Path(self.settings.state_folder) / f"{name.replace(' ', '-').replace('|', '-')}.log"

    def asked(self) -> list[str]:
        """Return the ids of the requests in the order in which the scripted model was asked."""
        return self.calls.read_text().split() if self.calls.exists() else []

    def contents(self, *stages: str) -> dict[str, str]:
        """Return the content hash of every committed partition of these stages."""
        lake = self.lake
        tables = [table for table in lake.tables() if table.split("/")[0] in (stages or STAGES)]
        return {
            f"{table} {name}": state.content_hash for table in tables for name, state in lake.partitions(table).items()
        }

    def result(self, table: str, partition: str) -> dict[str, Any]:
        return kept_result(self.lake, table, partition)

    def keys(self, prefix: str) -> list[str]:
        return [item.key for item in self.lake.store.list(prefix)]

    @contextmanager
    def _worker(self, name: str, *, stop: Stop | None) -> Iterator["subprocess.Popen[bytes]"]:
        arguments = json.dumps([self.settings.to_json(), str(self.calls), name, stop and dataclasses.asdict(stop)])
        with self.log(name).open("wb") as output:
            command = [sys.executable, "-m", "tests.killed.worker", arguments]
            process = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, start_new_session=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def _instance(self, patch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
        patch.setenv("DAGSTER_HOME", str(prepare_home(self.settings)))
        patch.setenv(CALLS_VARIABLE, str(self.calls))
        with dg.DagsterInstance.get() as instance:
            yield instance

    def _steps(self, instance: dg.DagsterInstance) -> list[Step]:
        register_partitions(self.settings, instance, ["web"])
        chosen = [asset for asset in front_door.all_assets() if job_name(asset.key) in JOBS]
        steps = way_steps(chosen, settings=self.settings, instance=instance)
        return [step for step in steps if "|" not in step.partition or STYLE in step.partition]


def way(folder: Path, *, sources: Path, **sections: dict[str, Any]) -> Way:
    """Return a new lake in `folder` over the snapshots in `sources`: plain and scripted, where `sections` say no other."""
    table = {
        "state_folder": str(folder),
        "sources": {"web": {"uri": str(sources), "format": "jsonl", "options": {"url_column": "url"}}},
        "spark": {"engine": "plain"},
        "inference": {"engine": "scripted", "script": SCRIPT, "chunk_requests": 3},
        **sections,
    }
    return Way(settings=settings_from_table(table, base=folder), calls=folder / "calls")


def step_name(step: Step) -> str:
    return f"{step.job} {step.partition}"


def is_stopped(process: "subprocess.Popen[bytes]") -> bool:
    return psutil.Process(process.pid).status() == psutil.STATUS_STOPPED


def processes_of(folder: Path) -> Sequence[psutil.Process]:
    """Return the processes that have anything to do with a state folder: by command line, folder or environment."""
    others = [process for process in psutil.process_iter() if process.pid != os.getpid()]
    return [process for process in others if _mentions(process, str(folder))]


def _mentions(process: psutil.Process, word: str) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return any(word in text for text in (*process.cmdline(), process.cwd(), *process.environ().values()))
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
