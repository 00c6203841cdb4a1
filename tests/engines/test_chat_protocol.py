"""What is sent for a request, and what every kind of reply means."""

import json
from typing import Any

import pytest

from corpusmill.engines.chat_protocol import Setback, read_reply, request_body, retry_after, served_models
from corpusmill.engines.inference import ChatRequest, Completion
from corpusmill.engines.server_concurrency import Concurrency
from corpusmill.synthesize.sampling import Sampling

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def request(content: str = "Say it.", **more) -> ChatRequest:
    return ChatRequest(request_id="r", messages=({"role": "user", "content": content},), **more)


def sent(sampling: Sampling, **more) -> dict:
    body = request_body(request(**more), sampling, model="m")
    assert body is not None
    return json.loads(body)


def answer(content: str | None, finish_reason: Any = "stop", usage: dict | None = USAGE, **more: Any) -> bytes:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice], "usage": usage, **more}).encode()


def read(status: int, body: bytes | str, **headers: str) -> Completion | Setback:
    sent_back = body.encode() if isinstance(body, str) else body
    return read_reply("r", status=status, headers=headers, body=sent_back, model="org/Small-8B")


def test_a_plain_request_holds_only_what_every_server_knows():
    assert sent(Sampling(max_tokens=5)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Say it."}],
        "max_tokens": 5,
        "temperature": 0.0,
    }


def test_what_changes_the_answer_is_sent():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    sampling = Sampling(max_tokens=5, temperature=0.5, top_p=0.9, repetition_penalty=1.1, stop=("END",))
    body = sent(sampling, schema=schema)
    assert {name: body[name] for name in ("temperature", "top_p", "repetition_penalty", "stop")} == {
        "temperature": 0.5,
        "top_p": 0.9,
        "repetition_penalty": 1.1,
        "stop": ["END"],
    }
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"] == schema


def test_text_that_is_no_unicode_is_not_sent():
    assert request_body(request("a \ud800 b"), Sampling(max_tokens=5), model="m") is None


def test_an_answer_is_a_completion():
    assert read(200, answer("Good.", "length")) == Completion(
        request_id="r", answer="Good.", finish_reason="length", prompt_tokens=3, completion_tokens=2
    )
    assert read(200, answer("Good.", usage=None)) == Completion(request_id="r", answer="Good.", finish_reason="stop")


@pytest.mark.parametrize(
    ("status", "body", "failure"),
    [
        (200, answer(""), "empty_answer"),
        (200, answer(None), "empty_answer"),
        (200, answer("half", "content_filter"), "request_refused"),
        (400, '{"error": {"message": "top_p must be in (0, 1]"}}', "request_refused"),
        (422, "no", "request_refused"),
        (413, "", "prompt_too_long"),
        # vLLM's, SGLang's and OpenAI's words
        (400, '{"message": "This model\'s maximum context length is 20 tokens. However, you"}', "prompt_too_long"),
        (400, '{"message": "The decoder prompt is longer than the maximum model length of 20"}', "prompt_too_long"),
        (400, '{"message": "The input (30 tokens) is longer than the model\'s context length"}', "prompt_too_long"),
        (400, '{"error": {"code": "context_length_exceeded"}}', "prompt_too_long"),
    ],
)
def test_what_asking_again_would_only_repeat_is_a_failed_row(status, body, failure):
    completion = read(status, body)
    assert isinstance(completion, Completion)
    assert completion.failure == failure


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason"),
    [
        (500, "boom", "fault", "server_error"),
        (502, "", "fault", "server_error"),
        (301, "", "fault", "server_error"),
        (408, "", "fault", "server_error"),
        (429, "", "busy", "server_busy"),
        (503, "", "busy", "server_busy"),
        (401, "", "unfit", "server_error"),
        (404, "", "unfit", "server_error"),
        (200, answer("Good.")[:40], "fault", "broken_answer"),
        (200, "[]", "fault", "broken_answer"),
        (200, "null", "fault", "broken_answer"),
        (200, '{"choices": []}', "fault", "broken_answer"),
        (200, '{"choices": [{"message": "Good."}]}', "fault", "broken_answer"),
        (200, '{"choices": [{"message": {"content": ["Good."]}}]}', "fault", "broken_answer"),
        (200, answer("Good.", usage={"prompt_tokens": "3"}), "fault", "broken_answer"),
        (200, b"\xff\xfe", "fault", "broken_answer"),
        (200, "[" * 200_000, "fault", "broken_answer"),
        (200, answer("half \ud83d of an emoji"), "fault", "broken_answer"),
        (200, answer("Good.", "\ud83d"), "fault", "broken_answer"),
        (200, answer("Good.", {"reason": "stop"}), "fault", "broken_answer"),
        (200, answer("Good.", usage={"prompt_tokens": 1 << 40}), "fault", "broken_answer"),
        (200, answer("Good.", usage={"completion_tokens": -1}), "fault", "broken_answer"),
        (200, answer("Good.", usage={"completion_tokens": True}), "fault", "broken_answer"),
        (200, answer("Good.", model="org/Large-70B"), "unfit", "other_model"),
        (200, answer("Good.", model="Small-8B-Instruct"), "unfit", "other_model"),
        (200, answer("Good.", model=8), "unfit", "other_model"),
        (200, answer("half", "abort"), "fault", "server_error"),
    ],
)
def test_what_may_go_better_is_a_setback(status, body, kind, reason):
    setback = read(status, body)
    assert isinstance(setback, Setback)
    assert (setback.kind, setback.reason) == (kind, reason)


@pytest.mark.parametrize("name", [None, "", "org/Small-8B", "small-8b", "/models/Small-8B/", "org/Small-8B-2026-08-06"])
def test_a_server_may_name_its_model_by_its_folder_or_date(name):
    assert isinstance(read(200, answer("Good.", model=name)), Completion)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("", None), ("soon", None), ("-3", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0)],
)
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert retry_after({"Retry-After": value}) == seconds
    assert read(429, "", **{"Retry-After": value}).after_seconds == seconds


def test_models_are_listed():
    told = b'{"data": [{"id": "a", "max_model_len": 4096}, {"id": "b"}, {"id": "c", "max_model_len": "much"}]}'
    assert served_models(told) == {"a": 4096, "b": None, "c": None}
    for junk in (b"<html>", b"[" * 200_000):
        with pytest.raises(ValueError, match=r"did not answer with a list of models: [<\[]"):
            served_models(junk)


def test_concurrency_grows_by_one_an_answer_until_the_first_overload_then_by_one_a_round():
    held = Concurrency(100)
    for _ in range(12):
        held.note_answer(in_flight=held.limit)
    assert held.limit == 16
    held.note_overload(asked_at=1.0, now=2.0)
    held.note_overload(asked_at=1.5, now=2.1)  # asked before the limit was halved: says nothing new
    assert held.limit == 8
    for _ in range(8):
        held.note_answer(in_flight=held.limit)
    assert held.limit == 8
    held.note_answer(in_flight=held.limit)
    assert held.limit == 9


def test_concurrency_stays_between_one_and_the_maximum_and_grows_only_in_use():
    held = Concurrency(6)
    for _ in range(50):
        held.note_answer(in_flight=1)
    assert held.limit == 4
    for _ in range(50):
        held.note_answer(in_flight=held.limit)
    assert held.limit == 6
    for now in range(10):
        held.note_overload(asked_at=now, now=now)
    assert held.limit == 1
    with pytest.raises(ValueError, match="max_concurrency 0"):
        Concurrency(0)
