"""One OpenAI-compatible server as its client sees it: whether it is there, how much it holds, and one try of a request."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

import aiohttp

from corpusmill.engines.chat_protocol import (
    BROKEN_ANSWER,
    CONNECTION_LOST,
    TIMED_OUT,
    Setback,
    read_reply,
    served_models,
)
from corpusmill.engines.inference import Completion
from corpusmill.engines.server_concurrency import FIRST, Concurrency

CONNECT_SECONDS = 10.0
LOOK_SECONDS = 10.0
MAX_REPLY_BYTES = 64 << 20
"""A reply is read so far, unpacked; a million tokens are a tenth of it."""
MANY_SETBACKS = 10
"""A server that brought so many in a row, and no answer between them, gets one request at a time until it answers."""


class ReplyTooLargeError(Exception):
    """A reply does not end within MAX_REPLY_BYTES."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look at a server found."""

    kind: Literal["up", "silent", "unfit"]
    """`silent` may change by waiting, `unfit` not."""
    told: str = ""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How servers are reached: the connections, the key, the model and the deadline of a request."""

    session: aiohttp.ClientSession
    model: str
    request_seconds: float
    api_key: str | None = field(default=None, repr=False)
    key_name: str = "no variable"
    """Where the key comes from, for messages."""

    def headers(self) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return {"Content-Type": "application/json", **key}

    def without_key(self, text: str) -> str:
        """Return a server's words without the key, which some servers repeat."""
        return text.replace(self.api_key, "***") if self.api_key else text


class ChatServer:
    """The state of one server. It belongs to one event loop."""

    def __init__(self, url: str, access: Access, *, max_concurrency: int, first_concurrency: float = FIRST) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self.asks: dict[asyncio.Task[None], Any] = {}
        """What it holds at this moment."""
        self.is_up = False
        self.is_struck_out = False
        self.window: int | None = None
        """Tokens of prompt and answer together, as it told when it was looked at; None where it does not tell."""
        self.num_setbacks = 0
        """In a row."""
        self.num_bad_rounds = 0
        """Setbacks in a row, those of requests that were under way together counted once."""
        self.moved = 0.0
        """When it last answered, came up or was given its first request."""
        self._access = access
        self._max_concurrency = max_concurrency
        self._first_concurrency = first_concurrency
        self._concurrency = self._new_concurrency()
        self._paused_until = 0.0
        self._bad_since = 0.0

    @property
    def room(self) -> int:
        limit = 1 if self.num_setbacks >= MANY_SETBACKS else self._concurrency.limit
        return limit - len(self.asks)

    def is_free(self, now: float) -> bool:
        return self.is_up and now >= self._paused_until and self.room > 0

    def is_stuck(self, now: float, *, no_progress_seconds: float) -> bool:
        return self.is_up and self.num_setbacks >= MANY_SETBACKS and now - self.moved > no_progress_seconds

    def rise(self, now: float, *, is_new: bool) -> None:
        """It answers looks. Of one that was away nothing counts that was before; one that was struck out stays so."""
        if self.is_struck_out:
            return
        self.is_up = True
        if is_new:
            self.moved, self.num_setbacks, self.num_bad_rounds = now, 0, 0
            self._concurrency, self._paused_until = self._new_concurrency(), now

    def strike_out(self) -> None:
        self.is_up, self.is_struck_out = False, True

    def pause(self, until: float) -> None:
        self._paused_until = max(self._paused_until, until)

    def note_answer(self, *, asked_at: float, now: float) -> None:
        """An answer came; one that took more than half of its deadline warns of time-outs to come."""
        self.moved, self.num_setbacks, self.num_bad_rounds = now, 0, 0
        if now - asked_at > self._access.request_seconds / 2:
            self._concurrency.note_overload(asked_at=asked_at, now=now)
        else:
            self._concurrency.note_answer(in_flight=len(self.asks))

    def note_setback(self, setback: Setback, *, asked_at: float, now: float) -> None:
        self.num_setbacks += 1
        if asked_at >= self._bad_since:
            self.num_bad_rounds, self._bad_since = self.num_bad_rounds + 1, now
        if setback.kind == "busy" or setback.reason == TIMED_OUT:
            self._concurrency.note_overload(asked_at=asked_at, now=now)

    async def look(self) -> Look:
        """Ask for the list of models: whether the server answers, takes the key and has the model."""
        try:
            async with asyncio.timeout(LOOK_SECONDS), self._get("/v1/models") as reply:
                status, body = reply.status, await _read(reply)
        except (aiohttp.ClientError, TimeoutError) as error:
            return Look(kind="silent", told=self._told(error))
        except ReplyTooLargeError as error:
            return Look(kind="unfit", told=f"GET /v1/models: {error}")
        if status != 200:
            return Look(kind="unfit" if 300 <= status < 500 and status != 429 else "silent", told=self._refusal(status))
        try:
            served = served_models(body)
        except ValueError as error:
            return Look(kind="unfit", told=str(error))
        if self._access.model not in served:
            told = f"it serves {', '.join(served) or 'nothing'}, not {self._access.model!r}"
            return Look(kind="unfit", told=told)
        self.window = served[self._access.model]
        return Look(kind="up")

    async def ask(self, request_id: str, body: bytes) -> Completion | Setback:
        """Try one request; a try that is not answered in time is given up, and the server sees the connection end."""
        try:
            async with asyncio.timeout(self._access.request_seconds), self._post("/v1/chat/completions", body) as reply:
                status, headers, content = reply.status, reply.headers, await _read(reply)
        except ReplyTooLargeError as error:
            return Setback(kind="fault", reason=BROKEN_ANSWER, told=str(error))
        except aiohttp.ClientError as error:
            return Setback(kind="fault", reason=CONNECTION_LOST, told=self._told(error))
        except TimeoutError:
            told = f"no answer within {self._access.request_seconds:g} s"
            return Setback(kind="fault", reason=TIMED_OUT, told=told)
        return read_reply(request_id, status=status, headers=headers, body=content, model=self._access.model)

    def told(self, text: str) -> str:
        return f"{self.url}: {self._access.without_key(text)}"

    def _new_concurrency(self) -> Concurrency:
        return Concurrency(self._max_concurrency, first=self._first_concurrency)

    def _get(self, path: str) -> Any:
        return self._access.session.get(self.url + path, headers=self._access.headers(), allow_redirects=False)

    def _post(self, path: str, body: bytes) -> Any:
        headers = self._access.headers()
        return self._access.session.post(self.url + path, data=body, headers=headers, allow_redirects=False)

    def _told(self, error: Exception) -> str:
        return self._access.without_key(f"{type(error).__name__} {error}".strip())

    def _refusal(self, status: int) -> str:
        hint = {
            401: f" (the key comes from {self._access.key_name})",
            403: f" (the key comes from {self._access.key_name})",
            404: " (is this the base URL of an OpenAI-compatible server?)",
        }
        return f"GET /v1/models gave status {status}{hint.get(status, '')}"


async def _read(reply: aiohttp.ClientResponse) -> bytes:
    """Return the body; raises ReplyTooLargeError rather than fill the memory with what a server sends or packs."""
    pieces, num_bytes = [], 0
    async for piece in reply.content.iter_any():
        num_bytes += len(piece)
        if num_bytes > MAX_REPLY_BYTES:
            raise ReplyTooLargeError(f"status {reply.status}, and a reply of more than {MAX_REPLY_BYTES >> 20} MB")
        pieces.append(piece)
    return b"".join(pieces)
