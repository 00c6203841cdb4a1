"""Formulas: as many as before, and the same ones, as tolerant as human translators are.

They write 1,35 for 1.35, translate words inside a formula, move formulas in the sentence, set a bracket more, and now
and then drop one. So formulas are compared by their letters alone, in any order, and a share of a long text may be
missing or new. The numbers in them are `numbers_preserved`'s part.
"""

import html
import re
from collections import Counter

from corpusmill.synthesize.masking import protected_spans
from corpusmill.synthesize.verify.case import Case

_WORDS = re.compile(
    r"<(?P<prefix>\w{0,3}:?)mtext\b[^>]*>.*?</(?P=prefix)mtext>"
    r"|\\(?:text|mathrm|textrm|textit|textbf|operatorname|mbox|label|tag)\*?\s*\{[^{}]*\}",
    re.DOTALL,
)
_MARKUP = re.compile(
    r"<[^<>]*>|\\(?:begin|end)\{[^{}]*\}|\\(?:left|right|big|Big|displaystyle|quad|qquad|mathbf|vec|hat)(?![A-Za-z])"
    r"|\\[,;:! ()\[\]]|:math:|\.\. math::"
)
_LONG_WORD = re.compile(r"(?<!\\)[^\W\d_]{3,}")
_LETTER = re.compile(r"\\?[^\W\d_]+")


def formulas_preserved(case: Case, *, max_changed_share: float = 0.02) -> str | None:
    """Refuse when formulas are gone or new, beyond `max_changed_share` of the seed's, rounded down.

    So a text with fewer than 50 formulas must keep their number. Each must also have a partner with the same letters,
    but for one in five, where translators differ.
    """
    before, after = formulas(case.seed), formulas(case.output)
    allowed = int(max_changed_share * before.total())
    if before.total() - after.total() > allowed:
        return "formula_lost"
    if after.total() - before.total() > allowed:
        return "formula_invented"
    changed = (before - after).total()
    return "formula_changed" if changed > max(allowed, 0.2 * before.total()) else None


def formulas(text: str) -> Counter[str]:
    """Count the formulas of a text by their letters."""
    return Counter(_letters(text[start:end]) for start, end, _ in protected_spans(text, ("formula",)))


def _letters(formula: str) -> str:
    """Spell a formula by its letters: `<mi>v</mi><mo>=</mo><mn>1,35</mn><mtext>or so</mtext>` is `v`."""
    bare = html.unescape(_MARKUP.sub(" ", _WORDS.sub(" ", formula)))
    return " ".join(_LETTER.findall(_LONG_WORD.sub(" ", bare)))
