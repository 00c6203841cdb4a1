"""Frozen values and their spelling in JSON: tuples become lists and back."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

_Item = TypeVar("_Item")


def plain(value: Any) -> Any:
    """Return a value of dataclasses, mappings and sequences as JSON spells it."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def tuple_of(kind: type[_Item], values: Iterable[_Item], *, where: str) -> tuple[_Item, ...]:
    """Return `values` as a tuple; raises ValueError when they are one value alone, or are not all of this kind."""
    listed = tuple(values) if isinstance(values, Iterable) and not isinstance(values, str) else None
    if listed is None or not all(isinstance(item, kind) for item in listed):
        raise ValueError(f"{where} takes a tuple of {kind.__name__}, as (one,) or (one, two); got {values!r:.200}")
    return listed


def tuples(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with its lists as tuples, as frozen values hold them."""
    return {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}
