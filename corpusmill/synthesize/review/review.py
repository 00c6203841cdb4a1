"""What a review is: it is given a primary input and the text that was made of it, asks, and says what it found."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from corpusmill.synthesize.asking import Answer, Ask, Material

OUTPUT = "output"
"""The `$name` under which a review's prompt shows the text."""


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """What a review found."""

    reason: str | None = None
    """Why the text is refused; None lets it pass."""
    meta: Mapping[str, str] = field(default_factory=dict)
    """What was measured; it goes into the row's `meta`, whether the text is refused or not."""


Reviewing = Generator[Sequence[Ask], Sequence[Answer], Reviewed]


@runtime_checkable
class Review(Protocol):
    """A kind of review: a frozen value, replayed from its answers as programs are."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The step that asks, and what its keys in `meta` begin with."""
        ...

    def names(self) -> set[str]:
        """Return every `$name` that the recipe must give."""
        ...

    def program(self, material: Material, text: str) -> Reviewing:
        """Start the review of one text."""
        ...

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...
