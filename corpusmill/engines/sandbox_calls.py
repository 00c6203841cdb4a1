"""Inside the sandbox: evaluate expressions in a program's namespace and report what came of each, comparably.

Comparable means: values as text without addresses, sets and mappings in an order of their own, numbers to twelve digits,
what was printed beside what was returned. Only the standard library is used.
"""

import contextlib
import io
import itertools
import os
import re
import signal
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

TEXT_CHARACTERS = 4000
"""Of a value and of what was printed; texts that are longer are compared by their beginning."""
NUM_ITEMS = 200
_DEPTH = 6
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


class TooSlow(BaseException):
    """An expression used up its processor time. No `Exception`, so that few programs swallow it."""


def evaluate(
    calls: list[dict[str, Any]],
    namespace: Mapping[str, Any],
    *,
    seconds: float,
    total_seconds: float,
    chance: Callable[[], object],
    report: Callable[[dict[str, Any]], None],
) -> None:
    """Report every call by its number: `returned`, `raised` or `unclear`, and the value's text or the exception's name.

    `unclear` is what may differ between two runs of the same program: time, recursion or memory ran out, or the call drew a
    random number, after which `chance` returns something else than before.
    """
    signal.signal(signal.SIGPROF, _interrupt)
    spent = 0.0
    for number, call in enumerate(calls):
        if spent >= total_seconds:
            return
        before = _processor_seconds()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status, value = _outcome(call, dict(namespace), seconds, chance)
        spent += _processor_seconds() - before
        text = _ADDRESS.sub("0x0", printed.getvalue()[:TEXT_CHARACTERS])
        report({"call": number, "status": status, "value": value, "printed": text})


def _outcome(
    call: dict[str, Any], namespace: dict[str, Any], seconds: float, chance: Callable[[], object]
) -> tuple[str, str]:
    try:
        before = chance()
        signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
        try:
            for statement in call["setup"]:
                with contextlib.suppress(Exception):  # an example that shows an error sets nothing up
                    exec(compile(statement, "<setup>", "exec", dont_inherit=True), namespace)
            value = eval(compile(call["expression"], "<call>", "eval", dont_inherit=True), namespace)
            text = _ADDRESS.sub("0x0", spelled(value))[:TEXT_CHARACTERS]
            return ("returned", text) if chance() == before else ("unclear", "")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except (TooSlow, RecursionError, MemoryError):
        return "unclear", ""
    except BaseException as error:  # noqa: BLE001 - whatever the program raises is the outcome
        return "raised", type(error).__name__


def spelled(value: Any, depth: int = _DEPTH) -> str:
    """Spell a value such that equal values of two runs have equal texts."""
    if isinstance(value, float | complex):
        return f"{value:.12g}"
    if value is None or isinstance(value, bool | int | str | bytes) or depth == 0:
        return repr(value)
    if isinstance(value, Mapping):
        items = (f"{spelled(key, depth - 1)}: {spelled(item, depth - 1)}" for key, item in _some(value.items()))
        return f"{type(value).__name__}{{{', '.join(sorted(items))}}}"
    if isinstance(value, AbstractSet):
        return f"{type(value).__name__}{{{', '.join(sorted(spelled(item, depth - 1) for item in _some(value)))}}}"
    if isinstance(value, list | tuple) or hasattr(value, "__next__"):
        return f"{type(value).__name__}[{', '.join(spelled(item, depth - 1) for item in _some(value))}]"
    if hasattr(value, "__dict__") and getattr(type(value), "__repr__", None) is object.__repr__:
        return f"{type(value).__name__}({spelled(vars(value), depth - 1)})"
    return repr(value)


def _some(items: Any) -> Any:
    return itertools.islice(items, NUM_ITEMS)


def _processor_seconds() -> float:
    return sum(os.times()[:2])


def _interrupt(number: int, frame: Any) -> None:
    raise TooSlow
