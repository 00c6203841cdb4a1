"""The client of a leased inference server: deals requests out to its engines and gathers completions in asked order.

Every engine holds up to `window` requests of a call at a time, and gets the next one when one comes back, so its batch
stays full. When an engine dies, the requests that it held, and only those, go to the others; Ray starts it again, and
it gets work as soon as it answers. What ends a call: all engines are gone, or none that should answer makes progress.
"""

import time
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpusmill.engines.inference import ChatRequest, Completion, EngineDeadError, EngineIdentity, Sampling

ATTEND_SECONDS = 5.0
"""How often engines are told that somebody waits, and asked how far they are."""


class RayVllmEngine:
    """`InferenceEngine` over the endpoint that `corpusmill.engines.inference_service` gave."""

    def __init__(self, endpoint: dict[str, Any], *, no_progress_seconds: float = 300.0) -> None:
        """`no_progress_seconds`: an engine that holds requests and takes no step for so long is stuck, and is restarted."""
        self._endpoint = endpoint
        self._no_progress_seconds = no_progress_seconds
        self._is_connected = False
        self.identity = EngineIdentity(**endpoint["identity"])

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order; raises `EngineDeadError` when nothing answers."""
        self._connect()
        call = _Call(self._engines(), requests=requests, sampling=sampling)
        call.window = self._endpoint["window"]
        call.no_progress_seconds = self._no_progress_seconds
        call.startup_seconds = self._endpoint["startup_seconds"]
        return call.run()

    def close(self) -> None:
        """Disconnect; the server goes on. A second call does nothing."""
        from corpusmill.engines.ray_connection import leave_cluster

        if self._is_connected:
            self._is_connected = False
            leave_cluster(self._endpoint["address"])

    def _connect(self) -> None:
        from corpusmill.engines.ray_connection import join_cluster

        if self._is_connected:
            return
        address, token_file = self._endpoint["address"], self._endpoint.get("token_file")
        try:
            join_cluster(
                address, namespace=self._endpoint["namespace"], token_file=Path(token_file) if token_file else None
            )
        except ConnectionError as error:
            raise EngineDeadError(f"the inference server at {address} does not answer: {error}") from error
        self._is_connected = True

    def _engines(self) -> list["_Engine"]:
        import ray

        found = []
        for name in self._endpoint["engines"]:
            try:
                found.append(_Engine(name=name, actor=ray.get_actor(name, namespace=self._endpoint["namespace"])))
            except ValueError:  # it died for good: Ray forgets such names
                continue
        return found


@dataclass(kw_only=True)
class _Engine:
    """One engine as this call sees it."""

    name: str
    actor: Any
    asked: dict[Any, int] = field(default_factory=dict)
    """Answers on their way -> number of the request."""
    probe: Any = None
    """Set while the engine is down or was never heard: comes back when it answers."""
    attended: Any = None
    num_steps: int = -1
    moved: float = field(default_factory=time.monotonic)
    """When it last answered, took a step, or was asked for the first time."""


class _Call:
    """One `generate`: the requests that wait, the engines that work, the answers that came."""

    window = 64
    no_progress_seconds = 300.0
    startup_seconds = 240.0

    def __init__(self, engines: list[_Engine], *, requests: Sequence[ChatRequest], sampling: Sampling) -> None:
        self.engines = engines
        self.requests = [{"request_id": asked.request_id, "messages": list(asked.messages)} for asked in requests]
        self.sampling = sampling.to_json()
        self.client = uuid.uuid4().hex
        self.waiting = deque(range(len(requests)))
        self.completions: list[Completion | None] = [None] * len(requests)
        self.num_open = len(requests)
        self.attend_at = 0.0
        self.losses: list[str] = []

    def run(self) -> list[Completion]:
        while self.num_open:
            if not self.engines:
                raise EngineDeadError(self._obituary())
            self._deal_out()
            self._attend()
            for ref in self._arrivals():
                self._take(ref)
            self._end_stuck_engines()
        return [completion for completion in self.completions if completion is not None]

    def _deal_out(self) -> None:
        able = [engine for engine in self.engines if engine.probe is None]
        while self.waiting and able:
            engine = min(able, key=lambda engine: len(engine.asked))
            if len(engine.asked) >= self.window:
                return
            if not engine.asked:
                engine.moved = time.monotonic()
            number = self.waiting.popleft()
            engine.asked[engine.actor.answer.remote(self.client, self.requests[number], self.sampling)] = number

    def _attend(self) -> None:
        """Tell the engines that this client lives, which also brings back how many steps they took."""
        if time.monotonic() < self.attend_at:
            return
        self.attend_at = time.monotonic() + ATTEND_SECONDS
        for engine in self.engines:
            if engine.probe is None and engine.attended is None:
                engine.attended = engine.actor.attend.remote(self.client)

    def _arrivals(self) -> list[Any]:
        import ray

        refs = [ref for engine in self.engines for ref in (*engine.asked, engine.probe, engine.attended) if ref]
        some, rest = ray.wait(refs, num_returns=1, timeout=ATTEND_SECONDS)
        more = ray.wait(rest, num_returns=len(rest), timeout=0)[0] if some and rest else []
        return [*some, *more]

    def _take(self, ref: Any) -> None:
        import ray

        engine = next(one for one in self.engines if ref in one.asked or ref in (one.probe, one.attended))
        try:
            value = ray.get(ref)
        except ray.exceptions.RayActorError as error:
            self._lose(engine, ref, error)
            return
        if ref in engine.asked:
            self._note_answer(engine.asked.pop(ref), value)
            engine.moved = time.monotonic()
        elif ref == engine.probe:
            engine.probe, engine.num_steps, engine.moved = None, -1, time.monotonic()
        else:
            engine.attended = None
            if value != engine.num_steps:
                engine.num_steps, engine.moved = value, time.monotonic()

    def _note_answer(self, number: int, completion: Completion | None) -> None:
        if completion is None:  # this process was silent for so long that the engine gave it up
            self.waiting.append(number)
            return
        self.completions[number] = completion
        self.num_open -= 1

    def _lose(self, engine: _Engine, ref: Any, error: Exception) -> None:
        """Take back the request of `ref`; look for the engine's return, or strike it out when it will not return."""
        if ref in engine.asked:
            self.waiting.appendleft(engine.asked.pop(ref))
        elif ref == engine.attended:
            engine.attended = None
        if ref == engine.probe:
            self._strike_out(engine, str(error))
        elif engine.probe is None:
            self.losses.append(f"{engine.name}: {_first_line(error)}")
            engine.probe, engine.moved = await_return(engine.actor), time.monotonic()

    def _strike_out(self, engine: _Engine, reason: str) -> None:
        self.losses.append(f"{engine.name} will not return: {reason}")
        self.waiting.extendleft(engine.asked.values())
        self.engines.remove(engine)

    def _end_stuck_engines(self) -> None:
        import ray

        now = time.monotonic()
        for engine in list(self.engines):
            if engine.probe is not None and now - engine.moved > self.startup_seconds:
                self._strike_out(engine, f"it did not come back within {self.startup_seconds:.0f} s")
            elif engine.probe is None and engine.asked and now - engine.moved > self.no_progress_seconds:
                self.losses.append(f"{engine.name}: no step within {self.no_progress_seconds:.0f} s, restarted")
                ray.kill(engine.actor, no_restart=False)
                engine.moved = now

    def _obituary(self) -> str:
        told = "\n".join(f"  {loss}" for loss in self.losses[-10:])
        return (
            f"no inference engine is left; {len(self.completions) - self.num_open} of {len(self.completions)} requests "
            f"of this call were answered. Committed answers stay good; run again to go on.\n{told}"
        )


def await_return(actor: Any) -> Any:
    """Return the promise of a word from an engine: kept while it is started again, broken when it is gone for good."""
    return actor.ready.options(max_task_retries=-1).remote()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
