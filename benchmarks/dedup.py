"""Deduplication, piece by piece, beside the tools that a user would pick instead; each piece is a module that runs alone too.

Takes about a quarter of an hour, and makes the peers' own environments at its first run.
"""

import importlib

from benchmarks.harness import Measure

PIECES = ("signatures", "whole", "tasks", "answers", "buckets", "increments", "spans")


def measure() -> list[Measure]:
    """Run every piece, one after the other."""
    found: list[Measure] = []
    for piece in PIECES:
        print(f"-- {piece}", flush=True)
        found += importlib.import_module(f"benchmarks.dedup_{piece}").measures()
    return found
