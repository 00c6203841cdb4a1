"""The course of a run: what its decisions so far mean for each seed, and in words.

Seeds are numbered in the order in which they are asked. A decision holds from the first seed that had not been begun when
it was made; which one that was is kept with it. So the fate of every seed is a function of the kept decisions, and a
rerun does with each seed what the first run did.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.supervise.rules import Action
from corpusmill.synthesize.supervise.supervisor import Decision

STOPPED = "stopped_by_supervisor"
PAUSED = "paused_by_supervisor"
SHARE_LOWERED = "share_lowered"
DEMOTED = "demoted_by_supervisor"
"""Failure of the ask that the simpler way replaces: no seed ends with it."""
BUDGET_SPENT = "budget_spent"
UNASKED = frozenset({STOPPED, PAUSED, SHARE_LOWERED, DEMOTED, BUDGET_SPENT})
"""Failures of asks that nobody was asked."""

Fate = Literal["asked", "simpler", "stopped_by_supervisor", "paused_by_supervisor", "share_lowered"]


@dataclass(frozen=True, kw_only=True)
class KeptDecision:
    """A decision with where it holds, as it is kept."""

    policy: str
    """Fingerprint of recipe, model and rules: under another policy everything is decided anew."""
    chunk: int
    action: Action
    rule: str | None
    share: float
    from_seed: int
    """The first seed that it holds for."""
    num_seeds: int
    """Of the chunk."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    queue: str = ""
    """Of a recipe that routes documents, the queue that the seeds enter."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "numbers": dict(self.numbers)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)

    @property
    def decision(self) -> Decision:
        return Decision(chunk=self.chunk, action=self.action, rule=self.rule, share=self.share, numbers=self.numbers)

    @property
    def followed(self) -> str:
        """Say what followed."""
        return {
            "continue": "the run goes on",
            "lower_share": f"from seed {self.from_seed} on {self.share:.0%} of the seeds are asked",
            "pause": f"nothing is asked from seed {self.from_seed} on until the rules are changed",
            "demote": f"from seed {self.from_seed} on the simpler way is asked",
            "stop": f"nothing is asked from seed {self.from_seed} on",
        }[self.action]


def fate(decisions: Sequence[KeptDecision], seed: int, doc_id: str, recipe: str) -> Fate:
    """Return what becomes of the seed of this number."""
    found: Fate = "asked"
    share = 1.0
    for kept in decisions:
        if kept.from_seed > seed:
            continue
        if kept.action == "stop":
            return "stopped_by_supervisor"
        if kept.action == "pause":
            return "paused_by_supervisor"
        if kept.action == "demote":
            found, share = "simpler", 1.0
        if kept.action == "lower_share":
            share = kept.share
    return found if is_asked(doc_id, recipe, share) else "share_lowered"


def is_judged(decisions: Sequence[KeptDecision], seed: int) -> bool:
    """Return whether a seed belongs to a chunk that is still to be judged, once the run has come to these decisions.

    Seeds of the first recipe that were begun when it was demoted say nothing of the simpler one.
    """
    return not any(kept.action == "demote" and seed < kept.from_seed for kept in decisions)


def is_asked(doc_id: str, recipe: str, share: float) -> bool:
    """Return whether a document is among the share of a recipe's documents that is still asked; the same ones always."""
    return int(fingerprint(["share", recipe, doc_id])[:13], 16) / 16**13 < share
