"""Run in the environment of a suffix array library: python dedup_spans_peer.py TEXTS FOUND MIN_BYTES, both files JSON.

Finds what a repeated span is by sorting every suffix of all texts: of the windows of equal bytes the first stays.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from pydivsufsort import divsufsort, kasai

SEPARATOR = b"\xff"


def find(texts: list[str], min_bytes: int) -> int:
    """Return how many bytes are in a window that stands earlier."""
    parts = [text.encode() + SEPARATOR for text in texts]
    data = b"".join(parts)
    suffixes = divsufsort(data).astype(np.int64)
    shared = kasai(data, suffixes)
    is_new = np.ones(len(data), bool)
    is_new[1:] = shared[: len(data) - 1] < min_bytes
    firsts = np.minimum.reduceat(suffixes, np.flatnonzero(is_new))[np.cumsum(is_new) - 1]
    ends = np.cumsum([len(part) for part in parts])
    documents = np.searchsorted(ends, suffixes, "right")
    is_whole = suffixes + min_bytes <= ends[documents] - 1
    overlaps = (np.searchsorted(ends, firsts, "right") == documents) & (suffixes - firsts < min_bytes)
    starts = suffixes[is_whole & ~overlaps]
    edges = np.zeros(len(data) + 1, np.int64)
    np.add.at(edges, starts, 1)
    np.add.at(edges, starts + min_bytes, -1)
    return int((np.cumsum(edges) > 0).sum())


def main() -> None:
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    started = time.process_time()
    num_bytes = find(texts, int(sys.argv[3]))
    seconds = time.process_time() - started
    name = f"pydivsufsort {version('pydivsufsort')}"
    Path(sys.argv[2]).write_text(json.dumps({"name": name, "seconds": seconds, "bytes": num_bytes}), encoding="utf-8")


if __name__ == "__main__":
    main()
