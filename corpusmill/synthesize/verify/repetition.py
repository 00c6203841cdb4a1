"""Repetition: a model that ran into a loop says the same few words again and again."""

import re

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import shingles, words

_RUN = re.compile(r"(\S)\1{39,}")


def not_repetitive(case: Case, *, max_share: float = 0.3, size: int = 4) -> str | None:
    """Refuse when more than `max_share` of the runs of `size` words were said before, and more than in the seed.

    A character repeated 40 times is refused too, unless the seed has such a line.
    """
    if _RUN.search(case.output) and not _RUN.search(case.seed):
        return "repetitive"
    allowed = max(max_share, _repeated_share(case.seed, size))
    return "repetitive" if _repeated_share(case.output, size) > allowed else None


def _repeated_share(text: str, size: int) -> float:
    tokens = words(text)
    num_runs = len(tokens) - size + 1
    return 1 - len(shingles(tokens, size)) / num_runs if num_runs > 0 else 0.0
