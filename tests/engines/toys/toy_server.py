"""Servers for trials: one that answers at once, and one for every way to fail."""

import os
import signal
import threading
from collections.abc import Sequence

from corpusmill.engines.inference import ChatRequest, Completion, EngineIdentity, completion_from_answer
from corpusmill.synthesize.sampling import Sampling

IDENTITY = EngineIdentity(model="toy", revision="1", license="MIT", name="toy")
MODES = {1: "memory", 2: "crash", 3: "killed", 4: "never_starts", 5: "never_answers", 6: "says_something_else"}


class ToyServer:
    """Answers with the prompt. What it takes no time for counts as tokens: the more `max_num_seqs`, the more."""

    def __init__(self, mode: str, tokens: int) -> None:
        self.identity = IDENTITY
        self.mode = mode
        self.tokens = tokens
        self.num_calls = 0

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        self.num_calls += 1
        if self.mode == "never_answers" and self.num_calls > 1:
            threading.Event().wait()
        return [self._complete(request) for request in requests]

    def _complete(self, request: ChatRequest) -> Completion:
        said = "something else" if self.mode == "says_something_else" else request.messages[-1]["content"]
        return completion_from_answer(request.request_id, said, prompt_tokens=5, completion_tokens=self.tokens)

    def close(self) -> None:
        """Nothing is held."""


def start(settings: dict) -> ToyServer:
    """Start the server that `tuning.max_num_seqs` stands for: one of MODES, or one that is the faster the more it is."""
    number = settings["tuning"].get("max_num_seqs", 10)
    mode = MODES.get(number, "answers")
    print("a server prints, too")
    if mode == "memory":
        raise MemoryError("a list of all the world")
    if mode == "crash":
        raise RuntimeError("no such kernel")
    if mode == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "never_starts":
        threading.Event().wait()
    return ToyServer(mode, tokens=number**6)
