"""Copying: a rewrite must be new in its words, or it is the seed again."""

from corpusmill.synthesize.masking import MASKS, without
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.words import shingles, words


def not_copied(case: Case, *, max_share: float, size: int = 5) -> str | None:
    """Refuse when more than `max_share` of the output's runs of `size` words stand in the seed as well.

    Formulas, code, numbers and single letters are no words here: they are to be the same. A text of fewer than `size`
    words has nothing to copy.
    """
    said = _said(case.output)
    if len(said) < size:
        return None
    output = shingles(said, size)
    copied = output & shingles(_said(case.seed), size)
    return "copied_from_seed" if len(copied) > max_share * len(output) else None


def _said(text: str) -> list[str]:
    return [
        word for word in words(without(text, MASKS)) if not word[0].isdigit() and (len(word) > 1 or word > "\u0e00")
    ]
