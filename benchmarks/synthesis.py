"""Synthesis, piece by piece, beside the tools that a user would pick instead; each piece is a module that runs alone too."""

from benchmarks.harness import Measure, measure_pieces

PIECES: tuple[str, ...] = (
    "translations",
    "back_translations",
    "faults",
    "engines",
    "supervisor",
    "executor",
    "rewrites",
    "throughput",
    "tuning",
    "problems",
)


def measure() -> list[Measure]:
    """Run every piece, one after the other."""
    return measure_pieces("synthesis", PIECES)
