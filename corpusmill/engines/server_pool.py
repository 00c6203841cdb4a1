"""A pool of OpenAI-compatible servers (vLLM, SGLang, others) as one inference engine.

The servers are started and ended by others; here they are only asked. Asking is asyncio in a thread of its own, so that
some hundred requests are under way at once while the engine's callers, any number of threads, just wait. Nothing is
asked twice but what brought no answer.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import aiohttp

from corpusmill.engines.chat_server import CONNECT_SECONDS, Access, ChatServer
from corpusmill.engines.chat_tokens import ChatTokens
from corpusmill.engines.inference import PROMPT_TOO_LONG, ChatRequest, Completion, EngineIdentity
from corpusmill.engines.server_concurrency import FIRST
from corpusmill.engines.server_dealer import Patience, ServerDealer
from corpusmill.synthesize.sampling import Sampling

MAX_CONCURRENCY = 64
"""Requests that one server holds at most; how many it does hold is found out by asking."""
PATIENCE = Patience()

_T = TypeVar("_T")


class ServerPool:
    """`InferenceEngine` over servers at base URLs, all with the same model. Threads may share it."""

    def __init__(
        self,
        servers: Sequence[str],
        *,
        identity: EngineIdentity,
        patience: Patience = PATIENCE,
        max_concurrency: int = MAX_CONCURRENCY,
        first_concurrency: float = FIRST,
        api_key_variable: str = "",
        tokens: ChatTokens | None = None,
    ) -> None:
        """Wait until a server answers. With `tokens` no prompt is sent that fits no server's window.

        A server gets `first_concurrency` requests at first, and more, up to `max_concurrency`, as it answers.

        Raises EngineStartError when none answers in time, ValueError for a wrong setting.
        """
        self.identity = identity
        self._api_key = read_key(api_key_variable)
        self._key_name = f"the variable {api_key_variable}" if api_key_variable else "inference.api_key_variable"
        self._tokens = tokens
        self._session: aiohttp.ClientSession | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="server-pool", daemon=True)
        self._thread.start()
        try:
            held = {"max_concurrency": max_concurrency, "first_concurrency": first_concurrency}
            self._dealer = self._await(self._open(servers, patience, held))
        except BaseException:
            self.close()
            raise

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order; raises `EngineDeadError` when nothing answers."""
        refused = {item.request_id: item for request in requests if (item := self._too_long(request, sampling))}
        sent = [request for request in requests if request.request_id not in refused]
        answered = iter(self._await(self._dealer.answer(sent, sampling)) if sent else [])
        return [refused.get(request.request_id) or next(answered) for request in requests]

    def close(self) -> None:
        """Give up what is under way, and disconnect. A second call does nothing."""
        if self._loop.is_closed():
            return
        self._await(self._disconnect())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _too_long(self, request: ChatRequest, sampling: Sampling) -> Completion | None:
        """Return the failure of a request that no server can hold. Where none tells its window, the servers decide."""
        window = self._dealer.window
        number = None if self._tokens is None or window is None else self._tokens.count(request.messages)
        if number is None or window is None or number + sampling.max_tokens <= window:
            return None
        return Completion(request_id=request.request_id, failure=PROMPT_TOO_LONG, prompt_tokens=number)

    async def _open(self, servers: Sequence[str], patience: Patience, held: Mapping[str, Any]) -> ServerDealer:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        access = Access(
            session=self._session,
            model=self.identity.model,
            request_seconds=patience.request_seconds,
            api_key=self._api_key,
            key_name=self._key_name,
        )
        known = [ChatServer(url, access, **held) for url in servers]
        dealer = ServerDealer(known, model=self.identity.model, patience=patience)
        await dealer.start()
        return dealer

    async def _disconnect(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def _await(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def read_key(variable: str) -> str | None:
    """Return the API key in an environment variable, None where no variable is named. The key is in no message."""
    if not variable:
        return None
    key = os.environ.get(variable, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        what = "holds characters that no key has" if key else "is not set"
        raise ValueError(
            f"inference.api_key_variable names {variable}, which {what}; set it to the API key of the inference servers"
        )
    return key
