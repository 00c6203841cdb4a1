"""What is asked for: components with weights in tokens and epoch caps, and a budget. Not what the lake has."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Component:
    """One source of a mixture: partitions of a tokenized table."""

    name: str
    table: str
    """A table of packed sequences, for example `tokenized/web/sequences`."""
    weight: float
    """Share of the mixture's tokens, relative to the weights of the other components."""
    max_epochs: float = 1.0
    """How often its tokens may be read at most; need not be whole."""
    partitions: tuple[str, ...] | None = None
    """The partitions to read; None is all that are committed when the plan is made."""

    def __post_init__(self) -> None:
        if not _is_number(self.weight) or self.weight < 0:
            raise ValueError(f"component {self.name!r}: weight must be a number above 0, got {self.weight!r}")
        if not _is_number(self.max_epochs) or self.max_epochs <= 0:
            raise ValueError(f"component {self.name!r}: max_epochs must be a number above 0, got {self.max_epochs!r}")
        if self.partitions is not None and (not self.partitions or len({*self.partitions}) < len(self.partitions)):
            raise ValueError(
                f"component {self.name!r}: partitions must be different names, got {self.partitions}; "
                "leave them out to read all"
            )


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """What a training run is to read."""

    name: str
    components: tuple[Component, ...]
    sequence_length: int
    budget_tokens: int | None = None
    """Tokens to plan; None is as many as the epoch caps allow."""
    seed: int = 0

    def __post_init__(self) -> None:
        names = [component.name for component in self.components]
        if not names or len({*names}) < len(names):
            raise ValueError(f"mixture {self.name!r}: needs components with different names, got {names}")
        if sum(component.weight for component in self.components) == 0:
            raise ValueError(f"mixture {self.name!r}: weights must not sum to 0, got 0 for each of {names}")
        unweighted = [component.name for component in self.components if component.weight == 0]
        if unweighted:
            raise ValueError(f"mixture {self.name!r}: {unweighted} have weight 0; leave them out or give them a weight")
        if self.sequence_length < 1:
            raise ValueError(f"mixture {self.name!r}: sequence_length must be at least 1, got {self.sequence_length}")
        if self.budget_tokens is not None and self.budget_tokens < 1:
            raise ValueError(f"mixture {self.name!r}: budget_tokens must be at least 1, got {self.budget_tokens}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Mixture":
        components = tuple(
            Component(**{**item, "partitions": None if item.get("partitions") is None else tuple(item["partitions"])})
            for item in value["components"]
        )
        return cls(**{**value, "components": components})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
