"""The client of a leased inference server: asks its engines through a process that talks to Ray.

That process costs about 2 s to start and 150 MB. It keeps what Ray does to a process away from the caller: one cluster
per process, handlers of signals, and the end of the process when the cluster is gone.
"""

import threading
from collections.abc import Sequence
from typing import Any

from corpusmill.engines.inference import ChatRequest, Completion, EngineDeadError, EngineIdentity
from corpusmill.engines.ray_vllm_connection import DriverConnection
from corpusmill.engines.ray_vllm_driver import Patience
from corpusmill.synthesize.sampling import Sampling


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
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self._connection is None:
                self._connection = DriverConnection(self._endpoint, self._patience)
            connection = self._connection
        told = connection.ask(order)
        if told is None:
            raise EngineDeadError(self._obituary(connection))
        return told

    def _obituary(self, connection: DriverConnection) -> str:
        with self._lock:
            if self._connection is connection:
                self._connection = None  # the next question starts another one
        code, words = connection.close()
        return (
            f"the inference server at {self._endpoint['address']} is gone: the connection to it ended with exit code "
            f"{code}. Committed answers stay good; run again to go on.\n{words}"
        )
