"""Exact Jaccards of many candidate pairs: the shingle sets of their documents side by side in one array, a merge a pair.

Texts are read once, file by file, and only those of candidates. Memory: 8 bytes a shingle of every candidate, and one
file's candidate texts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill.dedup.evidence import ReadTexts
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shingles import count_shared, shingle_sets
from corpusmill.dedup.token_hashes import Hashes

_BATCH_TEXTS = 64
_PAIRS_A_CALL = 10_000

Rows = np.ndarray[Any, np.dtype[np.int64]]
MapCalls = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""How calls that do not need one another are made, their results in order: `map`, or that of a thread pool."""


def measure_pairs(
    left: Rows,
    right: Rows,
    *,
    documents: pa.Table,
    parameters: DedupParameters,
    read_texts: ReadTexts,
    map_calls: MapCalls,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the exact Jaccard of each pair of rows of `documents` (doc_id, text_file, num_shingles)."""
    sets = _Sets.of(np.union1d(left, right), documents)

    def fill(file: tuple[str, Rows]) -> None:
        text_file, rows = file
        doc_ids = documents.column("doc_id").take(rows).to_pylist()
        row_of = dict(zip(doc_ids, rows.tolist(), strict=True))
        texts = read_texts(text_file, doc_ids)
        for batch in texts.select(["doc_id", "text"]).to_batches(max_chunksize=_BATCH_TEXTS):
            for doc_id, found in zip(
                batch.column(0).to_pylist(), shingle_sets(batch.column(1), parameters), strict=True
            ):
                sets.put(row_of.pop(doc_id), found, f"{doc_id} in {text_file}")
        assert not row_of, f"{text_file} gave no text of {len(row_of)} documents"

    def merge(part: tuple[int, int]) -> np.ndarray:
        return pair_jaccards(sets.shingles, sets.starts, sets.lengths, left[slice(*part)], right[slice(*part)])

    for _ in map_calls(fill, _by_file(documents, sets.rows)):
        pass
    bounds = [*range(0, len(left), _PAIRS_A_CALL), len(left)]
    return np.concatenate([np.empty(0), *map_calls(merge, pairwise(bounds))])


@dataclass(frozen=True, kw_only=True)
class _Sets:
    """Room for the shingle sets of some rows; that of row r begins at starts[r] and has lengths[r] shingles."""

    rows: Rows
    shingles: Hashes
    starts: Rows
    lengths: Rows

    @classmethod
    def of(cls, rows: Rows, documents: pa.Table) -> "_Sets":
        """Make room for as many shingles as the documents of `rows` have, repeats counted."""
        room = np.zeros(len(documents) + 1, dtype=np.int64)
        room[rows + 1] = documents.column("num_shingles").to_numpy()[rows]
        starts = np.cumsum(room)
        shingles = np.empty(starts[-1], dtype=np.uint64)
        return cls(rows=rows, shingles=shingles, starts=starts, lengths=np.zeros(len(documents), dtype=np.int64))

    def put(self, row: int, found: Hashes, name: str) -> None:
        start = self.starts[row]
        if len(found) > self.starts[row + 1] - start:
            raise ValueError(f"the text of {name} is not the one that was signed; rebuild the signatures")
        self.shingles[start : start + len(found)] = found
        self.lengths[row] = len(found)


def _by_file(documents: pa.Table, rows: Rows) -> list[tuple[str, Rows]]:
    """Return the text files of some rows, in order, each with its rows."""
    names = documents.column("text_file").take(rows)
    files = sorted(pc.unique(names).to_pylist())
    place = pc.index_in(names, pa.array(files, names.type)).to_numpy()
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(1, len(files)))
    return list(zip(files, np.split(rows[order], cuts), strict=True)) if files else []


@njit(cache=True, nogil=True)
def pair_jaccards(shingles: Hashes, starts: Rows, lengths: Rows, left: Rows, right: Rows) -> np.ndarray:
    """Return the Jaccard of each pair of sets; set n is the `lengths[n]` sorted shingles from `starts[n]`."""
    found = np.zeros(len(left), dtype=np.float64)
    for at in range(len(left)):
        one = shingles[starts[left[at]] : starts[left[at]] + lengths[left[at]]]
        other = shingles[starts[right[at]] : starts[right[at]] + lengths[right[at]]]
        shared = count_shared(one, other)
        union = len(one) + len(other) - shared
        if union:
            found[at] = shared / union
    return found
