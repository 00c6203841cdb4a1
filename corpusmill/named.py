"""Functions that travel between processes by name: `module:function`."""

import importlib
from collections.abc import Callable
from typing import Any


def split_name(name: str) -> tuple[str, str]:
    """Return module and function of `module:function`; raises ValueError for any other spelling."""
    module, _, function = name.partition(":")
    if not module or not function or ":" in function:
        raise ValueError(f"a function is named as module:function, got {name!r}")
    return module, function


def named_function(name: str) -> Callable[..., Any]:
    """Return the function that `module:function` names; raises ValueError when there is none."""
    module, function = split_name(name)
    try:
        found = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if not module.startswith(error.name or module):
            raise
        raise ValueError(f"{name!r} names no function: there is no module {error.name!r} here") from error
    except AttributeError as error:
        raise ValueError(f"{name!r} names no function: {module} has no {function!r}") from error
    if not callable(found):
        raise ValueError(f"{name!r} names a {type(found).__name__}, not a function")
    return found
