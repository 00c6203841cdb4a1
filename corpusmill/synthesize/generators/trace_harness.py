"""Inside the sandbox: call one function of a source with given arguments, and tell what it gave and how it went.

This file's text is put before the order and run there (`traces`), so it holds the standard library only. Every call is
made twice with fresh arguments: what differs (clocks, random numbers) is not told. What is told of a value is
its `repr`, of plain values only: of others it would be an address.
"""

import contextlib
import io
import json
import re
import sys
import types
from collections.abc import Callable
from typing import Any

MARK = "what the calls gave: "
"""Begins the line that tells; a program may print other lines after it, when it ends."""
UNSUITABLE = (TypeError, AttributeError, NameError, RecursionError, MemoryError, ImportError)
"""What a function raises when it was called in a way that it is not made for."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_MAX_DEPTH = 20


def main(order: dict[str, Any]) -> None:
    """Run the order and print what came of it, a line of JSON behind `MARK`: a value a call, null where nothing can be told."""
    with contextlib.redirect_stdout(io.StringIO()):
        module = types.ModuleType("traced")
        sys.modules["traced"] = module
        exec(compile(order["source"], "<traced>", "exec", dont_inherit=True), module.__dict__)
        function = module.__dict__[order["function"]]
        told = [told_call(function, spelled, order) for spelled in order["arguments"]]
    print(f"\n{MARK}{fitting(told, order['max_output_characters'])}")


def fitting(told: list[Any], max_characters: int) -> str:
    """Return as JSON as much as fits: without the lines where they are too many, then without the last calls."""
    if len(text := json.dumps(told)) <= max_characters:
        return text
    kept = [call and {**call, "lines": []} for call in told]
    while len(text := json.dumps(kept)) > max_characters:
        kept.pop()
    return text


def told_call(function: Callable[..., Any], spelled: str, order: dict[str, Any]) -> dict[str, Any] | None:
    """Return what one call gave, or None where two calls differ or it is nothing to show. `spelled` is a JSON list."""
    first = _called(function, json.loads(spelled), order["max_characters"])
    if first is None or first != _called(function, json.loads(spelled), order["max_characters"]):
        return None
    lines = [_lines(function, json.loads(spelled), order) for _ in range(2)] if order["max_lines"] else [[], []]
    return {**first, "lines": lines[0] if lines[0] == lines[1] else []}


def _called(function: Callable[..., Any], arguments: list[Any], max_characters: int) -> dict[str, str] | None:
    given = ", ".join(repr(argument) for argument in arguments)
    try:
        value = function(*arguments)
    except UNSUITABLE:
        return None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises is what the call gives
        message = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
        return None if _ADDRESS.search(message) else {"given": given, "raised": message[:max_characters]}
    if not _is_plain(value, 0) or len(given) > max_characters or len(repr(value)) > max_characters:
        return None
    return {"given": given, "returned": repr(value)}


def _is_plain(value: Any, depth: int) -> bool:
    """Whether `repr` spells the value fully and the same way in every process; a set's order is not."""
    if depth > _MAX_DEPTH:
        return False
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return True
    if type(value) in (set, frozenset):
        return len(value) < 2 and all(_is_plain(item, depth + 1) for item in value)
    if type(value) is dict:
        return all(_is_plain(item, depth + 1) for pair in value.items() for item in pair)
    return type(value) in (list, tuple) and all(_is_plain(item, depth + 1) for item in value)


def _lines(function: Callable[..., Any], arguments: list[Any], order: dict[str, Any]) -> list[list[Any]]:
    """Return [line, {name: value}] for each line of the outermost call that changed a local variable."""
    watch = _Watch(function.__code__, order)
    sys.settrace(watch.enter)
    try:
        with contextlib.suppress(Exception, SystemExit):  # told already
            function(*arguments)
    finally:
        sys.settrace(None)
    return watch.steps


class _Watch:
    """Sees the lines of the first call of one code object."""

    def __init__(self, code: types.CodeType, order: dict[str, Any]) -> None:
        self.steps: list[list[Any]] = []
        self._code, self._order = code, order
        self._frame: types.FrameType | None = None
        self._line = 0
        self._seen: dict[str, str] = {}

    def enter(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        if self._frame is None and frame.f_code is self._code:
            self._frame, self._line, self._seen = frame, frame.f_lineno, self._spelled(frame)
            return self._step
        return None

    def _step(self, frame: types.FrameType, event: str, argument: Any) -> Any:
        now = self._spelled(frame)
        changed = {name: value for name, value in now.items() if self._seen.get(name) != value}
        if changed and len(self.steps) < self._order["max_lines"]:
            self.steps.append([self._line, changed])
        self._line, self._seen = frame.f_lineno, now
        return self._step

    def _spelled(self, frame: types.FrameType) -> dict[str, str]:
        plain = {name: repr(value) for name, value in frame.f_locals.items() if _is_plain(value, 0)}
        return {name: value for name, value in plain.items() if len(value) <= self._order["max_characters"]}
