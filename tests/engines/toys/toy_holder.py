"""A process of its own that holds a lease: prints the endpoint, then holds on until its input ends."""

import json
import sys
from pathlib import Path

from corpusmill.engines.lease import lease
from corpusmill.engines.service import EngineSettings

if __name__ == "__main__":
    kind, settings, folder = sys.argv[1:]
    with lease(kind, EngineSettings(**json.loads(settings)), state_folder=Path(folder)) as endpoint:
        print(json.dumps(endpoint), flush=True)
        sys.stdin.read()
