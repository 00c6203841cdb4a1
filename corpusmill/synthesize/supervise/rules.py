"""What a supervisor may decide, by which rule and with which thresholds. Policy: an asset may set every one of them.

Two things must come together before a rule acts: the numbers are too unlikely to be chance, and the change is large
enough to matter. The first bounds false alarms over a run of any length; the second keeps real but harmless changes, such
as a corpus that turns from one subject to another, from stopping anything.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self, get_args

Action = Literal["continue", "lower_share", "pause", "demote", "stop"]
"""Mildest first. `demote`: the remaining seeds go to the simpler recipe; where there is none, the recipe stops."""

RULES: Mapping[str, Action] = {
    "accept_below_floor": "demote",
    "accept_fell": "demote",
    "accept_waned": "lower_share",
    "reason_rose": "demote",
    "too_many_alike": "demote",
    "grew_alike": "demote",
    "spread_fell": "demote",
    "same_edges": "lower_share",
    "left_seeds": "demote",
    "drifted": "demote",
    "lost_likeness": "demote",
    "lengths_shifted": "pause",
    "cost_above_ceiling": "lower_share",
    "failing": "pause",
}
"""Every rule and what it does by default."""


@dataclass(frozen=True, kw_only=True)
class SupervisionRules:
    """When a recipe is slowed, paused, exchanged or stopped."""

    false_alarm: float = 3e-4
    """At most so likely is it that a generator which does not change is ever acted on, however long the run: each look at
    the numbers gets a part of this, and the parts of infinitely many looks add up to it."""
    windows: tuple[int, ...] = (1, 2, 3, 8)
    """How many of the last chunks are looked at together: few see a break at once, many a small change at last."""
    reference_outputs: int = 1024
    """The run's first so many outputs are what later ones are compared with."""
    min_reference_outputs: int = 32
    """Nothing is compared with fewer."""
    min_accept_rate: float = 0.01
    """Below it a recipe is not worth its tokens: 100 answers for one document."""
    accept_fall: float = 0.5
    """The accept rate has fallen when it is at most this part of the early one."""
    accept_wane: float = 0.75
    """The same for the milder rule."""
    reason_rise: float = 0.3
    """A reason has risen when its share of the outputs is higher by so much."""
    alike_overlap: float = 0.2
    """Two outputs are alike when their runs of three words have at least this Jaccard, beyond what their seeds share."""
    max_alike_share: float = 0.5
    """More pairs alike than this are a template, even where the run began so."""
    shift: float = 0.3
    """Lengths, openings, spread or closeness have shifted when at least this share of outputs (or pairs) lies where it did
    not lie before."""
    min_seed_closeness: float = 0.3
    """Outputs that were not even so close to their seeds at the start, such as translations, cannot leave them: of those it
    is watched whether what is written from like seeds stays alike."""
    likeness_fall: float = 0.2
    """Likeness is lost where it is lower by so much than it was on average: other subjects alone move it by less."""
    max_tokens_per_accepted_token: float | None = None
    """Prompt and output tokens for one output token of an accepted document; None sets no ceiling."""
    max_failed_share: float = 0.5
    """More outputs without any answer are the engine's trouble, not the recipe's."""
    lower_share_to: float = 0.5
    """What `lower_share` leaves of the remaining seeds."""
    min_share: float = 0.25
    """Where `lower_share` would go below it, the recipe is demoted instead."""
    actions: Mapping[str, Action] = field(default_factory=dict)
    """What a rule does where it is not what RULES says; `continue` only notes it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "windows", tuple(self.windows))
        for name in ("false_alarm", "accept_fall", "accept_wane", "reason_rise", "shift", "lower_share_to"):
            _check_between(name, getattr(self, name), above=0.0)
        for name in (
            "min_accept_rate",
            "alike_overlap",
            "max_alike_share",
            "max_failed_share",
            "min_share",
            "min_seed_closeness",
            "likeness_fall",
        ):
            _check_between(name, getattr(self, name))
        if not self.windows or min(self.windows) < 1:
            raise ValueError(f"windows must be at least one number of chunks, each 1 or more, got {self.windows}")
        if self.min_reference_outputs < 2 or self.reference_outputs < self.min_reference_outputs:
            raise ValueError(
                "rules need 2 <= min_reference_outputs <= reference_outputs, got "
                f"{self.min_reference_outputs} and {self.reference_outputs}"
            )
        if self.max_tokens_per_accepted_token is not None and self.max_tokens_per_accepted_token < 1:
            raise ValueError(
                "max_tokens_per_accepted_token counts the accepted token too, so it must be at least 1 or None, got "
                f"{self.max_tokens_per_accepted_token}"
            )
        _check_actions(self.actions)

    def action(self, rule: str) -> Action:
        """Return what follows when a rule acts."""
        return self.actions.get(rule, RULES[rule])

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "windows": list(self.windows), "actions": dict(self.actions)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote, or some of it. Raises ValueError for a field that does not exist."""
        fields = cls.__dataclass_fields__
        if unknown := sorted(set(value) - set(fields)):
            raise ValueError(f"supervision has no {', '.join(unknown)}; there are: {', '.join(fields)}")
        return cls(**value)


def _check_between(name: str, value: float, *, above: float | None = None) -> None:
    if not 0 <= value <= 1 or value == above:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")


def _check_actions(actions: Mapping[str, Action]) -> None:
    if unknown := sorted(set(actions) - set(RULES)):
        raise ValueError(f"there is no rule {', '.join(unknown)}; there are: {', '.join(RULES)}")
    for rule, action in actions.items():
        if action not in get_args(Action):
            raise ValueError(f"rule {rule} cannot {action!r}; there are: {', '.join(get_args(Action))}")
