"""Synthesis, piece by piece, beside the tools that a user would pick instead; each piece is a module that runs alone too."""

import importlib

from benchmarks.harness import Measure

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
    found: list[Measure] = []
    for piece in PIECES:
        print(f"-- {piece}", flush=True)
        found += importlib.import_module(f"benchmarks.synthesis_{piece}").measures()
    return found
