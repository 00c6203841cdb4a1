"""Curation, piece by piece, beside the tools that a user would pick instead; each piece is a module that runs alone too.

Takes about a quarter of an hour, and makes the peers' own environments at its first run.
"""

from benchmarks.harness import Measure, measure_pieces

PIECES = ("rules", "extract", "language", "quality", "pii", "licenses", "contamination", "urls")


def measure() -> list[Measure]:
    """Run every piece, one after the other."""
    return measure_pieces("curation", PIECES)
