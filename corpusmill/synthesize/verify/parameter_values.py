"""Which values a verifier's parameter can have, by its annotation and its name: a wrong one would fail after the asking."""

from typing import Any, Literal, get_args, get_origin

_NAMES = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}


def wanted_instead(name: str, value: Any, annotation: Any) -> str | None:
    """Return in words what a parameter must be, or None when `value` is that.

    Numbers are not negative, and a `share` is at most 1. An annotation of other things than flags, numbers, texts, a few
    texts and None takes anything.
    """
    if get_origin(annotation) is Literal:
        return None if value in get_args(annotation) else f"one of {', '.join(get_args(annotation))}"
    kinds = get_args(annotation) or (annotation,)
    if not all(kind in _NAMES or kind is type(None) for kind in kinds) or any(_is_one(value, kind) for kind in kinds):
        return _wanted_range(name, value)
    return " or ".join(_NAMES.get(kind, "None") for kind in kinds)


def _is_one(value: Any, kind: type) -> bool:
    """Whether a value is of a kind; a whole number is a number too, and True is none."""
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _wanted_range(name: str, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if name.endswith("share") and not 0 <= value <= 1:
        return "a share from 0 to 1"
    return None if value >= 0 else "a number that is at least 0"
