"""The ledger of a stage: every row that came in is kept, dropped for a reason or failed for a reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MOST_REASONS = 3
"""Told in a line of progress; all of them stand on the asset."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Rows of one stage. `rows_in == kept + sum(dropped) + sum(failed)` holds, or `check` says by how much it does not."""

    rows_in: int = 0
    kept: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            rows_in=self.rows_in + other.rows_in,
            kept=self.kept + other.kept,
            dropped=_add(self.dropped, other.dropped),
            failed=_add(self.failed, other.failed),
        )

    @property
    def num_dropped(self) -> int:
        return sum(self.dropped.values())

    @property
    def num_failed(self) -> int:
        return sum(self.failed.values())

    @property
    def unaccounted(self) -> int:
        """Rows that came in and are nowhere; negative when rows appeared from nowhere."""
        return self.rows_in - self.kept - self.num_dropped - self.num_failed

    def check(self) -> None:
        """Raise ValueError when a row is unaccounted for."""
        if self.unaccounted:
            raise ValueError(
                f"rows in must equal kept + dropped + failed, got {self.rows_in} in, {self.kept} kept, "
                f"{self.num_dropped} dropped, {self.num_failed} failed: {self.unaccounted} unaccounted for"
            )

    def to_json(self) -> dict[str, Any]:
        return {
            "rows_in": self.rows_in,
            "kept": self.kept,
            "dropped": dict(sorted(self.dropped.items())),
            "failed": dict(sorted(self.failed.items())),
        }

    def totals(self) -> dict[str, int]:
        """Return the four numbers without the reasons."""
        return {
            "rows_in": self.rows_in,
            "kept": self.kept,
            "dropped": self.num_dropped,
            "failed": self.num_failed,
        }

    def told(self) -> dict[str, str]:
        """Return what a person should see of rows that were not kept: how many, and the most frequent reasons."""
        told = {"kept": f"{self.kept:,} of {self.rows_in:,}"} if self.kept < self.rows_in else {}
        for name, reasons in (("dropped", self.dropped), ("failed", self.failed)):
            if total := sum(reasons.values()):
                told[name] = f"{total:,}: {_most_frequent(reasons)}"
        return told

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Counts":
        return cls(**value)


def count_reasons(reasons: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each reason stands in a column; null is no reason."""
    return {item["values"]: item["counts"] for item in pc.value_counts(reasons.drop_null()).to_pylist()}


def _most_frequent(reasons: Mapping[str, int]) -> str:
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    shown = " + ".join(f"{reason} {number:,}" for reason, number in ordered[:MOST_REASONS] if number)
    return shown + (" + ..." if len(ordered) > MOST_REASONS else "")


def _add(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {reason: left.get(reason, 0) + right.get(reason, 0) for reason in sorted({*left, *right})}
