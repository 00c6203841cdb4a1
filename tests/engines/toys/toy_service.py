"""A tiny engine: a child process that has a child of its own, told by settings how to misbehave."""

import subprocess
import sys
from pathlib import Path

from corpusmill.engines.service import EngineStartError

SLEEPER = "import threading; threading.Event().wait()"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]); {SLEEPER}"
STUBBORN = (
    "import os, signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.setsid(); print('up', flush=True); "
    + SLEEPER
)


class ToyService:
    def __init__(self, command: str, folder: Path) -> None:
        self.child = subprocess.Popen([sys.executable, "-c", command], cwd=folder)
        self.endpoint = {"pid": self.child.pid}

    def alive(self) -> bool:
        return self.child.poll() is None

    def stop(self) -> None:
        self.child.terminate()


def serve(settings: dict, state_folder: Path) -> ToyService:
    behaviour = settings.get("behaviour", "good")
    if behaviour == "refuses":
        print("the toy looked for its key")
        raise EngineStartError("there is no key; put one under the mat")
    if behaviour == "crashes":
        raise KeyError("a mistake of ours")
    if behaviour == "hangs":
        subprocess.run([sys.executable, "-c", PARENT], check=True)
    return ToyService(STUBBORN if behaviour == "stubborn" else PARENT, state_folder)
