"""How an engine draws an answer: part of what names a request."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How tokens are drawn. There is no seed per request: vLLM on CPUs does not survive one."""

    max_tokens: int
    temperature: float = 0.0
    """0 takes the likeliest token. Even then answers may differ between runs: batching changes the sums."""
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    """1 changes nothing; above it, tokens that were already used get less likely."""
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop", tuple(self.stop))
        for name in ("temperature", "top_p", "repetition_penalty"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.max_tokens < 1 or self.temperature < 0 or not 0 < self.top_p <= 1 or self.repetition_penalty <= 0:
            raise ValueError(
                "sampling needs max_tokens >= 1, temperature >= 0, 0 < top_p <= 1 and repetition_penalty > 0, got "
                f"{self.max_tokens}, {self.temperature}, {self.top_p} and {self.repetition_penalty}"
            )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "stop": list(self.stop)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)
