"""Pieces of documents: what goes into a sequence whole. Each document to the length that suits it, cut where none does.

Legend: D = documents, P = pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from corpusmill.mix.tokenize import TokenizedDocuments

IntArray = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """Pieces in the order of their documents: piece p has the tokens from `offsets[p]` to `offsets[p + 1]`."""

    doc_ids: pa.Array
    starts: IntArray
    """Number of a piece's first token in its document."""
    buckets: IntArray
    """Number of the length for which a piece was cut."""
    offsets: IntArray
    tokens: np.ndarray[Any, np.dtype[np.int32]]
    added: IntArray
    """Tokens of a piece that its document does not have, because it was rearranged: sentinels and split tokens."""
    is_rearranged: np.ndarray[Any, np.dtype[np.bool_]]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    def take(self, numbers: IntArray) -> "Pieces":
        """Return some pieces, in the order of `numbers`."""
        lengths_P = self.lengths[numbers]
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(lengths_P, out=offsets[1:])
        return Pieces(
            doc_ids=self.doc_ids.take(pa.array(numbers)),
            starts=self.starts[numbers],
            buckets=self.buckets[numbers],
            offsets=offsets,
            tokens=_gather(self.tokens, self.offsets[numbers], lengths_P),
            added=self.added[numbers],
            is_rearranged=self.is_rearranged[numbers],
        )


def concat_pieces(parts: Sequence[Pieces]) -> Pieces:
    """Return the pieces of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.tokens) for part in parts)])
    return Pieces(
        doc_ids=pa.concat_arrays([part.doc_ids for part in parts]),
        starts=np.concatenate([part.starts for part in parts]),
        buckets=np.concatenate([part.buckets for part in parts]),
        offsets=np.concatenate([*(part.offsets[:-1] + end for part, end in zip(parts, ends, strict=False)), ends[-1:]]),
        tokens=np.concatenate([part.tokens for part in parts]),
        added=np.concatenate([part.added for part in parts]),
        is_rearranged=np.concatenate([part.is_rearranged for part in parts]),
    )


def cut_documents(documents: TokenizedDocuments, *, lengths: Sequence[int]) -> Pieces:
    """Return the pieces of documents for sequences of `lengths`, which go up; a document without tokens has none.

    With lengths 2 and 3, documents of 2, 3 and 5 tokens give pieces of 2 (bucket 0), 3, 3 and 2 tokens (bucket 1).
    """
    lengths_D = np.diff(documents.offsets)
    bucket_D = np.minimum(np.searchsorted(lengths, lengths_D), len(lengths) - 1)
    room_D = np.asarray(lengths, np.int64)[bucket_D]
    pieces_D = (lengths_D + room_D - 1) // room_D
    owner_P = np.repeat(np.arange(len(lengths_D)), pieces_D)
    first_piece_D = np.cumsum(pieces_D) - pieces_D
    starts = (np.arange(len(owner_P)) - first_piece_D[owner_P]) * room_D[owner_P]
    return Pieces(
        doc_ids=documents.doc_ids.take(pa.array(owner_P)),
        starts=starts,
        buckets=bucket_D[owner_P],
        offsets=np.append(documents.offsets[owner_P] + starts, documents.offsets[-1]),
        tokens=documents.tokens,
        added=np.zeros(len(owner_P), np.int64),
        is_rearranged=np.zeros(len(owner_P), np.bool_),
    )


@numba.njit(cache=True)
def _gather(tokens: Any, from_P: Any, length_P: Any) -> Any:
    out = np.empty(length_P.sum(), np.int32)
    filled = 0
    for piece in range(len(from_P)):
        for step in range(length_P[piece]):
            out[filled + step] = tokens[from_P[piece] + step]
        filled += length_P[piece]
    return out
