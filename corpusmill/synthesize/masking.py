"""Formulas and code set aside: what a model must not touch is shown to it as ⟦F1⟧ or ⟦C1⟧ and put back afterwards.

Also where formulas and code are in a text, for the verifiers that compare them. Every pattern is bounded, so one pass
costs linear time. A text that already holds something like ⟦F1⟧ gets it masked like a formula: nothing can be confused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_GIVEN = r"⟦[FC]\d{1,6}⟧"

MASKS: dict[str, tuple[str, ...]] = {
    "code": (
        _GIVEN,
        r"^```[^\n]{0,80}\n(?:(?!```)[^\n]{0,2000}\n){0,400}```[ \t]*$",
        r"^(?:[ \t]*>>>[^\n]{0,2000}(?:\n[ \t]*\S[^\n]{0,2000}){0,400})",
        r"``[^`\n]{1,300}``",
        r"(?<![`:])`[^`\n]{1,300}`(?!`)",
    ),
    "formula": (
        _GIVEN,
        r"<(?P<prefix>[a-z]{0,3}:?)math[ >](?:(?!<(?P=prefix)math[ >]).){0,20000}?</(?P=prefix)math>",
        r"\\begin\{(?P<env>(?:equation|align|gather|multline|eqnarray|displaymath|math)\*?)\}(?:(?!\\begin\{(?P=env)\}).){0,5000}?\\end\{(?P=env)\}",
        r"(?<!\\)\$\$[^$]{1,5000}\$\$",
        r"\\\[(?:(?!\\\[).){1,5000}?\\\]",
        r"\\\((?:(?!\\\().){1,2000}?\\\)",
        r":math:`[^`]{1,2000}`",
        r"^[ \t]*\.\. math::[^\n]{0,2000}(?:\n[ \t]*\n?[ \t]{2,}\S[^\n]{0,2000}){0,60}",
        r"(?<![\\$\w])\$(?![\s$])[^$\n]{0,600}(?<![\s\\])\$(?![\d$])",
    ),
}
"""Patterns by kind, tried in this order at each place. A dollar sign of a price opens no formula (Pandoc's rule)."""

_LETTER = {"formula": "F", "code": "C"}
_PATTERNS = {
    kind: re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE | re.DOTALL)
    for kind, patterns in MASKS.items()
}
PLACEHOLDER = re.compile(r"⟦\s*([FC])\s*(\d{1,6})\s*⟧")


@dataclass(frozen=True, kw_only=True)
class Masked:
    """A text with placeholders, and what stood in the place of each."""

    text: str
    originals: dict[str, str]


def protected_spans(text: str, kinds: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return the disjoint spans (start, end, kind) of `text` that are of one of `kinds`, in order; code goes first."""
    taken: list[tuple[int, int, str]] = []
    wanted = set(kinds)
    for kind in (kind for kind in MASKS if kind in wanted):
        found = [(match.start(), match.end(), kind) for match in _PATTERNS[kind].finditer(text)]
        taken = _merge(taken, found)
    return taken


def mask(text: str, kinds: Iterable[str]) -> Masked:
    """Return `text` with every protected span replaced by a numbered placeholder."""
    pieces, originals, at = [], {}, 0
    for number, (start, end, kind) in enumerate(protected_spans(text, kinds), start=1):
        placeholder = f"⟦{_LETTER[kind]}{number}⟧"
        originals[placeholder] = text[start:end]
        pieces += [text[at:start], placeholder]
        at = end
    return Masked(text="".join([*pieces, text[at:]]), originals=originals)


def unmask(answer: str, originals: dict[str, str]) -> tuple[str, str | None]:
    """Return the answer with the originals in place, and `formula_lost` unless each came back exactly once.

    Blanks inside the brackets and another order are forgiven: translators move formulas too. A placeholder that was
    never given stays as it is.
    """
    found = Counter(_spelled(match) for match in PLACEHOLDER.finditer(answer))
    restored = PLACEHOLDER.sub(lambda match: originals.get(_spelled(match), match.group()), answer)
    return restored, None if found == Counter(originals.keys()) else "formula_lost"


def without(text: str, kinds: Iterable[str]) -> str:
    """Return the prose of a text: protected spans of `kinds` replaced by one blank."""
    pieces, at = [], 0
    for start, end, _ in protected_spans(text, kinds):
        pieces.append(text[at:start])
        at = end
    return " ".join([*pieces, text[at:]])


def _spelled(match: re.Match[str]) -> str:
    return f"⟦{match.group(1)}{match.group(2)}⟧"


def _merge(taken: Sequence[tuple[int, int, str]], found: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return both in order, without those of `found` that overlap one of `taken`."""
    merged = list(taken)
    at = 0
    for span in found:
        while at < len(taken) and taken[at][1] <= span[0]:
            at += 1
        if at == len(taken) or taken[at][0] >= span[1]:
            merged.append(span)
    return sorted(merged)
