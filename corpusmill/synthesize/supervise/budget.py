"""Budgets: what a recipe, or a queue of it, may spend, and the ledger that says when no further document is begun.

What is begun is finished, so a budget is exceeded by what is under way when it is spent: at most about a chunk of requests.
Documents are counted when they are begun, and never exceeded but by those whose answers were there already. The ledger is
pure: the same documents and answers in the same order close the same queues at the same places.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from corpusmill.synthesize.store import Spent

WHOLE = ""
"""The queue that all asks of a recipe belong to."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What may be spent on the documents of one partition; None sets no limit."""

    documents: int | None = None
    tokens: int | None = None
    """Of prompts and of answers together."""
    device_seconds: float | None = None

    def __post_init__(self) -> None:
        limits = {item.name: getattr(self, item.name) for item in fields(self)}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        if not given or not all(limit > 0 for limit in given.values()):
            raise ValueError(f"a budget needs a limit above 0 of {', '.join(limits)}, got {given or 'none'}")

    def reached(self, spent: Mapping[str, float]) -> str | None:
        """Return the first limit that is reached, if any."""
        for name, limit in asdict(self).items():
            if limit is not None and spent[name] >= limit:
                return name
        return None

    def to_json(self) -> dict[str, Any]:
        return {name: limit for name, limit in asdict(self).items() if limit is not None}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        if unknown := sorted(set(value) - {item.name for item in fields(cls)}):
            raise ValueError(f"a budget has documents, tokens and device_seconds, got {', '.join(unknown)} as well")
        return cls(**value)


@dataclass(frozen=True, kw_only=True)
class Closing:
    """That a queue's budget is spent, as it is kept: from here on it begins no document but those under way."""

    policy: str
    """Fingerprint of recipe, seeds and budgets: under another policy it is decided anew."""
    queue: str
    limit: str
    numbers: Mapping[str, float]
    """What was spent."""
    budget: Mapping[str, float]
    under_way: tuple[str, ...]
    """Documents that were begun and of which no answer was kept yet: a rerun begins them, too."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "under_way": list(self.under_way)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "under_way": tuple(value["under_way"])})

    @property
    def followed(self) -> str:
        """Say what followed."""
        spent, limit = self.numbers[self.limit], self.budget[self.limit]
        return f"{spent:g} of {limit:g} {self.limit} are spent: no further document is begun"


@dataclass(kw_only=True)
class _Account:
    """One queue's documents and what was spent on them."""

    begun: set[str] = field(default_factory=set)
    spent: Spent = field(default_factory=Spent)

    def numbers(self) -> dict[str, float]:
        return {
            "documents": len(self.begun),
            "tokens": self.spent.prompt_tokens + self.spent.completion_tokens,
            "device_seconds": self.spent.device_seconds,
        }


class Ledger:
    """What was begun and spent, and which queues are closed."""

    def __init__(self, budgets: Mapping[str, Budget], *, policy: str, closings: Iterable[Closing] = ()) -> None:
        self.closings = {kept.queue: kept for kept in closings}
        self._budgets = budgets
        self._policy = policy
        self._accounts = {queue: _Account() for queue in budgets}
        self._awaited: dict[str, str] = {}
        """Asks that begun documents wait for, with the document that asked first."""

    def begin(self, queue: str, doc_id: str, ask_ids: Collection[str], *, is_known: bool) -> bool:
        """Return whether a document may begin in a queue, by asking these; `is_known` where there are answers of it."""
        places = [place for place in (WHOLE, queue) if place in self._budgets]
        is_free = is_known or any(ask_id in self._awaited for ask_id in ask_ids)
        if not is_free and not all(self._may_begin(place, doc_id) for place in places):
            return False
        for place in places:
            self._accounts[place].begun.add(doc_id)
        if not is_known:
            for ask_id in ask_ids:
                self._awaited.setdefault(ask_id, doc_id)
        return True

    def pay(self, queue: str, ask_id: str, spent: Spent) -> None:
        """Note what an answer took."""
        self._awaited.pop(ask_id, None)
        for place in {WHOLE, queue} & self._budgets.keys():
            self._accounts[place].spent += spent

    def _may_begin(self, place: str, doc_id: str) -> bool:
        account = self._accounts[place]
        if doc_id in account.begun:
            return True
        if place not in self.closings:
            limit = self._budgets[place].reached(account.numbers())
            if limit is None:
                return True
            self.closings[place] = self._closing(place, limit)
        return doc_id in self.closings[place].under_way

    def _closing(self, place: str, limit: str) -> Closing:
        account = self._accounts[place]
        numbers = {name: value for name, value in account.numbers().items() if name in ("documents", "tokens", limit)}
        return Closing(
            policy=self._policy,
            queue=place,
            limit=limit,
            numbers=numbers,
            budget=self._budgets[place].to_json(),
            under_way=tuple(sorted(account.begun & set(self._awaited.values()))),
        )
