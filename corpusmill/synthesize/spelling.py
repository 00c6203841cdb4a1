"""Frozen values and their spelling in JSON: tuples become lists and back."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """Return a value of dataclasses, mappings and sequences as JSON spells it."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def tuples(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with its lists as tuples, as frozen values hold them."""
    return {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}
