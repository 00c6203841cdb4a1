"""Band rows: which documents meet in which bucket.

Level 0 is one bucket per band and key. Level n splits a bucket further by the keys of the n bands that follow, so that
its documents agree in n + 1 bands (in the upper halves of the further keys: two that meet by chance are compared, no
more). `member` names a document so that names sort by rank, best first.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import signature_matrix
from corpusmill.dedup.token_hashes import mix

NUM_LEVELS = 3
"""Oversize buckets are split twice; what is oversize then is compared with its representatives only."""

Keys = np.ndarray[Any, np.dtype[np.uint64]]

_UNUSED = np.uint64(24)
"""Bits that a key leaves away: two documents meet by chance with probability 2^-40 a band, and a table of keys is smaller."""
_KEY_REST = np.uint64(8)
_LOWER = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
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
    """Return the key of every document's every band: 40 bits."""
    num_rows = matrix_NP.shape[1] // num_bands
    keys = np.empty((len(matrix_NP), num_bands), dtype=np.uint64)
    for at in range(len(matrix_NP)):
        for band in range(num_bands):
            key = np.uint64(band)
            for row in range(band * num_rows, (band + 1) * num_rows):
                key = mix(key * _SPREAD + np.uint64(matrix_NP[at, row]))
            keys[at, band] = key >> _UNUSED
    return keys


def split_keys(keys_NB: Keys, level: int) -> tuple[Keys, Keys]:
    """Return the bucket keys one level up and at `level`; at level 0 both are the band's own key."""
    further_NB = further_keys(keys_NB)
    parent_NB = key_NB = keys_NB
    for step in range(1, level + 1):
        parent_NB, key_NB = key_NB, part_keys(key_NB.ravel(), further_NB.ravel(), step).reshape(keys_NB.shape)
    return parent_NB, key_NB


def further_keys(keys_NB: Keys) -> Keys:
    """Return, per document and band, what splits the band's bucket: the upper halves of the keys of the next two bands."""
    return (np.roll(keys_NB, -1, axis=1) >> _KEY_REST << _HALF) | (np.roll(keys_NB, -2, axis=1) >> _KEY_REST)


def part_keys(keys_N: Keys, further_N: Keys, level: int) -> Keys:
    """Return the bucket keys at `level`, 1 or 2, of rows by their keys one level up."""
    return _mix_each(keys_N, further_N >> _HALF if level == 1 else further_N & _LOWER)


@njit(cache=True, nogil=True)
def _mix_each(keys_N: np.ndarray, parts_N: np.ndarray) -> np.ndarray:
    mixed = np.empty(len(keys_N), dtype=np.uint64)
    for at in range(len(keys_N)):
        mixed[at] = mix(keys_N[at] * _SPREAD + parts_N[at])
    return mixed
