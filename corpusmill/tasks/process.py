"""How a task gets a process of its own: its command line and its environment (see `corpusmill.tasks.__main__`)."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.engines.worker_path import worker_path

WATCH_VARIABLE = "CORPUSMILL_TASK_WATCHES_STDIN"
"""Set by a launcher that holds the other end of standard input open as long as it lives."""


def task_command(task: str, arguments: Mapping[str, Any], *, folder: Path) -> list[str]:
    """Write the arguments to a file in `folder` and return the command that runs the task on them."""
    file = folder / "arguments.json"
    file.write_text(json.dumps(arguments), encoding="utf-8")
    return [sys.executable, "-m", "corpusmill.tasks", task, str(file)]


def task_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with `variables`, for a task that ends when its standard input does."""
    return {**os.environ, **variables, "PYTHONPATH": worker_path(), WATCH_VARIABLE: "1"}
