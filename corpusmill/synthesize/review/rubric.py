"""A rubric: criteria with scales and weights, how a judge is shown them, and how its answer is read.

An answer is a JSON object with a reason and a score for each criterion. Anything else is no judgement: text around it, a
criterion that is missing, unknown or there twice, a score that is no whole number of its scale.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from corpusmill.synthesize.spelling import plain

BELOW = "judged_below"
Scores = Mapping[str, int]
"""By criterion."""


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One question about a text, answered by a whole number."""

    name: str
    question: str
    """It says, too, what the lowest and the highest score mean."""
    lowest: int = 1
    highest: int = 5
    weight: float = 1.0
    minimum: int | None = None
    """A lower score refuses the text, whatever the others are."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", float(self.weight))
        if not self.name.isidentifier():
            raise ValueError(f"a criterion is named like a variable, for its scores stand under it; got {self.name!r}")
        if not self.lowest < self.highest or not self.weight > 0:
            raise ValueError(
                f"criterion {self.name!r} needs lowest < highest and a weight above 0, got {self.lowest}, "
                f"{self.highest} and {self.weight}"
            )
        if self.minimum is not None and not self.lowest <= self.minimum <= self.highest:
            raise ValueError(
                f"criterion {self.name!r} goes from {self.lowest} to {self.highest}, got a minimum of {self.minimum}"
            )

    @property
    def scale(self) -> range:
        return range(self.lowest, self.highest + 1)


@dataclass(frozen=True, kw_only=True)
class Rubric:
    """What a text is judged by."""

    criteria: tuple[Criterion, ...]
    pass_mark: float
    """The least mark that passes: 0 is the lowest score of all criteria, 1 the highest."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "criteria", tuple(self.criteria))
        object.__setattr__(self, "pass_mark", float(self.pass_mark))
        names = [criterion.name for criterion in self.criteria]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"a rubric needs criteria with different names, got {', '.join(names) or 'none'}")
        if not 0 < self.pass_mark <= 1:
            raise ValueError(f"pass_mark must be above 0 and at most 1, got {self.pass_mark}")

    def rotated(self, by: int) -> "Rubric":
        """Return the rubric with its criteria in another order: the last ones of `abc` rotated by 1 are `bca`."""
        at = by % len(self.criteria)
        return Rubric(criteria=(*self.criteria[at:], *self.criteria[:at]), pass_mark=self.pass_mark)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of a judgement; a reason comes before its score."""
        return _object({one.name: _object({"reason": _TEXT, "score": _scores(one)}) for one in self.criteria})

    def shown(self) -> str:
        """Return the criteria, and what to answer, in words."""
        lines = [f"- {one.name}, from {one.lowest} to {one.highest}: {one.question}" for one in self.criteria]
        return "\n".join([*lines, _ORDER])

    def read(self, answer: str) -> dict[str, int] | None:
        """Return the scores of an answer; None where it is no judgement."""
        try:
            value = json.loads(answer, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or value.keys() != {one.name for one in self.criteria}:
            return None
        scores = {one.name: _score(value[one.name], one) for one in self.criteria}
        return None if None in scores.values() else {name: score for name, score in scores.items() if score is not None}

    def mark(self, scores: Scores) -> float:
        """Return the mean of the scores by weight, each from 0 (lowest) to 1."""
        parts = [one.weight * (scores[one.name] - one.lowest) / (one.highest - one.lowest) for one in self.criteria]
        return sum(parts) / sum(one.weight for one in self.criteria)

    def refusal(self, scores: Scores) -> str | None:
        """Return the criterion whose minimum is not reached (`judged_below/clarity`), `judged_below`, or None."""
        low = (one for one in self.criteria if one.minimum is not None and scores[one.name] < one.minimum)
        if (first := next(low, None)) is not None:
            return f"{BELOW}/{first.name}"
        return BELOW if self.mark(scores) < self.pass_mark - _ROUNDING else None

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = plain(self)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(criteria=tuple(Criterion(**one) for one in value["criteria"]), pass_mark=value["pass_mark"])


_ROUNDING = 1e-9
_TEXT = {"type": "string"}
_ORDER = (
    "Answer with a JSON object: under the name of each criterion an object with `reason`, one sentence, and `score`, "
    "a whole number."
)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _scores(criterion: Criterion) -> dict[str, Any]:
    return {"type": "integer", "enum": list(criterion.scale)}


def _score(value: Any, criterion: Criterion) -> int | None:
    if not isinstance(value, dict) or value.keys() != {"reason", "score"} or not isinstance(value["reason"], str):
        return None
    score = value["score"]
    return score if type(score) is int and score in criterion.scale else None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's pairs; raise ValueError where a name is there twice, of which JSON would take the last."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name is there twice")
    return value
