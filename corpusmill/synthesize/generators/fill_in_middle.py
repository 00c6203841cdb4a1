"""Fill-in-the-middle documents of code: no model is asked, the seed is cut where its own content says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from corpusmill.sentinels import Sentinels
from corpusmill.synthesize.asking import Finished, GivenUp, Material, Program
from corpusmill.synthesize.middle import cut, is_suffix_first, spell
from corpusmill.synthesize.prompt import DOCUMENT


@dataclass(frozen=True, kw_only=True)
class FillInMiddleGenerator:
    """One cut a document."""

    kind: ClassVar[str] = "fill_in_middle"

    min_characters: int = 8
    """Of the middle."""
    max_share: float = 0.5
    """Of the document that may be its middle."""
    suffix_first_share: float = 0.5
    """Of the documents that are given in the order suffix, prefix, middle."""
    sentinels: Sentinels = field(default_factory=Sentinels)

    def __post_init__(self) -> None:
        if self.min_characters < 1 or not 0 < self.max_share < 1 or not 0 <= self.suffix_first_share <= 1:
            raise ValueError(
                "a middle needs min_characters >= 1, 0 < max_share < 1 and 0 <= suffix_first_share <= 1, got "
                f"{self.min_characters}, {self.max_share} and {self.suffix_first_share}"
            )

    def names(self) -> set[str]:
        return {DOCUMENT}

    def program(self, material: Material) -> Program:
        yield from ()
        text = material.text
        if self.sentinels.are_in(text):
            return GivenUp(reason="holds_sentinels")
        parts = cut(text, language=material.language, min_characters=self.min_characters, max_share=self.max_share)
        if parts is None:
            return GivenUp(reason="no_middle")
        suffix_first = is_suffix_first(text, share=self.suffix_first_share)
        order = "suffix_prefix_middle" if suffix_first else "prefix_suffix_middle"
        spelled = spell(parts, self.sentinels, suffix_first=suffix_first)
        return Finished(text=spelled, meta={"order": order, "middle_characters": str(len(parts.middle))})

    def to_json(self) -> dict[str, Any]:
        names = ("min_characters", "max_share", "suffix_first_share")
        return {**{name: getattr(self, name) for name in names}, "sentinels": self.sentinels.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "sentinels": Sentinels.from_json(value["sentinels"])})
