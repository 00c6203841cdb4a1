"""Band rows: which documents meet in which bucket.

Level 0 is one bucket per band and key. Level n splits a bucket further by the keys of the n bands that follow, so that
its documents agree in n + 1 bands. `member` names a document so that names sort by rank, best first.
"""

import numpy as np
import pyarrow as pa
from numba import njit

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import signature_matrix
from corpusmill.dedup.token_hashes import mix

NUM_LEVELS = 3
"""Oversize buckets are split twice; what is oversize then is compared with its representatives only."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def band_rows(members: pa.Array, signatures: pa.Array, *, parameters: DedupParameters, level: int) -> pa.Table:
    """Return one row per document and band: band, parent (bucket key one level up), key, member."""
    keys_NB = band_keys(signature_matrix(signatures, parameters), parameters.num_bands)
    parent_NB, key_NB = split_keys(keys_NB, level)
    num_members = len(keys_NB)
    places = np.repeat(np.arange(num_members, dtype=np.int64), parameters.num_bands)
    bands = np.tile(np.arange(parameters.num_bands, dtype=np.int32), num_members)
    columns = {
        "band": pa.array(bands),
        "parent": pa.array(parent_NB.ravel().view(np.int64)),
        "key": pa.array(key_NB.ravel().view(np.int64)),
        "member": members.take(pa.array(places)),
    }
    return pa.table(columns)


@njit(cache=True, nogil=True)
def band_keys(matrix_NP: np.ndarray, num_bands: int) -> np.ndarray:
    """Return the key of every document's every band."""
    num_rows = matrix_NP.shape[1] // num_bands
    keys = np.empty((len(matrix_NP), num_bands), dtype=np.uint64)
    for at in range(len(matrix_NP)):
        for band in range(num_bands):
            key = np.uint64(band)
            for row in range(band * num_rows, (band + 1) * num_rows):
                key = mix(key * _SPREAD + np.uint64(matrix_NP[at, row]))
            keys[at, band] = key
    return keys


@njit(cache=True, nogil=True)
def split_keys(keys_NB: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bucket keys one level up and at `level`; at level 0 both are the band's own key."""
    parent = keys_NB.copy()
    key = keys_NB.copy()
    num_bands = keys_NB.shape[1]
    for step in range(1, level + 1):
        for at in range(len(keys_NB)):
            for band in range(num_bands):
                parent[at, band] = key[at, band]
                key[at, band] = mix(key[at, band] * _SPREAD + keys_NB[at, (band + step) % num_bands])
    return parent, key
