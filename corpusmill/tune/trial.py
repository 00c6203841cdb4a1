"""One trial: a candidate's settings, asked a sample of real prompts once. A failure is a result like any other."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

OUT_OF_MEMORY = "out_of_memory"
START_TIMEOUT = "start_timeout"
CRASH = "crash"
RUN_TIMEOUT = "run_timeout"
"""It started, and did not answer everything within its budget."""
WRONG_ANSWERS = "wrong_answers"
"""It answered fewer prompts than the baseline, or other things."""
FAILURES = (OUT_OF_MEMORY, START_TIMEOUT, CRASH, RUN_TIMEOUT, WRONG_ANSWERS)

BEGINNING_CHARACTERS = 24
"""Answers at temperature 0 begin alike, and drift apart later: batching changes the sums."""
MIN_AGREEMENT = 0.5
MAX_LOST_SHARE = 0.02
"""Of the prompts that the baseline answered."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What came of it."""

    candidate: str
    tier: int
    repeat: int
    requests: int
    answered: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    """From the first request to the last answer, the engine being warm."""
    start_seconds: float = 0.0
    agreement: float | None = None
    """Share of the baseline's answers that begin alike; None where answers are drawn by chance, and of the baseline."""
    failure: str | None = None
    """One of `FAILURES`."""
    message: str = ""
    """The last words of what failed."""
    beginnings: tuple[str, ...] = ()
    """Hash of each answer's beginning, in the order of the prompts; empty where there is no answer or it was by chance."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "beginnings", tuple(self.beginnings))
        assert self.failure in (None, *FAILURES), self.failure

    @property
    def tokens_per_second(self) -> float:
        """Output tokens a second; 0 of a failed trial."""
        return 0.0 if self.failure or not self.seconds else self.output_tokens / self.seconds

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "beginnings": list(self.beginnings)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)


def beginning(answer: str | None) -> str:
    """Return the hash of how an answer begins, empty of none."""
    if answer is None:
        return ""
    return hashlib.sha256(answer.strip()[:BEGINNING_CHARACTERS].encode("utf-8", "replace")).hexdigest()[:16]


def agreement(ours: Sequence[str], theirs: Sequence[str]) -> float | None:
    """Return the share of `theirs` (the baseline's beginnings) that ours equal; None where there are none."""
    pairs = [(one, other) for one, other in zip(ours, theirs, strict=True) if other]
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else None


def judged(trial: Trial, baseline: Trial | None) -> Trial:
    """Return the trial with its agreement, failed as `wrong_answers` where its answers are not the baseline's."""
    if baseline is None or trial.failure or baseline.failure:
        return trial
    alike = agreement(trial.beginnings, baseline.beginnings)
    lost = 1 - trial.answered / baseline.answered if baseline.answered else 0.0
    wrong = ""
    if lost > MAX_LOST_SHARE:
        wrong = f"it answered {trial.answered} prompts, the baseline {baseline.answered}"
    elif alike is not None and alike < MIN_AGREEMENT:
        wrong = f"{alike:.0%} of its answers begin as the baseline's do, at least {MIN_AGREEMENT:.0%} are wanted"
    changes = {"failure": WRONG_ANSWERS, "message": wrong} if wrong else {}
    return type(trial)(**{**trial.to_json(), "agreement": alike, **changes})
