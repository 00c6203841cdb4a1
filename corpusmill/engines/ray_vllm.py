"""The client of a leased inference server: asks its engines through a process that talks to Ray.

That process costs about 2 s to start and 150 MB. It keeps what Ray does to a process away from the caller: one cluster
per process, handlers of signals, and the end of the process when the cluster is gone.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from corpusmill.engines.inference import ChatRequest, Completion, EngineDeadError, EngineIdentity
from corpusmill.engines.ray_vllm_driver import Patience
from corpusmill.synthesize.sampling import Sampling

DRIVER = "corpusmill.engines.ray_vllm_driver"
CLOSE_SECONDS = 10.0
_SOURCE_ROOT = Path(__file__).parents[2]


class RayVllmEngine:
    """`InferenceEngine` over the endpoint that `corpusmill.engines.inference_service` gave. Threads may share it."""

    def __init__(self, endpoint: dict[str, Any], *, no_progress_seconds: float = 300.0) -> None:
        """`no_progress_seconds`: an engine that holds requests and takes no step for so long is started again."""
        self.identity = EngineIdentity(**endpoint["identity"])
        self._endpoint = endpoint
        self._patience = Patience(
            window=endpoint["window"],
            startup_seconds=endpoint["startup_seconds"],
            no_progress_seconds=no_progress_seconds,
        )
        self._lock = threading.Lock()
        self._driver: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order; raises `EngineDeadError` when nothing answers."""
        if not requests:
            return []
        asked = [
            {"request_id": request.request_id, "messages": list(request.messages), "schema": request.schema}
            for request in requests
        ]
        told = self._ask({"ask": "generate", "requests": asked, "sampling": sampling.to_json()})
        if "dead" in told:
            raise EngineDeadError(told["dead"])
        return [Completion(**completion) for completion in told["completions"]]

    def pids(self) -> dict[str, int]:
        """Return the process of every engine that is not gone for good; waits for those that are being started."""
        return dict(self._ask({"ask": "pids"})["pids"])

    def close(self) -> None:
        """Disconnect; the server goes on. A second call does nothing."""
        with self._lock:
            self._end_driver()

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._driver is None:
                self._driver = self._start_driver()
            assert self._driver.stdin is not None and self._driver.stdout is not None
            try:
                self._driver.stdin.write(json.dumps(order) + "\n")
                self._driver.stdin.flush()
                line = self._driver.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                raise EngineDeadError(self._obituary())
            return dict(json.loads(line))

    def _start_driver(self) -> "subprocess.Popen[str]":
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the driver)
        paths = [str(_SOURCE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.Popen(
            [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                DRIVER,
                json.dumps(self._endpoint),
                json.dumps(asdict(self._patience)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,
        )

    def _end_driver(self) -> int | None:
        """End the process that talks to Ray and return its exit code; the next question starts another one."""
        driver, self._driver = self._driver, None
        if driver is None:
            return None
        assert driver.stdin is not None and driver.stdout is not None
        with suppress(BrokenPipeError):  # what was not yet written is lost with it
            driver.stdin.close()
        try:
            return driver.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            driver.kill()
            return driver.wait()
        finally:
            driver.stdout.close()
            if self._log is not None:
                self._log.close()

    def _obituary(self) -> str:
        assert self._log is not None
        self._log.seek(0)
        words = self._log.read()[-2000:].decode(errors="replace").strip()
        code = self._end_driver()
        return (
            f"the inference server at {self._endpoint['address']} is gone: the connection to it ended with exit code "
            f"{code}. Committed answers stay good; run again to go on.\n{words}"
        )
