"""A run worker: `python -m tests.killed.worker <JSON>` runs one step as a Dagster run, until it stops where it should."""

import json
import sys
from pathlib import Path

from corpusmill.settings import Settings
from jobs.run_step import StepFailedError
from tests.killed.stops import Stop
from tests.killed.way import Way


def main(settings: dict, calls: str, step: str, stop: dict | None) -> int:
    if stop:
        Stop(**stop).install()
    try:
        Way(settings=Settings.from_json(settings), calls=Path(calls)).run(step)
    except StepFailedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*json.loads(sys.argv[1])))
