"""Mixtures and their streams, piece by piece, beside the tools that a user would pick instead; each piece runs alone too."""

from benchmarks.harness import Measure, measure_pieces

PIECES: tuple[str, ...] = (
    "order",
    "solver",
    "optimise",
    "packing",
    "resume",
    "live",
    "open",
    "trace",
    "forget",
    "adapters",
)


def measure() -> list[Measure]:
    """Run every piece, one after the other."""
    return measure_pieces("mixing", PIECES)
