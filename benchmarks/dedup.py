"""Deduplication, piece by piece, beside the tools that a user would pick instead; each piece is a module that runs alone too.

Takes about ten minutes, half of them datatrove's, and makes the peers' own environments at its first run.
"""

import importlib

from benchmarks.harness import Measure

PIECES = ("signatures", "whole", "answers", "buckets", "spans")


def measure() -> list[Measure]:
    """Run every piece, one after the other."""
    found: list[Measure] = []
    for piece in PIECES:
        print(f"-- {piece}", flush=True)
        found += importlib.import_module(f"benchmarks.dedup_{piece}").measures()
    return found
