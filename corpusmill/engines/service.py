"""What a leased engine is: a service that a host process starts, watches and ends.

A kind of engine is a module with one function, found under its name in `SERVICES`:

    def serve(settings: dict, state_folder: Path) -> Service

The host (`corpusmill.engines.host`) calls it once, in its main thread, in a process of its own session. The contract:

- `settings` is the JSON of `EngineSettings.service`: what makes this engine different from another of its kind. Settings
  that are equal share one running engine. Credentials come from the environment, never from settings.
- `state_folder` exists, belongs to this host alone and is the working directory; a service may write anything there.
- `serve` returns once the service answers requests. A start that cannot succeed raises `EngineStartError` with what was
  wanted, what was found and what to do; its text reaches every client that waits.
- What it prints goes to the host's log, whose tail is shown when the start fails.
- Processes that it starts keep their environment (`HOST_VARIABLE` marks them as belonging to this host) and stay in the
  host's session where they can, so that orphans are found after the host was killed -9.
- The host ends whatever is left of its process tree after `stop`, so `stop` may be impolite but must not hang for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

SERVICES = {
    "spark": "corpusmill.engines.spark_service",
    "inference": "corpusmill.engines.inference_service",
}
"""Kind of engine -> module with `serve`. Any other kind is itself the name of such a module."""

HOST_VARIABLE = "CORPUSMILL_ENGINE_HOST"
"""Environment variable that every process of a host inherits; its value is the host's id."""


class EngineStartError(RuntimeError):
    """The engine did not start: the message says why, shows the end of its log and names the log file."""


class Service(Protocol):
    """A running engine, as its host sees it."""

    @property
    def endpoint(self) -> dict[str, Any]:
        """What a client needs to connect, as JSON."""

    def alive(self) -> bool:
        """Whether the service can still answer. Called about once a second; cheap, and never raises."""

    def stop(self) -> None:
        """End the service; returns when its processes were told to end."""


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """How to start an engine, and for how long it stays."""

    service: Mapping[str, Any] = field(default_factory=dict)
    """JSON passed to `serve`. Equal values share one engine."""
    startup_seconds: float = 300.0
    """The start-up budget: an engine that does not answer by then is ended and its start has failed."""
    linger_seconds: float = 30.0
    """How long the engine stays after its last lease, so that the next partition finds it warm."""

    def __post_init__(self) -> None:
        if self.startup_seconds <= 0 or self.linger_seconds < 0:
            raise ValueError(
                "startup_seconds must be positive and linger_seconds not negative, "
                f"got {self.startup_seconds} and {self.linger_seconds}"
            )
