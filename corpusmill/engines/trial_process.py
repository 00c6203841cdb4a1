"""The process of one trial: starts an engine, asks it the prompts once, and says what came back; then it ends.

Reads one line of JSON (see `corpusmill.engines.trials`) and prints two: the engine is ready, and what it answered. It ends
when its input ends, so a trial never outlives who started it.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from corpusmill.engines.inference import ChatRequest, Completion, InferenceEngine
from corpusmill.named import named_function
from corpusmill.synthesize.sampling import Sampling
from corpusmill.tune.trial import beginning

WARM_UP = ChatRequest(request_id="warm-up", messages=({"role": "user", "content": "Count from one to twenty."},))
WARM_UP_TOKENS = 16


def main() -> None:
    """Run the trial that the input names."""
    order = json.loads(sys.stdin.readline())
    words = _take_standard_output()
    threading.Thread(target=_end_with_input, daemon=True).start()
    started = time.monotonic()
    engine: InferenceEngine = named_function(order["server"])(order["settings"])
    engine.generate([WARM_UP], Sampling(max_tokens=WARM_UP_TOKENS))
    _say(words, {"ready": {"start_seconds": time.monotonic() - started}})
    started = time.monotonic()
    completions = ask_all(engine, order["groups"])
    seconds = time.monotonic() - started
    _say(words, {"done": measured(completions, order["groups"], seconds=seconds)})
    engine.close()
    os._exit(0)  # vLLM's threads need no farewell


def ask_all(engine: InferenceEngine, groups: Sequence[Mapping[str, Any]]) -> list[Completion]:
    """Ask every group (its `sampling`, its `requests`) at once and return all completions, in the order of the groups."""

    def ask(group: Mapping[str, Any]) -> list[Completion]:
        return engine.generate(
            [ChatRequest(**request) for request in group["requests"]], Sampling.from_json(group["sampling"])
        )

    with ThreadPoolExecutor(max_workers=len(groups)) as pool:
        return [completion for found in pool.map(ask, groups) for completion in found]


def measured(
    completions: Sequence[Completion], groups: Sequence[Mapping[str, Any]], *, seconds: float
) -> dict[str, Any]:
    """Return the numbers of a trial; beginnings only of answers that nothing but the prompt decides."""
    is_certain = [group["sampling"]["temperature"] == 0 for group in groups for _ in group["requests"]]
    return {
        "answered": sum(completion.answer is not None for completion in completions),
        "prompt_tokens": sum(completion.prompt_tokens or 0 for completion in completions),
        "output_tokens": sum(completion.completion_tokens or 0 for completion in completions),
        "seconds": seconds,
        "beginnings": [
            beginning(completion.answer if certain else None)
            for completion, certain in zip(completions, is_certain, strict=True)
        ],
    }


def _say(words: Any, value: Mapping[str, Any]) -> None:
    print(json.dumps(value), file=words, flush=True)


def _end_with_input() -> None:
    sys.stdin.read()
    if os.getpgrp() == os.getpid():  # with the server that an engine has started
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _take_standard_output() -> Any:
    """Return the standard output for the two lines alone; what else is printed here goes to standard error."""
    words = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return words


if __name__ == "__main__":
    main()
