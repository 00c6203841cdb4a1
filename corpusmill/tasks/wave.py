"""Answering one wave of asks: questions by the engine, tool calls by the tools."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.document import COMPLETIONS
from corpusmill.engines.inference import ChatRequest, Completion, InferenceEngine
from corpusmill.synthesize.ask_ids import Tools, named_tool
from corpusmill.synthesize.asking import Ask, BatchTool, Question, ToolCall
from corpusmill.synthesize.waves import Wave, ordered

_NOT_TOLD = ("engine", "step", "device_seconds")
"""Columns of COMPLETIONS that no single completion says."""


def is_for_model(ask: Ask) -> bool:
    return isinstance(ask, Question)


def answer_wave(wave: Wave, *, engine: InferenceEngine | None, tools: Tools) -> pa.Table:
    """Return COMPLETIONS with one row for each ask of a wave; `engine` may be None where there is no question."""
    questions = {name: ask for name, ask in wave.items() if isinstance(ask, Question)}
    calls = {name: ask for name, ask in wave.items() if isinstance(ask, ToolCall)}
    rows = [row for tool in sorted({call.tool for call in calls.values()}) for row in _called(tool, calls, tools)]
    for sampling, ids in ordered(questions):
        assert engine is not None
        asked = [_request(request_id, questions[request_id]) for request_id in ids]
        told = engine.generate(asked, sampling)
        rows += [_answered(one, questions[one.request_id].step, engine.identity.name) for one in told]
    return pa.Table.from_pylist(rows, schema=COMPLETIONS)


def _request(request_id: str, question: Question) -> ChatRequest:
    return ChatRequest(request_id=request_id, messages=question.messages, schema=question.schema)


def _answered(completion: Completion, step: str, engine: str) -> dict[str, Any]:
    known = {name: getattr(completion, name) for name in COMPLETIONS.names if name not in _NOT_TOLD}
    return {**known, "engine": engine, "step": step}


def _called(name: str, wave: Mapping[str, ToolCall], tools: Tools) -> list[dict[str, Any]]:
    """Return a row for each call of one tool."""
    tool = named_tool(name, tools)
    calls = {request_id: call for request_id, call in wave.items() if call.tool == name}
    arguments = [call.arguments for call in calls.values()]
    said = tool.call_all(arguments) if isinstance(tool, BatchTool) else list(map(tool, arguments))
    same = {"finish_reason": "stop", "engine": f"tool:{name}@{tool.version}"}
    return [
        {**same, "request_id": request_id, "answer": text, "step": call.step}
        for (request_id, call), text in zip(calls.items(), said, strict=True)
    ]
