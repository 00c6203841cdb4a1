"""The client of a leased inference server: asks its engines through the server's process that talks to Ray.

That process keeps what Ray does to a process away from the caller: one cluster per process, handlers of signals, the end of
the process when the cluster is gone, and the seconds that it takes to join one.
"""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpusmill.engines.inference import ChatRequest, Completion, EngineDeadError, EngineIdentity
from corpusmill.engines.ray_vllm_calls import Patience
from corpusmill.engines.ray_vllm_connection import DriverConnection
from corpusmill.synthesize.sampling import Sampling

LAST_WORDS_BYTES = 2_000


class RayVllmEngine:
    """`InferenceEngine` over the endpoint that `corpusmill.engines.inference_service` gave.

    Threads may ask at once: their requests join one batch.
    """

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
        self._connection: DriverConnection | None = None

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order; raises `EngineDeadError` when nothing answers."""
        if not requests:
            return []
        asked = [request.to_json() for request in requests]
        patience = asdict(self._patience)
        told = self._ask({"ask": "generate", "requests": asked, "sampling": sampling.to_json(), "patience": patience})
        if "dead" in told:
            raise EngineDeadError(told["dead"])
        return [Completion(**completion) for completion in told["completions"]]

    def pids(self) -> dict[str, int]:
        """Return the process of every engine that is not gone for good; waits for those that are being started."""
        return dict(self._ask({"ask": "pids"})["pids"])

    def close(self) -> None:
        """Disconnect; the server goes on. A second call does nothing."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        connection = self._connected()
        told = connection.ask(order)
        if told is None:
            self._drop(connection)
            raise EngineDeadError(self._obituary("was cut"))
        return told

    def _connected(self) -> DriverConnection:
        with self._lock:
            if self._connection is None:
                try:
                    self._connection = DriverConnection(self._endpoint["socket"])
                except OSError as error:
                    raise EngineDeadError(self._obituary(f"cannot be made: {error}")) from error
            return self._connection

    def _drop(self, connection: DriverConnection) -> None:
        with self._lock:
            if self._connection is connection:
                self._connection = None  # the next question makes another one
        connection.close()

    def _obituary(self, reason: str) -> str:
        return (
            f"the inference server at {self._endpoint['address']} is gone: the connection to it {reason}. Committed "
            f"answers stay good; run again to go on.\n{self._last_words()}"
        )

    def _last_words(self) -> str:
        log = Path(self._endpoint["socket_log"])
        return log.read_bytes()[-LAST_WORDS_BYTES:].decode(errors="replace").strip() if log.exists() else ""
