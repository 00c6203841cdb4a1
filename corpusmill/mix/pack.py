"""Documents to packed sequences: cut what is too long, pack windows best-fit, shuffle each window by the seed.

A document longer than a sequence becomes whole blocks and a remainder. Every token that comes in goes out, in a piece
that says whose it is and where it stood; nothing is padded. A window holds about 16 M tokens at most, whatever the
corpus. Sequences of one call are numbered upwards from `first_sequence`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import SEQUENCES
from corpusmill.mix.best_fit import pack_best_fit
from corpusmill.mix.permutation import permutation
from corpusmill.mix.tokenize import Tokenization, TokenizedDocuments, tokenize

WINDOW_TOKENS = 16 << 20
WINDOW_PIECES = 16_384
"""A window of this many pieces is 99.99 % full on web text at 2,048 tokens; a larger one gains nothing."""

ROW_GROUP_BYTES = 4 << 20
"""A block of a stream begins anywhere in a row group: the smaller these are, the less is decoded beside what is wanted."""

SHARD_SEQUENCES = 1 << 32
"""Room for a shard's numbers: shard s of a partition counts from s times this."""


@dataclass(frozen=True, kw_only=True)
class PackingCounts:
    """What went into packing and what came out; sums over shards."""

    sequence_length: int
    num_documents: int = 0
    """Documents that came in."""
    num_empty: int = 0
    """Documents without a single token, which no sequence holds."""
    num_cut: int = 0
    """Documents longer than a sequence."""
    num_tokens: int = 0
    num_eos_tokens: int = 0
    """How many of the tokens were appended to end a document."""
    num_pieces: int = 0
    num_sequences: int = 0

    @property
    def fill(self) -> float:
        """Share of the room in the sequences that tokens take."""
        return self.num_tokens / max(1, self.num_sequences * self.sequence_length)

    def to_counts(self) -> Counts:
        dropped = {"no_tokens": self.num_empty} if self.num_empty else {}
        return Counts(rows_in=self.num_documents, kept=self.num_documents - self.num_empty, dropped=dropped)

    def to_notes(self) -> dict[str, int]:
        """Return the numbers that add up over shards."""
        return {name: value for name, value in asdict(self).items() if name != "sequence_length"}


def tokenize_and_pack(
    documents: Iterable[pa.Table],
    *,
    tokenization: Tokenization,
    first_sequence: int = 0,
    on_counts: Callable[[PackingCounts], None] | None = None,
) -> Iterator[pa.Table]:
    """Yield SEQUENCES tables of DOCUMENTS rows, one per window; at the end `on_counts` hears what was packed.

    Same rows in the same order with the same tokenization give the same bytes.
    """
    packer = Packer(tokenization, first_sequence=first_sequence)
    for batch in tokenize(documents, tokenization=tokenization):
        yield from packer.add(batch)
    yield from packer.finish()
    if on_counts is not None:
        on_counts(packer.counts)


class Packer:
    """Takes documents, gives sequences: a window is packed when it is full, the last one by `finish`."""

    def __init__(self, tokenization: Tokenization, *, first_sequence: int = 0) -> None:
        self.counts = PackingCounts(sequence_length=tokenization.sequence_length)
        self._tokenization = tokenization
        self._next_sequence = first_sequence
        self._waiting: list[TokenizedDocuments] = []
        self._waiting_tokens = self._waiting_pieces = 0

    def add(self, documents: TokenizedDocuments) -> Iterator[pa.Table]:
        """Take documents; yield the sequences of a window when they fill it."""
        length = self._tokenization.sequence_length
        lengths_D = np.diff(documents.offsets)
        num_pieces = int(((lengths_D + length - 1) // length).sum())
        num_empty = int((lengths_D == 0).sum())
        ended = 0 if self._tokenization.eos_token is None else len(lengths_D)
        self.counts = replace(
            self.counts,
            num_documents=self.counts.num_documents + len(lengths_D),
            num_empty=self.counts.num_empty + num_empty,
            num_cut=self.counts.num_cut + int((lengths_D > length).sum()),
            num_tokens=self.counts.num_tokens + len(documents.tokens),
            num_eos_tokens=self.counts.num_eos_tokens + ended,
            num_pieces=self.counts.num_pieces + num_pieces,
        )
        self._waiting.append(documents)
        self._waiting_tokens += len(documents.tokens)
        self._waiting_pieces += num_pieces
        if self._waiting_tokens >= WINDOW_TOKENS or self._waiting_pieces >= WINDOW_PIECES:
            yield from self.finish()

    def finish(self) -> Iterator[pa.Table]:
        """Yield the sequences of what is waiting, if anything is."""
        if not self._waiting_tokens:
            return
        sequences = _pack_window(self._waiting, tokenization=self._tokenization, first_sequence=self._next_sequence)
        self._waiting, self._waiting_tokens, self._waiting_pieces = [], 0, 0
        self._next_sequence += len(sequences)
        self.counts = replace(self.counts, num_sequences=self.counts.num_sequences + len(sequences))
        yield sequences


def _pack_window(waiting: list[TokenizedDocuments], *, tokenization: Tokenization, first_sequence: int) -> pa.Table:
    doc_ids = pa.concat_arrays([item.doc_ids for item in waiting])
    tokens = np.concatenate([item.tokens for item in waiting])
    lengths_D = np.concatenate([np.diff(item.offsets) for item in waiting])
    owner_P, start_P, length_P = _cut(lengths_D, tokenization.sequence_length)
    bin_P = pack_best_fit(length_P, capacity=tokenization.sequence_length)
    num_sequences = int(bin_P.max()) + 1
    slot_P = permutation(num_sequences, seed=tokenization.seed, part=first_sequence)[bin_P]
    # Inside a sequence the pieces stand in the order in which their documents came.
    in_order = np.argsort(slot_P, kind="stable")
    owner_P, start_P, length_P = owner_P[in_order], start_P[in_order], length_P[in_order]
    document_starts_D = np.cumsum(lengths_D) - lengths_D
    packed = _gather(tokens, document_starts_D[owner_P] + start_P, length_P)
    assert len(packed) == len(tokens), f"{len(tokens)} tokens in, {len(packed)} out"
    pieces_S = np.bincount(slot_P, minlength=num_sequences)
    tokens_S = np.bincount(slot_P[in_order], weights=length_P, minlength=num_sequences).astype(np.int64)
    columns = [
        pa.array(np.arange(first_sequence, first_sequence + num_sequences)),
        _lists(tokens_S, pa.array(packed, pa.int32())),
        _lists(pieces_S, doc_ids.take(pa.array(owner_P))),
        _lists(pieces_S, pa.array(length_P.astype(np.int32))),
        _lists(pieces_S, pa.array(start_P)),
    ]
    return pa.Table.from_arrays(columns, schema=SEQUENCES)


def _cut(lengths_D: Any, sequence_length: int) -> tuple[Any, Any, Any]:
    """Return each piece's document, start and length.

    A document of 5 tokens and a sequence length of 2 give starts 0, 2, 4 and lengths 2, 2, 1.
    """
    pieces_D = (lengths_D + sequence_length - 1) // sequence_length
    owner_P = np.repeat(np.arange(len(lengths_D)), pieces_D)
    first_piece_D = np.cumsum(pieces_D) - pieces_D
    start_P = (np.arange(len(owner_P)) - first_piece_D[owner_P]) * sequence_length
    return owner_P, start_P, np.minimum(lengths_D[owner_P] - start_P, sequence_length)


def _lists(sizes: Any, values: pa.Array) -> pa.Array:
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)


@numba.njit(cache=True)
def _gather(tokens: Any, from_P: Any, length_P: Any) -> Any:
    out = np.empty(length_P.sum(), np.int32)
    filled = 0
    for piece in range(len(from_P)):
        for step in range(length_P[piece]):
            out[filled + step] = tokens[from_P[piece] + step]
        filled += length_P[piece]
    return out
