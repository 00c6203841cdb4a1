"""The filter of anchors that may occur twice: none of those is left out, and few others are in."""

import numpy as np
import pyarrow as pa

from corpusmill.dedup.shared_anchors import find_shared, is_shared


def hashes(*, seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, count)


def share(found: np.ndarray, among: np.ndarray) -> float:
    """Return the share of `among` that may be shared, each asked by itself."""
    lists = pa.ListArray.from_arrays(pa.array(np.arange(len(among) + 1, dtype=np.int32)), pa.array(among))
    return float(np.mean(is_shared(lists, found).to_numpy(zero_copy_only=False)))


def test_what_is_there_twice_is_in_and_little_else() -> None:
    ours, old, both = hashes(seed=1, count=90_000), hashes(seed=2, count=90_000), hashes(seed=3, count=5_000)
    twice = hashes(seed=4, count=5_000)
    own = [pa.array(part) for part in (ours, both, twice, twice)]
    found = find_shared(own, [pa.array(old), pa.array(both)], num_anchors=105_000)
    assert share(found, both) == share(found, twice) == 1.0
    assert share(found, ours) < 0.002
    assert share(found, old) < 0.002


def test_what_older_snapshots_have_twice_is_their_own_affair() -> None:
    old = pa.array(hashes(seed=1, count=100))
    assert share(find_shared([pa.array([], pa.int64())], [old, old], num_anchors=0), old.to_numpy()) == 0.0
