"""One call of one client: deals its requests out to the engines of a Ray cluster and gathers what they answer.

Every engine holds up to `window` requests of a call at a time, and gets the next one when one comes back, so its batch
stays full. When an engine dies, the requests that it held, and only those, go to the others; Ray starts it again, and
it gets work as soon as it answers. What ends a call: all engines are gone, none that should answer makes progress, or its
client is gone.
"""

import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from corpusmill.engines.inference import Completion, EngineDeadError

ATTEND_SECONDS = 5.0
"""How often engines are told that somebody waits, and asked how far they are."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How much an engine gets to do, and how long it may take."""

    window: int
    """Requests that one engine holds for one call."""
    no_progress_seconds: float
    startup_seconds: float
    """For an engine that is started again."""


@dataclass(kw_only=True)
class Engine:
    """One engine as a call sees it."""

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


class Restarts:
    """When each engine was ended because it stood still: of several calls that see it, one ends it."""

    def __init__(self) -> None:
        self._ended: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_first(self, name: str, *, since: float, now: float) -> bool:
        """Return whether nobody ended the engine after `since`, and take note that it is ended now."""
        with self._lock:
            if self._ended.get(name, float("-inf")) > since:
                return False
            self._ended[name] = now
            return True


class Call:
    """One `generate`: the requests that wait, the engines that work, the answers that came."""

    def __init__(
        self,
        engines: list[Engine],
        *,
        requests: list[dict[str, Any]],
        sampling: dict[str, Any],
        patience: Patience,
        restarts: Restarts,
        gone: threading.Event,
    ) -> None:
        self.engines = engines
        self.requests = requests
        self.sampling = sampling
        self.patience = patience
        self.restarts = restarts
        self.gone = gone
        """Set when nobody waits for the answers any more."""
        self.client = uuid.uuid4().hex
        self.waiting = deque(range(len(requests)))
        self.completions: list[Completion | None] = [None] * len(requests)
        self.num_open = len(requests)
        self.attend_at = 0.0
        self.losses: list[str] = []

    def begin(self) -> None:
        """Deal out what the engines take at once: who begins first is answered first."""
        self._deal_out()

    def run(self) -> list[Completion]:
        """Return a completion for each request; none of them when the client is gone."""
        while self.num_open:
            if not self.engines:
                raise EngineDeadError(self._obituary())
            if self.gone.is_set():
                self._leave()
                return []
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
            if len(engine.asked) >= self.patience.window:
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

    def _leave(self) -> None:
        """Have the engines throw out what nobody waits for."""
        for engine in self.engines:
            engine.actor.leave.remote(self.client)

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

    def _lose(self, engine: Engine, ref: Any, error: Exception) -> None:
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

    def _strike_out(self, engine: Engine, reason: str) -> None:
        self.losses.append(f"{engine.name} will not return: {reason}")
        self.waiting.extendleft(engine.asked.values())
        self.engines.remove(engine)

    def _end_stuck_engines(self) -> None:
        import ray

        now = time.monotonic()
        for engine in list(self.engines):
            if engine.probe is not None and now - engine.moved > self.patience.startup_seconds:
                self._strike_out(engine, f"it did not come back within {self.patience.startup_seconds:.0f} s")
            elif engine.probe is None and engine.asked and now - engine.moved > self.patience.no_progress_seconds:
                self.losses.append(
                    f"{engine.name}: no step within {self.patience.no_progress_seconds:.0f} s, restarted"
                )
                if self.restarts.is_first(engine.name, since=engine.moved, now=now):
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


def find_engines(endpoint: dict[str, Any]) -> list[Engine]:
    """Return the engines that are not gone for good: Ray forgets the names of those."""
    import ray

    found = []
    for name in endpoint["engines"]:
        try:
            found.append(Engine(name=name, actor=ray.get_actor(name, namespace=endpoint["namespace"])))
        except ValueError:
            continue
    return found
