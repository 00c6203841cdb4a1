"""Exact Jaccards of many candidate pairs: the shingle sets of their documents side by side in one array, a merge a pair.

Texts are read file by file, and only those of candidates: once, or once for each stretch of pairs that memory takes. Memory:
8 bytes a shingle, of at most `MAX_SHINGLES` or one pair, and one file's candidate texts.
"""

from collections.abc import Callable, Iterable, Iterator
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

MAX_SHINGLES = 1 << 27
"""1 GiB of them are in memory at once."""
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
    reader = _Reader(documents=documents, parameters=parameters, read_texts=read_texts, map_calls=map_calls)
    num_shingles = documents.column("num_shingles").to_numpy().astype(np.int64)
    measured = [np.empty(0)]
    for part in _parts(num_shingles[left] + num_shingles[right]):
        sets = reader.read(np.union1d(left[part], right[part]))
        measured += reader.map_calls(sets.jaccards, _blocks(left[part], right[part]))
    return np.concatenate(measured)


def _parts(room: Rows) -> Iterator[slice]:
    """Yield the pairs in stretches whose sets fit into memory together, each pair's own counted for itself."""
    stretch = np.cumsum(room) // MAX_SHINGLES
    starts = [0, *(np.flatnonzero(np.diff(stretch)) + 1).tolist(), len(room)]
    return (slice(start, end) for start, end in pairwise(starts) if start < end)


def _blocks(left: Rows, right: Rows) -> Iterator[tuple[Rows, Rows]]:
    for start in range(0, len(left), _PAIRS_A_CALL):
        yield left[start : start + _PAIRS_A_CALL], right[start : start + _PAIRS_A_CALL]


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Reads the shingle sets of documents."""

    documents: pa.Table
    parameters: DedupParameters
    read_texts: ReadTexts
    map_calls: MapCalls

    def read(self, rows: Rows) -> "_Sets":
        """Return the sets of some rows of the documents, text file by text file."""
        sets = _Sets.of(rows, self.documents)
        for _ in self.map_calls(lambda file: self._fill(sets, *file), _by_file(self.documents, rows)):
            pass
        return sets

    def _fill(self, sets: "_Sets", text_file: str, rows: Rows) -> None:
        doc_ids = self.documents.column("doc_id").take(rows).to_pylist()
        row_of = dict(zip(doc_ids, rows.tolist(), strict=True))
        texts = self.read_texts(text_file, doc_ids).select(["doc_id", "text"])
        for batch in texts.to_batches(max_chunksize=_BATCH_TEXTS):
            found = shingle_sets(batch.column(1), self.parameters)
            for doc_id, shingles in zip(batch.column(0).to_pylist(), found, strict=True):
                sets.put(row_of.pop(doc_id), shingles, f"{doc_id} in {text_file}")
        assert not row_of, f"{text_file} gave no text of {len(row_of)} documents"


@dataclass(frozen=True, kw_only=True)
class _Sets:
    """Room for the shingle sets of some rows; that of row r begins at starts[r] and has lengths[r] shingles."""

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
        return cls(shingles=shingles, starts=starts, lengths=np.zeros(len(documents), dtype=np.int64))

    def put(self, row: int, found: Hashes, name: str) -> None:
        start = self.starts[row]
        if len(found) > self.starts[row + 1] - start:
            raise ValueError(f"the text of {name} is not the one that was signed; rebuild the signatures")
        self.shingles[start : start + len(found)] = found
        self.lengths[row] = len(found)

    def jaccards(self, pairs: tuple[Rows, Rows]) -> np.ndarray:
        """Return the Jaccard of each pair of rows."""
        return pair_jaccards(self.shingles, self.starts, self.lengths, *pairs)


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
