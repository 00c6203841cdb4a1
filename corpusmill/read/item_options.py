"""What `[sources.benchmarks]` may say beside its place: which columns of the files hold the items of a benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

SOURCE = "benchmarks"


@dataclass(frozen=True, kw_only=True)
class ItemOptions:
    """Which columns hold what."""

    text_columns: tuple[str, ...] = ("text", "question", "prompt")
    answer_columns: tuple[str, ...] = ()
    item_columns: tuple[str, ...] = ("item", "task_id", "id")
    benchmark_column: str = "benchmark"

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> Self:
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(value) - set(known)):
            raise ValueError(f"unknown option {', '.join(unknown)} of [sources.{SOURCE}]; known are {', '.join(known)}")
        given: dict[str, Any] = {name: tuple(it) if isinstance(it, list) else it for name, it in value.items()}
        return cls(**given)
