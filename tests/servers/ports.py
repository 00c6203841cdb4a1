"""Free TCP ports for servers that tests start."""

import ctypes
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack

_PR_SET_PDEATHSIG = 1


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listened on a moment ago, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [item.getsockname()[1] for item in sockets]


def answers(port: int) -> bool:
    """Say whether something accepts connections on the port."""
    with socket.socket() as item:
        item.settimeout(1)
        return item.connect_ex(("127.0.0.1", port)) == 0


def end_with_parent(number: int) -> None:
    """Called in a new child on Linux: have this signal sent to it when its parent is gone, killed or not."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


class ServerStartError(RuntimeError):
    """A server of a test ended or stayed silent."""


def wait_until(is_ready: Callable[[], bool], *, is_alive: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Poll until a server is ready; raises ServerStartError when it ends first or takes too long."""
    import time

    deadline = time.monotonic() + seconds
    while not is_ready():
        if not is_alive():
            raise ServerStartError(f"{what} ended before it was ready")
        if time.monotonic() > deadline:
            raise ServerStartError(f"{what} was not ready within {seconds:.0f} s")
        time.sleep(0.05)
