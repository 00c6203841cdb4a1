"""Repetition: a model that ran into a loop says the same few words again and again."""

import re

from corpusmill.synthesize.masking import without
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import shingles, words

_MORE_THAN_SEED = 1.5
"""A language with articles says more of the same than one without."""
_CHARACTERS_A_WORD = 3
"""Where most words are single characters (scripts without blanks, or with marks between the letters)."""
FEW = 8
_RUN = re.compile(r"(\S)\1{39,}")


def not_repetitive(case: Case, *, max_share: float = 0.3, size: int = 4) -> str | None:
    """Refuse when more than `max_share` of the runs of `size` words were said before, and half again as many as in the seed.

    A few runs say nothing, whatever their share: FEW of them may be said again in any text.

    Formulas are left out: their markup repeats itself. A character repeated 40 times is refused too, unless the seed has
    such a line.
    """
    if _RUN.search(case.output) and not _RUN.search(case.seed):
        return "repetitive"
    allowed = max(max_share, _MORE_THAN_SEED * _repeated(case.seed, size)[1])
    num_repeated, share = _repeated(case.output, size)
    return "repetitive" if share > allowed and num_repeated > FEW else None


def _repeated(text: str, size: int) -> tuple[int, float]:
    """Return how many runs of words were said before, and their share."""
    tokens = words(without(text, ("formula",)))
    if sum(len(token) == 1 for token in tokens) > len(tokens) / 2:
        size *= _CHARACTERS_A_WORD
    num_runs = len(tokens) - size + 1
    num_repeated = num_runs - len(shingles(tokens, size))
    return (num_repeated, num_repeated / num_runs) if num_runs > 0 else (0, 0.0)
