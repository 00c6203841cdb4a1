"""Where processes that run our code find it: PYTHONPATH for engines' workers and for tasks."""

import os
from pathlib import Path

SOURCE_ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the corpusmill package, installed or not."""


def worker_path() -> str:
    """Return PYTHONPATH for another process, absolute, because that process may work in another folder."""
    inherited = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return os.pathsep.join(dict.fromkeys([str(SOURCE_ROOT), *(str(Path(path).absolute()) for path in inherited)]))
