"""Whether what a person sets a rule to is of the kind that the rule takes, by the type of its field."""

import types
from collections.abc import Mapping
from typing import Any, get_args, get_origin

_KINDS = {bool: "true or false", str: "text", int: "a number", float: "a number", types.NoneType: "nothing"}


def check_value(name: str, value: Any, hint: Any) -> None:
    """Raise ValueError where the rule `name` of type `hint` cannot be `value`."""
    if not _fits(value, hint):
        raise ValueError(f"the rule {name} must be {_spelled(hint)}, got {value!r}")


def _fits(value: Any, hint: Any) -> bool:
    arguments = get_args(hint)
    if hint is Any:
        return True
    if get_origin(hint) is types.UnionType:
        return any(_fits(value, one) for one in arguments)
    if get_origin(hint) is tuple:
        return isinstance(value, (list, tuple)) and all(_fits(one, arguments[0]) for one in value)
    if get_origin(hint) is Mapping:
        return isinstance(value, Mapping) and all(_fits(one, arguments[1]) for one in value.values())
    if hint in (int, float):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    return isinstance(value, hint)


def _spelled(hint: Any) -> str:
    arguments = get_args(hint)
    if get_origin(hint) is types.UnionType:
        return " or ".join(_spelled(one) for one in arguments)
    if get_origin(hint) is tuple:
        return f"a list, each {_spelled(arguments[0])}"
    if get_origin(hint) is Mapping:
        return f"an object, each value {_spelled(arguments[1])}"
    return _KINDS.get(hint, "anything")
