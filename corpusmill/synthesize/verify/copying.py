"""Copying: a rewrite must be new in its words, or it is the seed again."""

from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import shingles, words


def not_copied(case: Case, *, max_share: float, size: int = 5) -> str | None:
    """Refuse when more than `max_share` of the output's runs of `size` words stand in the seed as well."""
    output = shingles(words(case.output), size)
    copied = output & shingles(words(case.seed), size)
    return "copied_from_seed" if len(copied) > max_share * len(output) else None
