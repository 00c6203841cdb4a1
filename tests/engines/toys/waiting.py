"""Waiting for what another process makes true, with a limit."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)
