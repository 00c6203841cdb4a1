"""Recipes as queues: who may enter, where a document goes from there, in which order queues are served, and their budgets.

A policy, checked when it is made: every queue that another one names exists, and no document can go round in a circle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Document:
    """What entry conditions look at."""

    doc_id: str
    characters: int
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Which documents a queue takes."""

    languages: tuple[str, ...] = ()
    """Empty takes all."""
    min_characters: int = 0
    max_characters: int | None = None

    def admits(self, document: Document) -> bool:
        """Return whether a document may enter."""
        fits = self.max_characters is None or document.characters <= self.max_characters
        speaks = not self.languages or document.language in self.languages
        return fits and speaks and document.characters >= self.min_characters


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a queue may spend; None sets no limit. What is begun when a limit is reached is still finished."""

    documents: int | None = None
    tokens: int | None = None
    device_seconds: float | None = None

    def exceeded(self, spent: "Spent") -> str | None:
        """Return which limit is reached, if any."""
        for name in ("documents", "tokens", "device_seconds"):
            limit = getattr(self, name)
            if limit is not None and getattr(spent, name) >= limit:
                return name
        return None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What a queue has spent so far."""

    documents: int = 0
    tokens: int = 0
    device_seconds: float = 0.0

    def plus(self, *, tokens: int, device_seconds: float) -> "Spent":
        return Spent(
            documents=self.documents + 1,
            tokens=self.tokens + tokens,
            device_seconds=self.device_seconds + device_seconds,
        )


@dataclass(frozen=True, kw_only=True)
class Queue:
    """One recipe with its conditions. A rejected document leaves for good unless its reason says it was too hard."""

    recipe: str
    entry: Entry = Entry()
    next: str | None = None
    """Where accepted documents go on; None ends them as accepted."""
    simpler: str | None = None
    """Where documents go that this recipe is too hard for, and those that it does not admit."""
    too_hard: frozenset[str] = frozenset()
    """Reasons of rejection that say so, such as `cut_off`."""
    priority: int = 0
    """The highest is served first, as long as it has documents."""
    rate: float = 1.0
    """Documents for each of the others', among queues of one priority."""
    budget: Budget = Budget()

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise ValueError(
                f"queue {self.recipe!r} needs a rate above 0, got {self.rate}; to ask nothing leave it out"
            )
        if self.too_hard and self.simpler is None:
            raise ValueError(f"queue {self.recipe!r} says what is too hard but names no simpler queue")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All queues of a run."""

    queues: Sequence[Queue]
    by_recipe: Mapping[str, Queue] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [queue.recipe for queue in self.queues]
        if not names or len({*names}) != len(names):
            raise ValueError(f"a plan needs at least one queue and each recipe once, got {names}")
        object.__setattr__(self, "by_recipe", {queue.recipe: queue for queue in self.queues})
        for queue in self.queues:
            for way in filter(None, (queue.next, queue.simpler)):
                if way not in self.by_recipe:
                    raise ValueError(f"queue {queue.recipe!r} leads to {way!r}; there are: {', '.join(names)}")
        for name in names:
            self._check_ends(name, ())

    def _check_ends(self, recipe: str, path: tuple[str, ...]) -> None:
        if recipe in path:
            raise ValueError(f"documents would go round in a circle: {' > '.join((*path, recipe))}")
        queue = self.by_recipe[recipe]
        for way in filter(None, (queue.next, queue.simpler)):
            self._check_ends(way, (*path, recipe))
