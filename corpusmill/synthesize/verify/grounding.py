"""Grounding: a rewrite in the same language speaks of what the seed speaks of, and brings in little else."""

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import words

_STEM = 5


def grounded(case: Case, *, min_share: float, min_letters: int = 5) -> str | None:
    """Refuse when less than `min_share` of the output's different long words are in the seed.

    Words are compared by their first five letters, so that another ending is the same word.
    """
    output, seed = _stems(case.output, min_letters), _stems(case.seed, min_letters)
    return "not_grounded" if not output or len(output & seed) < min_share * len(output) else None


def _stems(text: str, min_letters: int) -> set[str]:
    return {word[:_STEM] for word in words(text) if len(word) >= min_letters}
