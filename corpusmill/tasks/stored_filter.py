"""The filter of shared anchors as an object of a partition's staging folder: shards read it, once in a process.

Its name is the hash of its bytes, so what shards are made from is named by what it is, and a garbled one is found.
"""

import functools
import hashlib
import json

import numpy as np

from corpusmill.dedup.shared_anchors import Words
from corpusmill.lake.store import Store, StoreSettings


def write_filter(store: Store, folder: str, words: Words) -> str:
    """Write a filter below `folder` and return its key."""
    data = words.astype("<u8", copy=False).tobytes()
    key = f"{folder}/{_digest(data)}.filter"
    store.write(key, data)
    return key


def read_filter(store: Store, key: str) -> Words:
    """Return the filter that `write_filter` wrote; raises ValueError when the object holds something else."""
    return _read(json.dumps(store.settings.to_json(), sort_keys=True), key)


@functools.lru_cache(maxsize=1)
def _read(settings: str, key: str) -> Words:
    data = Store(StoreSettings.from_json(json.loads(settings))).read(key)
    if f"/{_digest(data)}.filter" not in key:
        raise ValueError(f"{key} does not hold what was written; materialize its partition again")
    return np.frombuffer(data, "<u8").astype(np.uint64, copy=False)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
