"""Nearness in spelling: two renderings of one text in one language, such as a text and its translation there and back."""

from corpusmill.synthesize.masking import MASKS, without
from corpusmill.synthesize.verify.case import Case
from corpusmill.synthesize.verify.character_runs import chrf


def near_seed(case: Case, *, min_likeness: float) -> str | None:
    """Refuse when the chrF of the output's prose against the seed's is below `min_likeness`.

    It holds for seed and output in one language. Translations by two people of the same paragraphs reach 0.4 nearly
    always, other paragraphs about the same matter hardly ever (`benchmarks/synthesis_back_translations.py`).
    """
    return "far_from_seed" if likeness(case) < min_likeness else None


def likeness(case: Case) -> float:
    """Return the chrF of the output's prose against the seed's."""
    return chrf(without(case.output, MASKS), without(case.seed, MASKS))
