"""Answering one wave of asks: questions by the engine, tool calls by the tools."""

from typing import Any

import pyarrow as pa

from corpusmill.document import COMPLETIONS
from corpusmill.engines.inference import ChatRequest, Completion, InferenceEngine
from corpusmill.synthesize.ask_ids import Tools, named_tool
from corpusmill.synthesize.asking import Ask, Question, ToolCall
from corpusmill.synthesize.waves import Wave, ordered


def is_for_model(ask: Ask) -> bool:
    return isinstance(ask, Question)


def answer_wave(wave: Wave, *, engine: InferenceEngine | None, tools: Tools) -> pa.Table:
    """Return COMPLETIONS with one row for each ask of a wave; `engine` may be None where there is no question."""
    questions = {name: ask for name, ask in wave.items() if isinstance(ask, Question)}
    rows = [_called(name, ask, tools) for name, ask in wave.items() if isinstance(ask, ToolCall)]
    for sampling, ids in ordered(questions):
        assert engine is not None
        asked = [_request(request_id, questions[request_id]) for request_id in ids]
        told = engine.generate(asked, sampling)
        rows += [_answered(one, questions[one.request_id].step, engine.identity.name) for one in told]
    return pa.Table.from_pylist(rows, schema=COMPLETIONS)


def _request(request_id: str, question: Question) -> ChatRequest:
    return ChatRequest(request_id=request_id, messages=question.messages, schema=question.schema)


def _answered(completion: Completion, step: str, engine: str) -> dict[str, Any]:
    known = {name: getattr(completion, name) for name in COMPLETIONS.names if name not in ("engine", "step")}
    return {**known, "engine": engine, "step": step}


def _called(request_id: str, call: ToolCall, tools: Tools) -> dict[str, Any]:
    tool = named_tool(call.tool, tools)
    return {
        "request_id": request_id,
        "answer": tool(call.arguments),
        "finish_reason": "stop",
        "engine": f"tool:{call.tool}@{tool.version}",
        "step": call.step,
    }
