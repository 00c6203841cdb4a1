"""Asking a language model: what is asked, how, and what comes back. Engines that answer stand in modules of their own.

A request that cannot be answered comes back as a completion with a `failure`; only a dead engine raises. So of n requests
n completions return, in the order in which they were asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from corpusmill.synthesize.asking import is_unicode
from corpusmill.synthesize.sampling import Sampling

PROMPT_TOO_LONG = "prompt_too_long"
"""The prompt's tokens and `Sampling.max_tokens` do not fit into the model's window together."""
EMPTY_ANSWER = "empty_answer"
"""The model ended its answer before it wrote anything but white space."""
REQUEST_REFUSED = "request_refused"
"""The request cannot be asked: broken Unicode, or the chat template or the sampling settings do not take it."""
BROKEN_ANSWER = "broken_answer"
"""What came back is no answer: of servers, not the protocol's JSON; of any engine, a text that is no Unicode."""

ROLES = ("system", "user", "assistant")


class EngineDeadError(RuntimeError):
    """No engine answers any more; the message says what was tried. Work that was committed before stays good."""


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One question, as the messages of a chat."""

    request_id: str
    messages: tuple[Mapping[str, str], ...]
    """Each has `role` (system, user or assistant) and `content`."""
    schema: Mapping[str, Any] | None = None
    """JSON schema that the answer must follow, or None for free text. A scripted engine leaves that to its script."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        if not self.messages:
            raise ValueError(f"request {self.request_id} has no messages")
        for message in self.messages:
            if set(message) != {"role", "content"} or message["role"] not in ROLES:
                raise ValueError(
                    f"a message of request {self.request_id} must have a role of {', '.join(ROLES)} and a content, "
                    f"got keys {sorted(message)} and role {message.get('role')!r}"
                )

    def to_json(self) -> dict[str, Any]:
        return {"request_id": self.request_id, "messages": list(self.messages), "schema": self.schema}


@dataclass(frozen=True, kw_only=True)
class Completion:
    """What came back for one request: an answer, or the reason why there is none."""

    request_id: str
    answer: str | None = None
    finish_reason: str | None = None
    """`stop` when the model ended its answer, `length` when max_tokens cut it."""
    failure: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def __post_init__(self) -> None:
        assert (self.answer is None) != (self.failure is None), f"{self.request_id}: an answer or a failure, not both"


@dataclass(frozen=True, kw_only=True)
class EngineIdentity:
    """Who answers. Model and revision belong to the key of an answer; the engine's name is kept beside it."""

    model: str
    revision: str
    """Content hash of the model's files."""
    license: str
    """License that the model's outputs carry, as an SPDX identifier."""
    name: str
    """The engine, its version and number type, such as `vllm 0.32.0 cpu bfloat16`."""

    def to_json(self) -> dict[str, str]:
        return asdict(self)


class InferenceEngine(Protocol):
    """A place where requests are answered."""

    @property
    def identity(self) -> EngineIdentity: ...

    def generate(self, requests: Sequence[ChatRequest], sampling: Sampling) -> list[Completion]:
        """Return one completion per request, in the same order; raises `EngineDeadError` when nothing answers."""

    def close(self) -> None:
        """Let go of the engine; a second call does nothing."""


def completion_from_answer(request_id: str, answer: str | None, **rest: Any) -> Completion:
    """Return the completion of an answer.

    Nothing but white space is the failure `empty_answer`, and half of a surrogate pair `broken_answer`.
    """
    if answer is None or not answer.strip():
        return Completion(request_id=request_id, failure=EMPTY_ANSWER, **rest)
    if not is_unicode(answer):
        return Completion(request_id=request_id, failure=BROKEN_ANSWER, **rest)
    return Completion(request_id=request_id, answer=answer, **rest)
