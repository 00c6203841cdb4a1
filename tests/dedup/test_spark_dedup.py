"""Deduplication on a real Spark, in a classic session and over Spark Connect: the same tables as in memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


WALKS = {
    "classic": "equal: hot; refused: garbled",
    "connect": "equal: planted, hot, short, snapshots, sources, held; refused: missing, replaced, garbled",
}


@pytest.mark.parametrize("kind", WALKS)
def test_spark_finds_what_memory_finds(kind, tmp_path):
    """One process a session: a classic and a remote session do not live in one Python."""
    # Where a test before this one spoke to Spark over Connect, PySpark has said so in the environment.
    remote = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE")
    inherited = {name: value for name, value in os.environ.items() if name not in remote}
    environment = {
        **inherited,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    script = ROOT / "tests/dedup/spark_walk.py"
    walk = subprocess.run(
        [sys.executable, str(script), kind, str(tmp_path)], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert walk.returncode == 0, walk.stderr[-4000:]
    assert walk.stdout.splitlines()[-1] == WALKS[kind]
