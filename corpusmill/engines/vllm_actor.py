"""One vLLM engine inside one Ray actor: requests of all clients join one running batch and leave it one by one.

The actor builds and steps vLLM in a thread of its own and never starts another process, so nothing is left when it is killed.
Any error of vLLM's steps ends the process; Ray then starts it again, a bounded number of times. A request that the chat
template, the window or the sampling settings refuse is answered with its failure before it gets near the batch.
"""

import asyncio
import itertools
import os
import queue
import sys
import threading
import time
import traceback
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from corpusmill.engines.inference import PROMPT_TOO_LONG, REQUEST_REFUSED, Completion, completion_from_answer
from corpusmill.synthesize.sampling import Sampling

ABANDONED_SECONDS = 60.0
"""Requests of a client that was silent for so long are thrown out of the batch: it was killed."""


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A request on its way into the batch."""

    client: str
    prompt: list[int]
    params: Any
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"


class VllmActor:
    """Answers requests with one vLLM engine. Its methods are coroutines, so that Ray runs many of them at once."""

    def __init__(self, engine_args: dict[str, Any]) -> None:
        self._arrivals: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._running: dict[str, _Job] = {}
        self._numbers = itertools.count()
        self._num_steps = 0
        self._heard: dict[str, float] = {}
        threading.excepthook = _end_process
        built: Future[Any] = Future()
        threading.Thread(target=self._build_and_step, args=(engine_args, built), name="vllm", daemon=True).start()
        self._engine = built.result()
        self._tokenizer = self._engine.get_tokenizer()
        self._window = self._engine.model_config.max_model_len

    async def ready(self) -> dict[str, Any]:
        """Return what this engine is, once it can answer."""
        import vllm

        chosen = self._engine.vllm_config
        return {
            "pid": os.getpid(),
            "version": vllm.__version__,
            "dtype": str(chosen.model_config.dtype).removeprefix("torch."),
            "max_num_seqs": chosen.scheduler_config.max_num_seqs,
        }

    async def attend(self, client: str) -> int:
        """Note that `client` still waits, and return the number of steps so far: an engine that stands still is stuck."""
        self._heard[client] = time.monotonic()
        return self._num_steps

    async def leave(self, client: str) -> None:
        """Note that `client` waits no more: what it asked is thrown out of the batch."""
        self._heard[client] = float("-inf")

    async def answer(self, client: str, request: dict[str, Any], sampling: dict[str, Any]) -> Completion | None:
        """Return the completion of one request (`request_id`, `messages`, `schema`), or None when its client fell silent."""
        self._heard[client] = time.monotonic()
        try:
            return await self._complete(client, request, Sampling.from_json(sampling))
        except _Refused:
            traceback.print_exc()
            return Completion(request_id=request["request_id"], failure=REQUEST_REFUSED)

    async def _complete(self, client: str, request: dict[str, Any], sampling: Sampling) -> Completion | None:
        request_id, prompt = request["request_id"], self._tokenize(request["messages"])
        if len(prompt) + sampling.max_tokens > self._window:
            return Completion(request_id=request_id, failure=PROMPT_TOO_LONG, prompt_tokens=len(prompt))
        output = await self._ask(client, prompt, _sampling_params(sampling, request["schema"]))
        if output is None:
            return None
        return completion_from_answer(
            request_id,
            output.text,
            finish_reason=output.finish_reason,
            prompt_tokens=len(prompt),
            completion_tokens=len(output.token_ids),
        )

    async def _ask(self, client: str, prompt: list[int], params: Any) -> Any:
        loop = asyncio.get_running_loop()
        job = _Job(client=client, prompt=prompt, params=params, loop=loop, done=loop.create_future())
        self._arrivals.put(job)
        return await job.done

    def _tokenize(self, messages: list[dict[str, str]]) -> list[int]:
        from jinja2 import TemplateError

        try:
            for message in messages:
                message["content"].encode()  # tokenizers stop at a lone surrogate, and say no word about it
            return self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=True, return_dict=False
            )
        except (TemplateError, UnicodeEncodeError) as error:
            raise _Refused(f"the messages cannot become a prompt: {error}") from error

    def _build_and_step(self, engine_args: dict[str, Any], built: "Future[Any]") -> None:
        """Build the engine, hand it over, and step it for ever.

        In one thread, because every thread that computes has OpenMP threads of its own: where there are more of them than
        cores, they sleep instead of spinning when they wait for one another, hundreds of times a step. That took a sixth
        of the throughput of two cores.
        """
        try:
            self._engine = _build(engine_args)
        except BaseException as error:  # noqa: BLE001 - raised by who waits for it
            built.set_exception(error)
            return
        built.set_result(self._engine)
        while True:
            self._admit()
            self._forget_abandoned()
            for output in self._engine.step():
                if output.finished:
                    self._finish(output)
            self._num_steps += 1

    def _admit(self) -> None:
        """Move arrivals into the batch; wait for one when the batch is empty."""
        from vllm.exceptions import VLLMClientError

        while not self._running or not self._arrivals.empty():
            job = self._arrivals.get()
            number = str(next(self._numbers))
            try:
                self._engine.add_request(number, {"prompt_token_ids": job.prompt}, job.params)
            except (ValueError, VLLMClientError) as error:
                refusal = _Refused(f"vLLM refused the request: {error}")
                job.loop.call_soon_threadsafe(job.done.set_exception, refusal)
            else:
                self._running[number] = job

    def _forget_abandoned(self) -> None:
        horizon = time.monotonic() - ABANDONED_SECONDS
        abandoned = [number for number, job in self._running.items() if self._heard[job.client] < horizon]
        if abandoned:
            self._engine.abort_request(abandoned)
        for number in abandoned:
            job = self._running.pop(number)
            job.loop.call_soon_threadsafe(job.done.set_result, None)

    def _finish(self, output: Any) -> None:
        job = self._running.pop(output.request_id)
        job.loop.call_soon_threadsafe(job.done.set_result, output.outputs[0])


def _build(engine_args: dict[str, Any]) -> Any:
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    return LLMEngine.from_engine_args(EngineArgs(**engine_args))


class _Refused(ValueError):
    """A request that cannot be asked."""


def _sampling_params(sampling: Sampling, schema: dict[str, Any] | None) -> Any:
    from vllm import SamplingParams
    from vllm.exceptions import VLLMClientError
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    try:
        form = None if schema is None else StructuredOutputsParams(json=schema)
        return SamplingParams(**sampling.to_json(), output_kind=RequestOutputKind.FINAL_ONLY, structured_outputs=form)
    except (ValueError, VLLMClientError) as error:
        raise _Refused(f"vLLM refused the sampling settings: {error}") from error


def _end_process(failure: threading.ExceptHookArgs) -> None:
    """End the process when the engine's thread fails, so that Ray sees it and starts it again."""
    traceback.print_exception(failure.exc_type, failure.exc_value, failure.exc_traceback)
    sys.stderr.flush()
    os._exit(70)
