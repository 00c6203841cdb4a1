"""Progress as people read it: one line, not too often."""

import time
from collections.abc import Callable, Mapping
from typing import Any

INTERVAL_SECONDS = 2.0
"""Shortest time between two lines: every line is a row of Dagster's event log, which is never pruned."""


def progress_line(message: str, numbers: Mapping[str, Any]) -> str:
    """Return a message with its numbers in brackets."""
    if not numbers:
        return message
    spelled = ", ".join(f"{name} {_spell(value)}" for name, value in numbers.items())
    return f"{message} ({spelled})"


class SparseProgress:
    """Hands lines on, at most one an interval; the last one is handed on when it closes."""

    def __init__(self, write: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._last = -INTERVAL_SECONDS
        self._waiting: str | None = None

    def report(self, message: str, numbers: Mapping[str, Any]) -> None:
        line = progress_line(message, numbers)
        if self._clock() - self._last < INTERVAL_SECONDS:
            self._waiting = line
            return
        self._last = self._clock()
        self._waiting = None
        self._write(line)

    def close(self) -> None:
        if self._waiting is not None:
            self._write(self._waiting)
            self._waiting = None


def _spell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
