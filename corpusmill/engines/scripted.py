"""An engine that a function answers: deterministic, in this process, for tests and rehearsals of the whole way.

The function is named `module:function`, takes a `ChatRequest` and returns the answer, or None for an empty one. Faults can
be planned: the engine dies before a request, or holds there until it is told to go on, so that a test can kill the
process at exactly that point without a clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from corpusmill.engines.inference import (
    PROMPT_TOO_LONG,
    ChatRequest,
    Completion,
    EngineDeadError,
    EngineIdentity,
    completion_from_answer,
)
from corpusmill.fingerprint import code_version
from corpusmill.named import named_function, split_name
from corpusmill.synthesize.sampling import Sampling


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong, and where."""

    before_request: int
    """Counted from 0 over the life of the engine."""
    kind: Literal["die", "hold"]
    arrived: Path | None = None
    """`hold`: a named pipe that the engine opens for writing, and closes, once it has arrived."""
    go_on: Path | None = None
    """`hold`: a named pipe that the engine then reads to its end before it goes on."""

    def __post_init__(self) -> None:
        if self.kind == "hold" and (self.arrived is None or self.go_on is None):
            raise ValueError("a fault that holds needs the two named pipes `arrived` and `go_on`")


class ScriptedEngine:
    """`InferenceEngine` whose answers are those of a function. Counts words as tokens."""

    def __init__(self, script: str, *, max_words: int | None = None, faults: Sequence[Fault] = ()) -> None:
        self._answer: Callable[[ChatRequest], str | None] = named_function(script)
        self._max_words = max_words
        self._faults = {fault.before_request: fault for fault in faults}
        self.num_asked = 0
        self.identity = scripted_identity(script)

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        return [self._complete(request, sampling) for request in requests]

    def close(self) -> None:
        """Nothing is held."""

    def _complete(self, request: ChatRequest, sampling: Sampling) -> Completion:
        fault = self._faults.get(self.num_asked)
        if fault is not None:
            _suffer(fault)
        self.num_asked += 1
        prompt_tokens = sum(len(message["content"].split()) for message in request.messages)
        if self._max_words is not None and prompt_tokens + sampling.max_tokens > self._max_words:
            return Completion(request_id=request.request_id, failure=PROMPT_TOO_LONG, prompt_tokens=prompt_tokens)
        words = (answer := self._answer(request) or "").split()
        if len(words) > sampling.max_tokens:
            answer = " ".join(words[: sampling.max_tokens])
        return completion_from_answer(
            request.request_id,
            answer,
            finish_reason="length" if len(words) > sampling.max_tokens else "stop",
            prompt_tokens=prompt_tokens,
            completion_tokens=min(len(words), sampling.max_tokens),
        )


def scripted_identity(script: str) -> EngineIdentity:
    """Return the identity of a script: its name, and the version of its module's code as revision."""
    return EngineIdentity(
        model=f"scripted:{script}", revision=code_version(split_name(script)[0]), license="Apache-2.0", name="scripted"
    )


def _suffer(fault: Fault) -> None:
    if fault.kind == "die":
        raise EngineDeadError(f"the scripted engine died before request {fault.before_request}, as planned")
    assert fault.arrived is not None and fault.go_on is not None
    with fault.arrived.open("wb"):
        pass
    with fault.go_on.open("rb") as pipe:
        pipe.read()
