"""Whether a value that a person wrote holds in each field what the field is declared to hold.

A lone text where a tuple is wanted would be read letter by letter, and a number as text fails far from who wrote it, or never.
"""

import functools
import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin, get_type_hints

_SPELLED = {str: "a str", int: "an int", float: "a number", bool: "a bool", types.NoneType: "None"}


def check_kinds(value: Any, *, what: str) -> None:
    """Raise ValueError for the first field of a dataclass that does not hold what it declares; `what` names the value."""
    for name, hint in _hints(value.__class__).items():
        held = getattr(value, name)
        if not _fits(held, hint):
            raise ValueError(f"{what}: {name} must be {_spelled(hint)}, got {held!r:.200}{_meant(held, hint)}")


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(held: Any, hint: Any) -> bool:
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        return any(_fits(held, one) for one in arguments)
    if get_origin(hint) is tuple:
        is_listed = isinstance(held, tuple | list)
        if arguments[-1] is ...:
            return is_listed and all(_fits(one, arguments[0]) for one in held)
        return is_listed and len(held) == len(arguments) and all(map(_fits, held, arguments))
    if get_origin(hint) is Mapping:
        return isinstance(held, Mapping) and all(
            _fits(name, arguments[0]) and _fits(one, arguments[1]) for name, one in held.items()
        )
    if hint in (int, float):
        return isinstance(held, int | hint) and not isinstance(held, bool)
    return isinstance(held, hint)


def _spelled(hint: Any) -> str:
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        return " or ".join(map(_spelled, arguments))
    if get_origin(hint) is tuple:
        if arguments[-1] is ...:
            return f"a tuple of {getattr(arguments[0], '__name__', arguments[0])}"
        return f"a tuple of {' and '.join(map(_spelled, arguments))}"
    if get_origin(hint) is Mapping:
        return f"a mapping from {_spelled(arguments[0])} to {_spelled(arguments[1])}"
    return _SPELLED.get(hint, f"a {getattr(hint, '__name__', hint)}")


def _meant(held: Any, hint: Any) -> str:
    """Return how to write one value alone where a tuple is wanted."""
    tuples = [one for one in (hint, *get_args(hint)) if get_origin(one) is tuple and get_args(one)[-1] is ...]
    return "; a tuple of one is (one,)" if any(_fits(held, get_args(one)[0]) for one in tuples) else ""
