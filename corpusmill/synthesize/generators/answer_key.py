"""The known answer of a worded problem: where it stands, what of the seed gives it away, and what matches it."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Self

from corpusmill.synthesize.asking import Material

_NUMBER = r"[-+]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d+)?"
_MARKED = re.compile(rf"####\s*[$€£]?\s*({_NUMBER})")
_SAID = re.compile(rf"(?<![\w.])[$€£]?({_NUMBER})(?![\w])")
RELATIVE_ERROR = Decimal("1e-9")
"""Room for floating point."""


@dataclass(frozen=True, kw_only=True)
class AnswerKey:
    """The number that a problem's answer must be: after `####` in its text, or a metadata column of the recipe."""

    metadata: str | None = None
    """The prompt name of the column (`meta_answer` for `meta.answer`); None reads it after the last `####`."""
    hides: tuple[str, ...] = ("\nSolution:", "\nAnswer:", "####")
    """From the first of these on, the text is not shown to the model."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hides", tuple(self.hides))
        if self.metadata is None and "####" not in self.hides:
            raise ValueError("the answer stands after ####, which must be one of `hides`: the model would only copy it")
        if not all(mark.strip() for mark in self.hides):
            raise ValueError(f"what hides a solution must be words or marks, got {self.hides!r}")

    def names(self) -> set[str]:
        """Return the `$name` that the recipe must give."""
        return set() if self.metadata is None else {self.metadata}

    def refuse_shown(self, asked: Collection[str]) -> None:
        """Raise ValueError when prompts that ask for these `$names` would show the model the answer."""
        if self.metadata is not None and self.metadata in asked:
            raise ValueError(f"the prompts show the model ${self.metadata}, which is the answer that it is to find")

    def expected(self, material: Material) -> Decimal | None:
        """Return the known answer, or None where there is none."""
        if self.metadata is not None:
            return _number(material.metadata.get(self.metadata, ""))
        marked = _MARKED.findall(material.text)
        return _number(marked[-1]) if marked else None

    def problem(self, material: Material) -> Material:
        """Return the material without its solution."""
        places = [at for mark in self.hides if (at := material.text.find(mark)) >= 0]
        return replace(material, text=material.text[: min(places)].rstrip()) if places else material

    def to_json(self) -> dict[str, Any]:
        return {"metadata": self.metadata, "hides": list(self.hides)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)


def last_number(text: str) -> Decimal | None:
    """Return the last number that a text says, or None."""
    found = _SAID.findall(text)
    return _number(found[-1]) if found else None


def is_answer(said: Decimal | None, expected: Decimal) -> bool:
    """Return whether a number is the expected one, but for floating point's error."""
    return said is not None and abs(said - expected) <= RELATIVE_ERROR * abs(expected)


def _number(spelled: str) -> Decimal | None:
    """Read `1,234.5`; None for what is no finite number."""
    try:
        value = Decimal(spelled.strip().lstrip("$€£").replace(",", ""))
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 100 else None
