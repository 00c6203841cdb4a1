"""Deals requests out to servers and takes them back where a try brought nothing. Lives in one event loop, knows no threads.

A setback costs a request one of its tries, but only while its server answers others: where nothing comes back at all it
is the server that is at fault, and it gets one request at a time until it answers, or is struck out. To be turned away by
a busy server counts always, but then all others are asked before the same one again: what alone is turned away so often
is at fault itself. A server whose connection ends, or that takes the key no more, is looked at; one that is gone is
waited for as long as a start may take, while the others do its work.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from corpusmill.engines.chat_protocol import CONNECTION_LOST, Setback, request_body
from corpusmill.engines.chat_server import MANY_SETBACKS, ChatServer
from corpusmill.engines.inference import REQUEST_REFUSED, ChatRequest, Completion, EngineDeadError
from corpusmill.engines.service import EngineStartError
from corpusmill.synthesize.sampling import Sampling

LONGEST_PAUSE_SECONDS = 30.0
LONGEST_LOOK_PAUSE_SECONDS = 5.0
MAX_BUSY = 20
"""How often a request that a busy server turned away is sent again, beside its tries."""
LEAST_BUSY = MANY_SETBACKS // 3
"""How often at least, however long the pauses are that the server names, and whatever else is left."""
NO_PROGRESS_DEADLINES = 3
"""A server that brings setbacks alone for so many times the deadline of a request is struck out."""
TIMER_SECONDS = 0.01
"""A timer may ring so much too early."""
TOLD_LOSSES = 10


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long and how often things are tried."""

    request_seconds: float = 600.0
    startup_seconds: float = 600.0
    """For a server that does not answer yet, or not any more."""
    max_tries: int = 4
    """Of one request, where servers fail it."""
    backoff_seconds: float = 0.5
    """Before the second try; twice as long before each further one, with jitter."""

    def __post_init__(self) -> None:
        if self.request_seconds <= 0 or self.startup_seconds <= 0 or self.max_tries < 1 or self.backoff_seconds < 0:
            raise ValueError(
                "request_seconds and startup_seconds must be positive, max_tries at least 1 and backoff_seconds not "
                f"negative, got {self.request_seconds}, {self.startup_seconds}, {self.max_tries} and "
                f"{self.backoff_seconds}"
            )

    @property
    def no_progress_seconds(self) -> float:
        return NO_PROGRESS_DEADLINES * self.request_seconds

    @property
    def busy_seconds(self) -> float:
        """For one request: so short that a few are turned away for good before their server is struck out for it."""
        return self.no_progress_seconds / 4

    @property
    def longest_busy_pause_seconds(self) -> float:
        return min(LONGEST_PAUSE_SECONDS, self.busy_seconds / MAX_BUSY)

    def pause(self, number: int, *, longest: float = LONGEST_PAUSE_SECONDS) -> float:
        """Return the seconds before try `number` + 1, drawn between half of the pause and all of it."""
        return min(longest, self.backoff_seconds * 2.0 ** min(number - 1, 20)) * random.uniform(0.5, 1.0)


@dataclass(kw_only=True, eq=False)
class _Ask:
    """One request on its way."""

    request_id: str
    body: bytes
    answered: "asyncio.Future[Completion]"
    num_tries: int = 0
    num_busy: int = 0
    busy_seconds: float = 0.0
    """Pauses that its servers took after they had turned it away."""
    last: ChatServer | None = None


class ServerDealer:
    """The servers, what waits for them, and what became of both."""

    def __init__(self, servers: Sequence[ChatServer], *, model: str, patience: Patience) -> None:
        self._servers = list(servers)
        self._model = model
        self._patience = patience
        self._waiting: deque[_Ask] = deque()
        self._open: set[_Ask] = set()
        self._losses: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = asyncio.Event()
        """Set once a server is up, or none will be."""

    @property
    def window(self) -> int | None:
        """The largest window of the servers in use, in tokens; None where one of them does not tell its own."""
        windows = [server.window for server in self._servers if not server.is_struck_out]
        known = [window for window in windows if window is not None]
        return max(known) if known and len(known) == len(windows) else None

    async def start(self) -> None:
        """Return when a server answers; the others join when they do. Raises ValueError for one that never can."""
        looks = await asyncio.gather(*(server.look() for server in self._servers))
        found = list(zip(self._servers, looks, strict=True))
        unfit = [server.told(look.told) for server, look in found if look.kind == "unfit"]
        if unfit:
            raise ValueError("inference.servers cannot be used:\n" + _lines(unfit))
        for server, look in found:
            if look.kind == "up":
                self._welcome(server, is_new=True)
            else:
                self._spawn(self._await_return(server))
        self._spawn(self._watch())
        await self._begun.wait()
        if self._is_dead():
            raise EngineStartError(
                f"no inference server answered within {self._patience.startup_seconds:g} s:\n{_lines(self._losses)}\n"
                "Start them, or set inference.servers and inference.startup_seconds."
            )

    async def answer(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion a request, in order; raises EngineDeadError when no server is left."""
        asks = [self._ask(request, sampling) for request in requests]
        sendable = [ask for ask in asks if ask.body]
        if sendable and self._is_dead():
            raise EngineDeadError(self._obituary(len(sendable)))
        if not self._open:
            for server in self._servers:
                server.moved = _now()
        self._open.update(sendable)
        self._waiting.extend(sendable)
        self._deal()
        done = await asyncio.gather(*(ask.answered for ask in asks), return_exceptions=True)
        for completion in done:
            if isinstance(completion, BaseException):
                raise completion
        return [completion for completion in done if isinstance(completion, Completion)]

    def _ask(self, request: ChatRequest, sampling: Sampling) -> _Ask:
        body = request_body(request, sampling, model=self._model)
        ask = _Ask(request_id=request.request_id, body=body or b"", answered=asyncio.get_running_loop().create_future())
        if body is None:
            ask.answered.set_result(Completion(request_id=request.request_id, failure=REQUEST_REFUSED))
        return ask

    def _deal(self) -> None:
        """Give what waits to the servers that have room."""
        while self._waiting:
            ask = self._waiting[0]
            server = self._free_server(ask)
            if server is None:
                return
            self._waiting.popleft()
            ask.last = server
            server.asks[self._spawn(self._try(server, ask))] = ask

    def _free_server(self, ask: _Ask) -> ChatServer | None:
        """Return the server with the most room, one that did not fail the request before where there is a choice."""
        free = [server for server in self._servers if server.is_free(_now())]
        return max(free, key=lambda server: (server is not ask.last, server.room), default=None)

    async def _try(self, server: ChatServer, ask: _Ask) -> None:
        asked_at = _now()
        result = await server.ask(ask.request_id, ask.body)
        if isinstance(result, Completion):
            server.note_answer(asked_at=asked_at, now=_now())
        else:
            server.note_setback(result, asked_at=asked_at, now=_now())
        del server.asks[_this_task()]
        if isinstance(result, Completion):
            self._settle(ask, result)
        else:
            self._suffer(server, ask, result)
        self._deal()

    def _suffer(self, server: ChatServer, ask: _Ask, setback: Setback) -> None:
        """Settle what a setback means for its server and for its request."""
        is_servers_fault = server.num_setbacks >= MANY_SETBACKS
        is_busy = setback.kind == "busy"
        longest = self._patience.longest_busy_pause_seconds if is_busy else LONGEST_PAUSE_SECONDS
        pause = setback.after_seconds or self._patience.pause(server.num_bad_rounds, longest=longest)
        if (setback.kind == "unfit" and is_servers_fault) or pause > self._patience.no_progress_seconds:
            self._strike_out(server, setback.told)
            self._return(ask)
            return
        if is_busy or is_servers_fault:
            self._pause(server, pause)
        if (setback.kind == "unfit" or setback.reason == CONNECTION_LOST) and server.is_up:
            server.is_up = False
            self._spawn(self._await_return(server))
        ask.num_busy += is_busy
        ask.busy_seconds += pause if is_busy else 0.0
        ask.num_tries += not (is_busy or is_servers_fault)
        if ask.num_tries >= self._patience.max_tries or ask.num_busy >= MAX_BUSY or self._is_left_alone(ask):
            self._settle(ask, Completion(request_id=ask.request_id, failure=setback.reason))
        elif is_busy:
            self._return(ask, is_last=is_servers_fault)
        else:
            _loop().call_later(self._patience.pause(max(1, ask.num_tries)), self._return, ask)

    def _is_left_alone(self, ask: _Ask) -> bool:
        """Return whether pauses that servers name are so long that a few are all the time there is, and nothing else waits."""
        is_long = ask.busy_seconds > self._patience.busy_seconds
        return is_long and all(one.num_busy >= LEAST_BUSY for one in self._open)

    def _pause(self, server: ChatServer, seconds: float) -> None:
        server.pause(_now() + seconds)
        _loop().call_later(seconds + TIMER_SECONDS, self._deal)

    def _return(self, ask: _Ask, *, is_last: bool = False) -> None:
        if ask in self._open:
            (self._waiting.append if is_last else self._waiting.appendleft)(ask)
            self._deal()

    def _settle(self, ask: _Ask, completion: Completion) -> None:
        self._open.discard(ask)
        if not ask.answered.done():
            ask.answered.set_result(completion)

    def _welcome(self, server: ChatServer, *, is_new: bool) -> None:
        server.rise(_now(), is_new=is_new)
        self._begun.set()
        self._deal()

    async def _await_return(self, server: ChatServer) -> None:
        """Look at a server until it answers; strike it out when that takes too long or will not happen."""
        give_up_at = _now() + self._patience.startup_seconds
        number = 0
        while (look := await server.look()).kind == "silent" and _now() < give_up_at:
            number += 1
            await asyncio.sleep(self._patience.pause(number, longest=LONGEST_LOOK_PAUSE_SECONDS))
        if look.kind == "up":
            self._welcome(server, is_new=number > 0)
        else:
            self._strike_out(server, look.told)

    async def _watch(self) -> None:
        """Strike out servers that take requests and answer none."""
        seconds = self._patience.no_progress_seconds
        while True:
            await asyncio.sleep(seconds / 20)
            for server in self._servers:
                if self._open and server.is_stuck(_now(), no_progress_seconds=seconds):
                    self._strike_out(server, f"no answer within {seconds:g} s, only setbacks")

    def _strike_out(self, server: ChatServer, reason: str) -> None:
        """Ask a server nothing more, and give what it holds to the others."""
        if server.is_struck_out:
            return
        server.strike_out()
        self._losses.append(server.told(reason))
        held, server.asks = server.asks, {}
        for task, ask in held.items():
            task.cancel()
            self._waiting.appendleft(ask)
        if self._is_dead():
            self._die()
        else:
            self._deal()

    def _is_dead(self) -> bool:
        return all(server.is_struck_out for server in self._servers)

    def _die(self) -> None:
        self._begun.set()
        told = self._obituary(len(self._open))
        self._fail_all(lambda: EngineDeadError(told))

    def _fail_all(self, make_error: Callable[[], BaseException]) -> None:
        self._waiting.clear()
        for ask in self._open:
            if not ask.answered.done():
                ask.answered.set_exception(make_error())
        self._open.clear()

    def _obituary(self, num_open: int) -> str:
        return (
            f"no inference server is left; {num_open} requests were not answered. Committed answers stay good; run again "
            f"to go on.\n{_lines(self._losses[-TOLD_LOSSES:])}"
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = _loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: "asyncio.Task[None]") -> None:
        """Pass a fault of this program on to all who wait: nobody else would see it."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail_all(lambda: error)


def _lines(items: Sequence[str]) -> str:
    return "\n".join(f"  {item}" for item in items)


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def _now() -> float:
    return _loop().time()


def _this_task() -> "asyncio.Task[None]":
    task = asyncio.current_task()
    assert task is not None
    return task
