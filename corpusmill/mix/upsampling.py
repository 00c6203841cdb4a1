"""How the buckets of a component share its tokens: better ones more, by a curve or by given factors.

A packed sequence holds pieces of many documents, so a mixture cannot pick documents out of a table any more: buckets are
partitions, or tables, that were made apart (by quality, or by how many duplicates a document had).

The curve is a power, f(x) = h ((x - a) / (1 - a))^p over the share x of tokens that are worse, 0 below a; h is the cap on
epochs and p follows from the tokens wanted, so that the integral is kept: (1 - a) h / (p + 1) = mean epochs. It is the
truncated power-exponential of Olmo 3 (arXiv 2512.13961, section 3.4 and appendix A.2; a = 0.4, h = 7) without the
exponential, which leaves nothing to be fitted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from corpusmill.mix.apportion import exact
from corpusmill.mix.kinds import check_kinds

_DIGITS = 12
"""Powers are rounded to this many digits, so that two processors plan the same."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """Documents of one quality, or of one number of duplicates."""

    name: str
    partitions: tuple[str, ...] | None = None
    """As a component's; None is all."""
    table: str | None = None
    """Its own table; None is the component's."""
    factor: float | None = None
    """How often it is read in relation to the others; None for all buckets takes the curve."""

    def __post_init__(self) -> None:
        check_kinds(self, what=f"bucket {self.name!r}")
        if self.factor is not None and not 0 <= self.factor < float("inf"):
            raise ValueError(f"bucket {self.name!r}: factor must be a number from 0, got {self.factor!r}")


@dataclass(frozen=True, kw_only=True)
class Upsampling:
    """A component's buckets, worst first."""

    buckets: tuple[Bucket, ...]
    drop_below: float = 0.0
    """Share of the component's tokens, the worst of them, that the curve leaves out."""

    def __post_init__(self) -> None:
        check_kinds(self, what="upsampling")
        names = [bucket.name for bucket in self.buckets]
        if len(names) < 2 or len({*names}) < len(names):
            raise ValueError(f"upsampling needs at least two buckets with different names, got {names}")
        given = [bucket.factor for bucket in self.buckets if bucket.factor is not None]
        if given and (len(given) < len(names) or not any(given)):
            raise ValueError(f"give all buckets a factor, one at least above 0, or none; got {given} for {names}")
        if not 0 <= self.drop_below < 1 or (given and self.drop_below):
            raise ValueError(
                f"drop_below must be a share from 0 to less than 1, and 0 where buckets have factors, got {self.drop_below}"
            )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Upsampling":
        buckets = tuple(
            Bucket(**{**item, "partitions": None if item.get("partitions") is None else tuple(item["partitions"])})
            for item in value["buckets"]
        )
        return cls(**{**value, "buckets": buckets})


def most_tokens(upsampling: Upsampling, tokens: Sequence[int], *, max_epochs: Fraction) -> Fraction:
    """Return the most tokens that buckets which hold `tokens` give together without any being read more than that."""
    if upsampling.buckets[0].factor is None:
        return max_epochs * sum(tokens) * (1 - exact(upsampling.drop_below))
    factors = _factors(upsampling)
    return max_epochs * sum(map(Fraction.__mul__, factors, map(Fraction, tokens))) / max(factors)


def bucket_shares(
    upsampling: Upsampling, tokens: Sequence[int], *, wanted: Fraction, max_epochs: Fraction
) -> list[Fraction]:
    """Return each bucket's share of the `wanted` tokens, at most `most_tokens`; they sum to 1."""
    if upsampling.buckets[0].factor is not None:
        parts = [factor * held for factor, held in zip(_factors(upsampling), tokens, strict=True)]
    else:
        parts = _under_curve(upsampling, tokens, wanted=wanted, max_epochs=max_epochs)
    total = sum(parts)
    return [part / total for part in parts]


def _under_curve(
    upsampling: Upsampling, tokens: Sequence[int], *, wanted: Fraction, max_epochs: Fraction
) -> list[Fraction]:
    """Return the curve's integral over each bucket, as a share: u^(p+1) at its better end less that at its worse one."""
    cut = exact(upsampling.drop_below)
    power = most_tokens(upsampling, tokens, max_epochs=max_epochs) / wanted
    ends = [Fraction(end, sum(tokens)) for end in accumulate(tokens, initial=0)]
    reached = [max(Fraction(0), (end - cut) / (1 - cut)) for end in ends]
    raised = [u if power <= 1 else Fraction(f"{float(u) ** float(power):.{_DIGITS}g}") for u in reached]
    return [after - before for before, after in pairwise(raised)]


def _factors(upsampling: Upsampling) -> list[Fraction]:
    return [exact(bucket.factor or 0) for bucket in upsampling.buckets]
