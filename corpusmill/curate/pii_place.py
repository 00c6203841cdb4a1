"""A candidate with what stands around it, and whether a word announces it."""

import re
from dataclasses import dataclass

_SAME_CLAUSE = re.compile(r"[^\d\n]*")

Found = tuple[str, int, int]
"""Kind and half-open span, in characters counted from the start of the candidate's body; a span may begin before it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A candidate's text, up to 64 bytes before it and up to 64 behind it."""

    before: str
    body: str
    after: str

    def is_announced(self, words: re.Pattern[str]) -> bool:
        """Return whether a pattern of `announcing` ends right before the body."""
        nearest = _SAME_CLAUSE.match(self.before[::-1])
        assert nearest is not None
        clause = nearest[0][::-1]
        return len(clause) > 2 and words.search(clause) is not None


def announcing(words: str) -> re.Pattern[str]:
    """Return a pattern for one of the words (`a|b`) with at most 24 characters up to the number, none of them a digit.

    `SSN: 12`, `my passport number is 12`.
    """
    return re.compile(rf"(?<!\w)(?:{words})(?!\w).{{0,24}}\Z", re.IGNORECASE)
