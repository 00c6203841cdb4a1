"""How much of one text's spelling is in another: chrF, the F-score of character runs.

Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation" (WMT, aclanthology.org/W15-3049): precision and
recall of runs of 1 to 6 characters without blanks, each averaged over the lengths, recall weighted twice as much. Needs no
words, so it holds in every script; it knows spelling, not meaning.
"""

from collections import Counter

LONGEST = 6
BETA = 2.0
"""How much more recall weighs than precision: the paper's CHRF with β = 2, as it is mostly reported (chrF2)."""


def chrf(text: str, reference: str, *, longest: int = LONGEST, beta: float = BETA) -> float:
    """Return how near a text is to its reference, from 0 to 1. Lengths that one of the two does not reach do not count.

    `ab` against `abc`: of its runs a, b and ab all are in the reference, so precision is 1; they are 2 of the reference's
    3 runs of one character and 1 of its 2 of two, so recall is the mean of 2/3 and 1/2.
    """
    said, wanted = _characters(text), _characters(reference)
    longest = min(longest, len(said), len(wanted))
    if longest == 0:
        return float(said == wanted)
    pairs = [(_runs(said, size), _runs(wanted, size)) for size in range(1, longest + 1)]
    shared = [(left & right).total() for left, right in pairs]
    precision = sum(n / left.total() for n, (left, _) in zip(shared, pairs, strict=True)) / longest
    recall = sum(n / right.total() for n, (_, right) in zip(shared, pairs, strict=True)) / longest
    both = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / both if both else 0.0


def _characters(text: str) -> str:
    return "".join(text.split())


def _runs(text: str, size: int) -> Counter[str]:
    return Counter(text[at : at + size] for at in range(len(text) - size + 1))
