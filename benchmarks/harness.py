"""What a benchmark reports, and how it is printed and kept.

A benchmark is a module of `benchmarks` with a function `measure() -> Sequence[Measure]`. It names the tool that a user
would pick instead, runs both on the same input, and sets the bar before it measures.
"""

import importlib
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("measure", "ours", "other", "ratio", "bar", "holds")


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What must hold: a limit on our own figure, or on the ratio to the other's."""

    limit: float
    of: str = "ours"
    """`ours` or `ratio`."""
    is_upper: bool = True

    def __post_init__(self) -> None:
        if self.of not in ("ours", "ratio"):
            raise ValueError(f"a bar is on ours or ratio, got {self.of!r}")

    def holds(self, value: float) -> bool:
        return value <= self.limit if self.is_upper else value >= self.limit

    def __str__(self) -> str:
        return f"{self.of} {'<=' if self.is_upper else '>='} {self.limit:g}"


def at_most(limit: float, *, of: str = "ours") -> Bar:
    """Return the bar that `ours` (or `ratio`) must not exceed."""
    return Bar(limit=limit, of=of, is_upper=True)


def at_least(limit: float, *, of: str = "ours") -> Bar:
    """Return the bar that `ours` (or `ratio`) must reach."""
    return Bar(limit=limit, of=of, is_upper=False)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One measured quantity, ours beside another's."""

    measure: str
    """What was measured, with its unit: `register 100,000 files (s)`."""
    ours: float
    other: float | None = None
    other_name: str = ""
    """The tool or way that `other` is of, with its version."""
    bar: Bar | None = None
    """None shows a figure without a demand."""

    def __post_init__(self) -> None:
        if self.bar and self.bar.of == "ratio" and self.ratio is None:
            raise ValueError(f"{self.measure}: a bar on the ratio needs another figure that is not zero")

    @property
    def ratio(self) -> float | None:
        """Ours over the other's."""
        return self.ours / self.other if self.other else None

    @property
    def holds(self) -> bool:
        if self.bar is None:
            return True
        value = self.ours if self.bar.of == "ours" else self.ratio
        assert value is not None
        return self.bar.holds(value)

    def cells(self) -> tuple[str, ...]:
        other = "-" if self.other is None else f"{self.other:,.4g} {self.other_name}".strip()
        ratio = "-" if self.ratio is None else f"{self.ratio:.3g}"
        holds = "-" if self.bar is None else "yes" if self.holds else "NO"
        return (self.measure, f"{self.ours:,.4g}", other, ratio, str(self.bar or "-"), holds)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "bar": str(self.bar) if self.bar else None, "holds": self.holds}


def print_measures(measures: Sequence[Measure]) -> None:
    """Print a line a measure, under the names of the columns."""
    for row in (COLUMNS, *(one.cells() for one in measures)):
        print(" | ".join(row), flush=True)


def measure_pieces(name: str, pieces: Sequence[str]) -> list[Measure]:
    """Run the modules `benchmarks.NAME_PIECE` one after the other; what each measured is printed when it ends."""
    found: list[Measure] = []
    for piece in pieces:
        print(f"-- {piece}", flush=True)
        measures = importlib.import_module(f"benchmarks.{name}_{piece}").measures()
        print_measures(measures)
        found += measures
    return found


def write_results(name: str, measures: Sequence[Measure], *, seconds: float, folder: Path = RESULTS) -> Path:
    """Write the measures of a benchmark, with the machine they were taken on, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    content = {
        "benchmark": name,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "machine": {
            "cores": os.cpu_count(),
            "load_before": round(os.getloadavg()[0], 2),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
        },
        "measures": [one.to_json() for one in measures],
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return file
