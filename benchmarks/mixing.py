"""Mixtures and their streams, piece by piece, beside the tools that a user would pick instead; each piece runs alone too."""

import importlib

from benchmarks.harness import Measure

PIECES: tuple[str, ...] = ("order", "solver", "optimise", "packing", "resume", "open", "trace", "forget")


def measure() -> list[Measure]:
    """Run every piece, one after the other."""
    found: list[Measure] = []
    for piece in PIECES:
        print(f"-- {piece}", flush=True)
        found += importlib.import_module(f"benchmarks.mixing_{piece}").measures()
    return found
