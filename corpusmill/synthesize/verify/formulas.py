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
MIN_LIKENESS = 0.5
_LETTER = re.compile(r"\\?[^\W\d_]+")


def formulas_preserved(case: Case, *, max_changed_share: float = 0.02) -> str | None:
    """Refuse when formulas are gone or new, beyond `max_changed_share` of the seed's, rounded down.

    So a text with fewer than 50 formulas must keep their number, but for a formula that was cut in two or two that became
    one. Each must also have a partner with nearly the same letters, but for one in five, where translators differ.
    """
    before, after = formulas(case.seed), formulas(case.output)
    if before[""] == after[""] and _all_letters(before) == _all_letters(after):
        return None
    allowed = int(max_changed_share * before.total())
    if before.total() - after.total() > allowed:
        return "formula_lost"
    if after.total() - before.total() > allowed:
        return "formula_invented"
    changed = _num_unlike(before - after, after - before)
    return "formula_changed" if changed > max(allowed, 0.2 * before.total()) else None


def formulas(text: str) -> Counter[str]:
    """Count the formulas of a text by their letters."""
    return Counter(_letters(text[start:end]) for start, end, _ in protected_spans(text, ("formula",)))


def _letters(formula: str) -> str:
    """Spell a formula by its letters: `<mi>v</mi><mo>=</mo><mn>1,35</mn><mtext>or so</mtext>` is `v`."""
    bare = html.unescape(_MARKUP.sub(" ", _WORDS.sub(" ", formula)))
    return " ".join(_LETTER.findall(_LONG_WORD.sub(" ", bare)))


def _all_letters(counted: Counter[str]) -> Counter[str]:
    return Counter(letter for formula in counted.elements() for letter in formula.split())


def _num_unlike(left: Counter[str], right: Counter[str]) -> int:
    """Count the formulas of `left` that have no partner in `right`, each the one that is most like it."""
    free = [Counter(formula.split()) for formula in right.elements()]
    num_unlike = 0
    for letters in (Counter(formula.split()) for formula in left.elements()):
        best = max(range(len(free)), key=lambda at: _likeness(letters, free[at]), default=None)
        if best is None or _likeness(letters, free[best]) < MIN_LIKENESS:
            num_unlike += 1
        else:
            free.pop(best)
    return num_unlike


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of letters that both have."""
    return (one & other).total() / ((one | other).total() or 1)
