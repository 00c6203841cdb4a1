"""Whole numbers in given proportions that add up exactly (Hamilton's largest remainders)."""

from collections.abc import Sequence
from fractions import Fraction


def apportion(total: int, *, shares: Sequence[Fraction]) -> list[int]:
    """Return whole parts of `total`, each within one of its exact share; they sum to `total`.

    Shares are relative: they need not sum to 1. Ties go to the lower number.
    """
    whole = sum(shares)
    if whole <= 0 or min(shares) < 0:
        raise ValueError(f"shares must not be negative nor sum to 0, got {[float(share) for share in shares]}")
    exact = [total * share / whole for share in shares]
    parts = [int(part) for part in exact]
    by_remainder = sorted(range(len(parts)), key=lambda number: (parts[number] - exact[number], number))
    for number in by_remainder[: total - sum(parts)]:
        parts[number] += 1
    return parts


def exact(number: float) -> Fraction:
    """Return the number as it is written: 0.1 is one tenth."""
    return Fraction(repr(number))
