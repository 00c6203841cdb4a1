"""A process of its own that holds a Spark lease and runs a task that never ends; the test kills it."""

import sys
from pathlib import Path

from corpusmill.engines.lease import lease
from corpusmill.engines.service import EngineSettings
from corpusmill.engines.spark import SparkEngine

if __name__ == "__main__":
    folder, marker = sys.argv[1:]
    with lease("spark", EngineSettings(linger_seconds=0), state_folder=Path(folder)) as endpoint:
        list(SparkEngine(endpoint).map_rows("toy_rules:wait_for_ever", [marker.encode()]))
