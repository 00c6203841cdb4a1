"""A place in the program where a run stops by SIGSTOP, so that a test finds it exactly there: to kill it or to wake it.

The thread that came to the place is the one that is told: told to the process, the stop may come some calls later.
"""

import functools
import importlib
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Stop:
    """The `call`-th call of a function whose arguments mention `about`."""

    when: Literal["before", "after"]
    function: str
    """Named as module:qualified.name."""
    about: str
    call: int = 1

    def install(self) -> None:
        """Make this process stop there, once."""
        module, _, name = self.function.partition(":")
        *path, last = name.split(".")
        owner = functools.reduce(getattr, path, importlib.import_module(module))
        setattr(owner, last, self._stopping(getattr(owner, last)))

    def _stopping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        num_calls = 0

        @functools.wraps(function)
        def stopping(*args: Any, **more: Any) -> Any:
            nonlocal num_calls
            num_calls += self.about in " ".join(str(arg) for arg in args if not isinstance(arg, bytes))
            is_here = num_calls == self.call
            num_calls += is_here
            if is_here and self.when == "before":
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            result = function(*args, **more)
            if is_here and self.when == "after":
                signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
            return result

        return stopping
