"""A real code server, webserver and daemon over the toy definitions, started by `corpusmill dev` as a user would."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobs.graphql import Instance

ROOT = Path(__file__).parents[2]
ADD_PARTITION = """
mutation Add($set: String!, $name: String!) { addDynamicPartition(
    repositorySelector: {repositoryName: "__repository__", repositoryLocationName: "corpusmill"}
    partitionsDefName: $set, partitionKey: $name
) { __typename } }
"""


@dataclass(frozen=True, kw_only=True)
class LiveInstance:
    """What runs, and the command line over it."""

    instance: Instance
    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[str]

    def add_partitions(self, partition_set: str, names: Sequence[str]) -> None:
        for name in names:
            answer = self.instance.ask(ADD_PARTITION, set=partition_set, name=name)
            assert answer["addDynamicPartition"]["__typename"] == "AddDynamicPartitionSuccess"

    def started(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command and return it while it runs."""
        command = [sys.executable, "-m", "jobs.command", *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)

    def corpusmill(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jobs.command", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def children(self) -> list[int]:
        """Return the process ids below `corpusmill dev`."""
        import psutil

        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


def wait_for(is_true: Callable[[], object], *, seconds: float = 120) -> None:
    """Poll until a condition holds."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s"
        time.sleep(0.1)


@contextmanager
def live_instance(folder: Path, *, definitions: str, **environment: str) -> Iterator[LiveInstance]:
    """Run `corpusmill dev` in `folder` until the block ends."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests/jobs")])
    variables = {**os.environ, "PYTHONPATH": paths, "TOY_FOLDER": str(folder), **environment}
    variables.pop("CORPUSMILL_SETTINGS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs.command", "dev", "--port", "0", "--definitions", definitions],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        said = ""
        for line in process.stdout:
            said += line
            if found := re.search(r"The UI is at (\S+)", line):
                url = found.group(1)
                break
        else:
            raise AssertionError(f"corpusmill dev ended with {process.wait()}: {said}")
        yield LiveInstance(instance=Instance(url=url), folder=folder, environment=variables, process=process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(60)
        process.stdout.close()
