"""The chat protocol of OpenAI-compatible servers: what is sent for a request, and what a reply means. No connection here.

A reply is a completion, or a setback: a try that brought nothing. What a setback says of the server decides what comes
next: it is busy (ask less), perhaps unfit (look at it), or something went wrong that may not happen again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from corpusmill.engines.inference import (
    BROKEN_ANSWER,
    PROMPT_TOO_LONG,
    REQUEST_REFUSED,
    ChatRequest,
    Completion,
    completion_from_answer,
)
from corpusmill.synthesize.asking import is_unicode
from corpusmill.synthesize.sampling import Sampling

SERVER_ERROR = "server_error"
"""Status 5xx, or an answer that the server itself broke off."""
SERVER_BUSY = "server_busy"
"""Status 429 or 503, as often as a request is sent again for that."""
TIMED_OUT = "timed_out"
"""No answer before the request's deadline."""
CONNECTION_LOST = "connection_lost"
"""The connection ended before the answer was there, or there was none."""
OTHER_MODEL = "other_model"
"""Status 200, but the answer says that it is another model's."""

TOLD_CHARACTERS = 300
_BUSY = (429, 503)
_UNFIT = (401, 403, 404, 405)
_PASSING = (408, 409, 425)
_TOO_LONG = re.compile(r"context[ _](?:length|window)|maximum model length|max_model_len", re.IGNORECASE)
"""vLLM, SGLang and OpenAI word it differently; all name the context or the model's length."""
_MAX_TOKENS = (1 << 31) - 1
_DATED = re.compile(r"[-@:](?:\d[\w.-]*|latest)")
"""What servers add to an alias that was asked for: `gpt-4o-2024-08-06`."""


@dataclass(frozen=True, kw_only=True)
class Setback:
    """A try that brought no completion."""

    kind: Literal["fault", "busy", "unfit"]
    reason: str
    """The failure of the request when it is not tried again."""
    told: str
    """What happened, for people."""
    after_seconds: float | None = None
    """How long the server wants to be left alone, where it says so."""


def request_body(request: ChatRequest, sampling: Sampling, *, model: str) -> bytes | None:
    """Return the body of a request, or None where its text is no Unicode. What the protocol lacks is sent where it matters."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [dict(message) for message in request.messages],
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
    }
    if sampling.top_p != 1:
        body["top_p"] = sampling.top_p
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.repetition_penalty != 1:  # vLLM and SGLang know it, others may refuse a field that they don't
        body["repetition_penalty"] = sampling.repetition_penalty
    if request.schema is not None:
        form = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None


def read_reply(
    request_id: str, *, status: int, headers: Mapping[str, str], body: bytes, model: str
) -> Completion | Setback:
    """Return what a reply to a request of `model` means."""
    if status == 200:
        return _read_answer(request_id, body, model)
    told = f"status {status}: {_said(body)}"
    if status in _BUSY:
        return Setback(kind="busy", reason=SERVER_BUSY, told=told, after_seconds=retry_after(headers))
    if status in _UNFIT:
        return Setback(kind="unfit", reason=SERVER_ERROR, told=told)
    if status in _PASSING or not 400 <= status < 500:
        return Setback(kind="fault", reason=SERVER_ERROR, told=told)
    is_too_long = status == 413 or _TOO_LONG.search(body.decode(errors="replace"))
    return Completion(request_id=request_id, failure=PROMPT_TOO_LONG if is_too_long else REQUEST_REFUSED)


def served_models(body: bytes) -> dict[str, int | None]:
    """Return the models in a reply to GET /v1/models, each with the tokens of its window where the server tells them.

    vLLM and SGLang do, as `max_model_len`. Raises ValueError for any other reply.
    """
    try:
        return {str(model["id"]): _window(model.get("max_model_len")) for model in json.loads(body)["data"]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"GET /v1/models did not answer with a list of models: {_said(body)}") from error


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` names, as a number or as a date; None where it says nothing."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def _read_answer(request_id: str, body: bytes, model: str) -> Completion | Setback:
    try:
        value = json.loads(body)
        choice = value["choices"][0]
        content, finish_reason = choice["message"].get("content"), choice.get("finish_reason")
        usage = value.get("usage") or {}
        counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return Setback(kind="fault", reason=BROKEN_ANSWER, told=f"status 200, but no answer: {_said(body)}")
    if not (_is_text(content) and _is_text(finish_reason) and all(map(_is_count, counts.values()))):
        return Setback(kind="fault", reason=BROKEN_ANSWER, told=f"status 200, but no text: {_said(body)}")
    if not _is_same_model(value.get("model"), model):
        return Setback(
            kind="unfit", reason=OTHER_MODEL, told=f"it answers as {value['model']!r:.100}, not as {model!r}"
        )
    if finish_reason in ("abort", "error"):
        return Setback(kind="fault", reason=SERVER_ERROR, told=f"the server ended the answer: {finish_reason}")
    if finish_reason == "content_filter":
        return Completion(request_id=request_id, failure=REQUEST_REFUSED, **counts)
    return completion_from_answer(request_id, content, finish_reason=finish_reason, **counts)


def _is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and is_unicode(value))


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_TOKENS)


def _is_same_model(said: Any, asked: str) -> bool:
    """Whether an answer's `model` is the one asked for: not told, the same but for folders, or a dated name of an alias."""
    if said is None or said == "":
        return True
    if not isinstance(said, str):
        return False
    said_name, asked_name = (name.rstrip("/").rpartition("/")[2].casefold() for name in (said, asked))
    return said_name.startswith(asked_name) and bool(_DATED.fullmatch(said_name.removeprefix(asked_name) or "-0"))


def _window(told: Any) -> int | None:
    return told if _is_count(told) and told else None


def _said(body: bytes) -> str:
    return " ".join(body.decode(errors="replace").split())[:TOLD_CHARACTERS] or "nothing"
