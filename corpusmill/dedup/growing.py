"""Arrays of rows that grow inside kernels, where nobody knows before how many rows there will be."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def with_room(rows: np.ndarray, count: int, more: int = 1) -> np.ndarray:
    """Return `rows` if it has room for `more` after the first `count`, else a copy of these with at least twice as much."""
    if count + more <= len(rows):
        return rows
    grown = np.empty((2 * (count + more), rows.shape[1]), rows.dtype)
    grown[:count] = rows[:count]
    return grown
