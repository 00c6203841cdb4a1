"""One vLLM engine in this process, without Ray: what a trial of settings measures, and nothing else should use.

It is the actor of the inference server called directly, so batches are made as in production. vLLM ends this process when it
fails, and a process holds one engine in its life.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from corpusmill.engines.inference import ChatRequest, Completion
from corpusmill.engines.inference_service import (
    InferenceSettings,
    engine_args,
    engine_environment,
    engine_name,
    requests_held,
)
from corpusmill.engines.vllm_actor import VllmActor
from corpusmill.synthesize.sampling import Sampling

CLIENT = "local"
ATTEND_SECONDS = 5.0
"""An engine gives up a client that it has not heard for longer."""


def start(settings: Mapping[str, Any]) -> "LocalVllmEngine":
    """Return the engine of `settings` (JSON of InferenceSettings) once it can answer."""
    return LocalVllmEngine(InferenceSettings.from_json(settings))


class LocalVllmEngine:
    """`InferenceEngine` in this process. Threads may ask at once; their requests join one batch."""

    def __init__(self, settings: InferenceSettings) -> None:
        os.environ.update(engine_environment(settings))  # vLLM reads it when it is imported
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="local-vllm", daemon=True).start()
        self._actor = VllmActor(engine_args(settings))
        facts = self._wait_for(self._actor.ready())
        self._places = asyncio.Semaphore(requests_held(facts["max_num_seqs"]))
        self.identity = settings.model.identity(engine_name(settings, facts))

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order."""
        return self._wait_for(self._answer_all(requests, sampling.to_json()))

    def close(self) -> None:
        """The engine ends with its process."""

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _answer_all(self, requests: Sequence[ChatRequest], sampling: dict[str, Any]) -> list[Completion]:
        attending = asyncio.create_task(self._attend())
        try:
            return list(await asyncio.gather(*(self._answer(request, sampling) for request in requests)))
        finally:
            attending.cancel()

    async def _answer(self, request: ChatRequest, sampling: dict[str, Any]) -> Completion:
        async with self._places:
            completion = await self._actor.answer(CLIENT, request.to_json(), sampling)
        assert completion is not None, "an engine that is attended gives nobody up"
        return completion

    async def _attend(self) -> None:
        while True:
            await self._actor.attend(CLIENT)
            await asyncio.sleep(ATTEND_SECONDS)
