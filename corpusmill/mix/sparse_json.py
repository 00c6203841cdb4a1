"""Frozen dataclasses as JSON without the fields that hold their default.

So a field that is added with a default changes no JSON, and no version made of it, that was written before.
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any


def to_sparse_json(value: Any) -> dict[str, Any]:
    """Return a dataclass as JSON values; tuples become lists."""
    return json.loads(json.dumps(_spell(value)))


def _spell(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            item.name: _spell(held)
            for item in fields(value)
            if (held := getattr(value, item.name)) != _default(item) or _default(item) is MISSING
        }
    if isinstance(value, Mapping):
        return {name: _spell(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spell(item) for item in value]
    return value


def _default(item: Any) -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default
