"""The orchestrator: routes documents between recipes by their outcomes, and obeys the supervisor's decisions.

A state machine over rows: documents that arrived, outcomes, decisions. Whoever has the rows has the state: `replay` makes
it anew after a kill, and what was taken but has no outcome is taken again. It starts nothing and waits for nothing; who
asks the engines calls `take` and tells what came of it.

Every document that arrived is waiting, or has ended as accepted, rejected with a reason, or failed with a reason.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from corpusmill.counts import Counts
from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.supervise.features import ACCEPTED, FAILED
from corpusmill.synthesize.supervise.queues import Document, Plan, Queue, Spent
from corpusmill.synthesize.supervise.rules import Action

STOPPED = "failed/stopped_by_supervisor"
SHARE_LOWERED = "failed/share_lowered"
NOT_ADMITTED = "not_admitted"


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A document for a queue."""

    document: Document
    recipe: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a recipe made of a document: reason None is accepted, `failed/...` had no answer, all else is rejected."""

    doc_id: str
    recipe: str
    reason: str | None = None
    tokens: int = 0
    device_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Order:
    """What the supervisor decided about a recipe."""

    recipe: str
    action: Action
    share: float = 1.0


Row = Arrival | Outcome | Order


class Ticket(NamedTuple):
    """Something to do next."""

    doc_id: str
    recipe: str


class Orchestrator:
    """Where every document of a run is. Applying the same rows in the same order gives the same state."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.waiting: dict[str, dict[str, Document]] = {queue.recipe: {} for queue in plan.queues}
        self.ends: dict[str, str] = {}
        """By document: ACCEPTED, or the reason why not."""
        self.spent: dict[str, Spent] = {queue.recipe: Spent() for queue in plan.queues}
        self.orders: dict[str, Order] = {}
        """The last one of each recipe that has any."""
        self.shares: dict[str, float] = {}

    @classmethod
    def replay(cls, plan: Plan, rows: Iterable[Row]) -> "Orchestrator":
        """Return the state after these rows."""
        state = cls(plan)
        for row in rows:
            state.apply(row)
        return state

    def apply(self, row: Row) -> None:
        """Take in one row. Raises ValueError for a row that cannot follow what was."""
        if isinstance(row, Arrival):
            self._arrive(row)
        elif isinstance(row, Outcome):
            self._finish(row)
        else:
            self._obey(row)

    def take(self, number: int) -> list[Ticket]:
        """Return what to do next, highest priority first and by rate among equals; the state stays as it is."""
        served = {name: spent.documents for name, spent in self.spent.items()}
        left = {name: iter(documents) for name, documents in self.waiting.items() if not self.is_paused(name)}
        tickets: list[Ticket] = []
        while left and len(tickets) < number:
            queue = min((self.plan.by_recipe[name] for name in left), key=lambda item: _turn(item, served))
            doc_id = next(left[queue.recipe], None)
            if doc_id is None or self._is_full(queue, served[queue.recipe]):
                del left[queue.recipe]
                continue
            served[queue.recipe] += 1
            tickets.append(Ticket(doc_id, queue.recipe))
        return tickets

    def is_paused(self, recipe: str) -> bool:
        return recipe in self.orders and self.orders[recipe].action == "pause"

    def counts(self) -> Counts:
        """Return the ledger of all documents; those that still wait are failed as `waiting`."""
        ends = Counter(self.ends.values())
        waiting = sum(map(len, self.waiting.values()))
        failed = {reason.removeprefix(FAILED): n for reason, n in ends.items() if reason.startswith(FAILED)}
        return Counts(
            rows_in=sum(ends.values()) + waiting,
            kept=ends[ACCEPTED],
            dropped={reason: n for reason, n in ends.items() if reason != ACCEPTED and not reason.startswith(FAILED)},
            failed={**failed, **({"waiting": waiting} if waiting else {})},
        )

    def _arrive(self, row: Arrival) -> None:
        known = row.document.doc_id in self.ends or any(row.document.doc_id in it for it in self.waiting.values())
        if known:
            raise ValueError(f"document {row.document.doc_id} arrived twice; a run sees each document once")
        self._enter(row.document, row.recipe)

    def _enter(self, document: Document, recipe: str | None, *, otherwise: str = NOT_ADMITTED) -> None:
        """Put a document into a queue, or down the chain of simpler ones to the first that takes it."""
        while recipe is not None:
            queue, last = self._queue(recipe), self.orders.get(recipe)
            action = last.action if last else "continue"
            if action == "stop":
                break
            if action != "demote" and queue.entry.admits(document):
                self._wait(document, queue)
                return
            recipe = queue.simpler
        is_refused = recipe is None or otherwise != NOT_ADMITTED
        self.ends[document.doc_id] = otherwise if is_refused else STOPPED

    def _wait(self, document: Document, queue: Queue) -> None:
        limit = queue.budget.exceeded(self.spent[queue.recipe])
        if limit is not None:
            self.ends[document.doc_id] = f"{FAILED}{limit}_spent"
        elif _place(document.doc_id, queue.recipe) >= self.shares.get(queue.recipe, 1.0):
            self.ends[document.doc_id] = SHARE_LOWERED
        else:
            self.waiting[queue.recipe][document.doc_id] = document

    def _finish(self, row: Outcome) -> None:
        queue = self._queue(row.recipe)
        document = self.waiting[row.recipe].pop(row.doc_id, None)
        if document is None:
            raise ValueError(f"document {row.doc_id} has an outcome of {row.recipe!r}, where it does not wait")
        spent = self.spent[row.recipe].plus(tokens=row.tokens, device_seconds=row.device_seconds)
        self.spent[row.recipe] = spent
        if row.reason is None and queue.next is not None:
            self._enter(document, queue.next)
        elif row.reason is not None and row.reason in queue.too_hard:
            self._enter(document, queue.simpler, otherwise=row.reason)
        else:
            self.ends[row.doc_id] = row.reason or ACCEPTED
        limit = queue.budget.exceeded(spent)
        if limit is not None:
            self._end_waiting(row.recipe, f"{FAILED}{limit}_spent")

    def _obey(self, row: Order) -> None:
        self._queue(row.recipe)
        self.orders[row.recipe] = row
        if row.action in ("stop", "demote"):
            documents = self.waiting[row.recipe]
            self.waiting[row.recipe] = {}
            for document in documents.values():
                self._enter(document, row.recipe)
        if row.action == "lower_share":
            self.shares[row.recipe] = row.share
            left_out = [name for name in self.waiting[row.recipe] if _place(name, row.recipe) >= row.share]
            for name in left_out:
                del self.waiting[row.recipe][name]
                self.ends[name] = SHARE_LOWERED

    def _end_waiting(self, recipe: str, reason: str) -> None:
        self.ends.update(dict.fromkeys(self.waiting[recipe], reason))
        self.waiting[recipe] = {}

    def _is_full(self, queue: Queue, served: int) -> bool:
        return queue.budget.documents is not None and served >= queue.budget.documents

    def _queue(self, recipe: str) -> Queue:
        if recipe not in self.plan.by_recipe:
            raise ValueError(f"there is no queue {recipe!r}; there are: {', '.join(self.plan.by_recipe)}")
        return self.plan.by_recipe[recipe]


def is_asked(doc_id: str, recipe: str, share: float) -> bool:
    """Return whether a document is among the share of a recipe's documents that is still asked; the same ones always."""
    return _place(doc_id, recipe) < share


def _turn(queue: Queue, served: Mapping[str, int]) -> tuple[int, float, str]:
    """Order queues: by priority, then by who got least of what its rate says, then by name."""
    return -queue.priority, served[queue.recipe] / queue.rate, queue.recipe


def _place(doc_id: str, recipe: str) -> float:
    """Return a place from 0 to 1 for a document of a recipe: a share is lowered to those below it."""
    return int(fingerprint(["share", recipe, doc_id])[:13], 16) / 16**13
