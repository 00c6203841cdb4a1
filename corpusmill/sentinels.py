"""Sentinels of fill-in-the-middle: the three marks that say what the parts of a rearranged text are."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Sentinels:
    """What marks the parts. A tokenizer must know them as tokens of their own."""

    prefix: str = "<|fim_prefix|>"
    suffix: str = "<|fim_suffix|>"
    middle: str = "<|fim_middle|>"

    def __post_init__(self) -> None:
        if not all(self.marks) or any(one in other for one, other in permutations(self.marks, 2)):
            raise ValueError(
                f"three sentinels are needed, none of which is part of another; got {', '.join(self.marks)}"
            )

    @property
    def marks(self) -> tuple[str, str, str]:
        return self.prefix, self.suffix, self.middle

    def are_in(self, text: str) -> bool:
        return any(mark in text for mark in self.marks)

    def to_json(self) -> dict[str, str]:
        return {"prefix": self.prefix, "suffix": self.suffix, "middle": self.middle}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)


KNOWN_SENTINELS = (
    Sentinels(),
    Sentinels(prefix="<fim_prefix>", suffix="<fim_suffix>", middle="<fim_middle>"),
    Sentinels(prefix="<fim-prefix>", suffix="<fim-suffix>", middle="<fim-middle>"),
    Sentinels(prefix="<｜fim▁begin｜>", suffix="<｜fim▁hole｜>", middle="<｜fim▁end｜>"),
    Sentinels(prefix="▁<PRE>", suffix="▁<SUF>", middle="▁<MID>"),
)
"""Of the tokenizers of Qwen2.5-Coder and CodeGemma, StarCoder, SantaCoder, DeepSeek-Coder and Code Llama."""
