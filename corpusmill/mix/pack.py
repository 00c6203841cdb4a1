"""Documents to packed sequences: cut what is too long, pack windows best-fit, shuffle each window by the seed.

A document longer than a sequence becomes whole blocks and a remainder. Every token that comes in goes out, in a piece
that says whose it is and where it stood; nothing is padded. A window holds about 16 M tokens at most, whatever the
corpus. Sequences of one call are numbered upwards from `first_sequence`.

With several lengths each document goes to the shortest that holds it whole, and each length has windows of its own. Long
documents alone would leave gaps, because nothing short is among them: the gaps of a longer length take whole documents
that wait for a shorter one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import SEQUENCES
from corpusmill.mix.best_fit import pack_best_fit
from corpusmill.mix.fill_in_middle import rearranged_pieces
from corpusmill.mix.inventory import LENGTH_SEQUENCES
from corpusmill.mix.permutation import permutation
from corpusmill.mix.pieces import Pieces, concat_pieces, cut_documents
from corpusmill.mix.tokenize import NUM_SENTINELS, Tokenization, tokenize

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
    num_rearranged: int = 0
    """Pieces that were rearranged to fill in the middle."""
    num_sentinel_tokens: int = 0
    """How many of the tokens are sentinels of those."""
    num_split_tokens: int = 0
    """How many tokens more the parts of those have than the text in one, where it was cut inside a token."""

    @property
    def fill(self) -> float:
        """Share of the room in the sequences that tokens take."""
        return self.num_tokens / max(1, self.num_sequences * self.sequence_length)

    def to_counts(self) -> Counts:
        dropped = {"no_tokens": self.num_empty} if self.num_empty else {}
        return Counts(rows_in=self.num_documents, kept=self.num_documents - self.num_empty, dropped=dropped)

    def to_notes(self) -> dict[str, int]:
        """Return the numbers that add up over shards; those of rearranged pieces where there are any."""
        skipped = {"sequence_length"} if self.num_rearranged else {"sequence_length", *_OF_REARRANGED}
        return {name: value for name, value in asdict(self).items() if name not in skipped}

    def __add__(self, other: "PackingCounts") -> "PackingCounts":
        names = [item.name for item in fields(self) if item.name != "sequence_length"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return PackingCounts(sequence_length=self.sequence_length, **sums)


_OF_REARRANGED = ("num_rearranged", "num_sentinel_tokens", "num_split_tokens")


def tokenize_and_pack(
    documents: Iterable[pa.Table],
    *,
    tokenization: Tokenization,
    first_sequence: int = 0,
    on_counts: Callable[[PackingCounts], None] | None = None,
) -> Iterator[pa.Table]:
    """Yield SEQUENCES tables of DOCUMENTS rows, one per window; at the end `on_counts` hears what was packed.

    It hears of each length in turn. Same rows in the same order with the same tokenization give the same bytes.
    """
    packer = Packer(tokenization, first_sequence=first_sequence)
    for pieces, num_empty in _pieces(documents, tokenization):
        yield from packer.add(pieces, num_empty=num_empty)
    yield from packer.finish()
    if on_counts is not None:
        for counts in packer.counts:
            on_counts(counts)


def packed_state(tokenization: Tokenization, counts: Sequence[PackingCounts]) -> dict[str, Any]:
    """Return what the commit of a partition of sequences keeps, for plans to pin it; `counts` are those of each length."""
    if len(counts) == 1:
        return tokenization.to_state(num_tokens=counts[0].num_tokens)
    names = ("sequence_length", "num_tokens", "num_sequences")
    lengths = [{name: getattr(one, name) for name in names} for one in counts]
    return {"tokenizer": tokenization.version(), "lengths": lengths}


class Packer:
    """Takes pieces, gives sequences: a window is packed when it is full, the last ones by `finish`."""

    def __init__(self, tokenization: Tokenization, *, first_sequence: int = 0) -> None:
        self._tokenization = tokenization
        lengths = tokenization.lengths
        self.counts = [PackingCounts(sequence_length=length) for length in lengths]
        self._next_sequence = [first_sequence + number * LENGTH_SEQUENCES for number in range(len(lengths))]
        self._waiting: list[list[Pieces]] = [[] for _ in lengths]

    def add(self, pieces: Pieces, *, num_empty: int = 0) -> Iterator[pa.Table]:
        """Take pieces, and how many documents had none; yield the sequences of windows that they fill."""
        self.counts[0] += PackingCounts(
            sequence_length=self._tokenization.sequence_length, num_documents=num_empty, num_empty=num_empty
        )
        for number, waiting in enumerate(self._waiting):
            waiting.append(pieces if len(self._waiting) == 1 else pieces.take(np.flatnonzero(pieces.buckets == number)))
        full = [number for number, waiting in enumerate(self._waiting) if _is_full(waiting)]
        # Longer ones are packed along, however few wait: now there is enough to fill their gaps.
        if full:
            yield from self._pack_from(full[0])

    def finish(self) -> Iterator[pa.Table]:
        """Yield the sequences of what is waiting, if anything is."""
        yield from self._pack_from(0)

    def _pack_from(self, shortest: int) -> Iterator[pa.Table]:
        for number in reversed(range(shortest, len(self._waiting))):
            pieces = concat_pieces(self._waiting[number] or [_NO_PIECES])
            self._waiting[number] = []
            if len(pieces):
                yield self._pack(number, pieces, self._take_fillers(number))

    def _take_fillers(self, number: int) -> Pieces:
        """Return every second piece that waits for a shorter length: the others keep that one's small pieces."""
        waiting = concat_pieces([part for held in self._waiting[:number] for part in held] or [_NO_PIECES])
        self._put_back(waiting.take(np.arange(1, len(waiting), 2)), number)
        return waiting.take(np.arange(0, len(waiting), 2))

    def _put_back(self, pieces: Pieces, number: int, *, beside: bool = False) -> None:
        for shorter in range(number):
            mine = pieces.take(np.flatnonzero(pieces.buckets == shorter))
            self._waiting[shorter] = [*self._waiting[shorter], mine] if beside else [mine]

    def _pack(self, number: int, pieces: Pieces, fillers: Pieces) -> pa.Table:
        length = self._tokenization.lengths[number]
        bin_P = pack_best_fit(pieces.lengths, capacity=length, fillers=fillers.lengths)
        is_used = bin_P[len(pieces) :] >= 0
        self._put_back(fillers.take(np.flatnonzero(~is_used)), number, beside=True)
        if len(fillers):
            pieces, bin_P = concat_pieces([pieces, fillers.take(np.flatnonzero(is_used))]), bin_P[bin_P >= 0]
        sequences = _sequences(pieces, bin_P, seed=self._tokenization.seed, first_sequence=self._next_sequence[number])
        self._next_sequence[number] += len(sequences)
        self.counts[number] += self._count(pieces, length=length, num_sequences=len(sequences))
        return sequences

    def _count(self, pieces: Pieces, *, length: int, num_sequences: int) -> PackingCounts:
        """Return what a window holds; the pieces of a document stand one after the other, all in one window."""
        is_first = pieces.starts == 0
        num_documents, num_rearranged = int(is_first.sum()), int(pieces.is_rearranged.sum())
        return PackingCounts(
            sequence_length=length,
            num_documents=num_documents,
            num_cut=int((is_first[:-1] & ~is_first[1:]).sum()),
            num_tokens=len(pieces.tokens),
            num_eos_tokens=num_documents if self._tokenization.eos_token is not None else 0,
            num_pieces=len(pieces),
            num_sequences=num_sequences,
            num_rearranged=num_rearranged,
            num_sentinel_tokens=NUM_SENTINELS * num_rearranged,
            num_split_tokens=int(pieces.added.sum()) - NUM_SENTINELS * num_rearranged,
        )


_NO_PIECES = Pieces(
    doc_ids=pa.array([], pa.string()),
    starts=np.zeros(0, np.int64),
    buckets=np.zeros(0, np.int64),
    offsets=np.zeros(1, np.int64),
    tokens=np.zeros(0, np.int32),
    added=np.zeros(0, np.int64),
    is_rearranged=np.zeros(0, np.bool_),
)


def _is_full(waiting: Sequence[Pieces]) -> bool:
    return sum(len(part.tokens) for part in waiting) >= WINDOW_TOKENS or sum(map(len, waiting)) >= WINDOW_PIECES


def _pieces(documents: Iterable[pa.Table], tokenization: Tokenization) -> Iterator[tuple[Pieces, int]]:
    """Yield pieces, and how many documents have none."""
    if tokenization.fill_in_middle is not None:
        yield from rearranged_pieces(documents, tokenization=tokenization)
        return
    for batch in tokenize(documents, tokenization=tokenization):
        num_empty = int((np.diff(batch.offsets) == 0).sum())
        yield cut_documents(batch, lengths=tokenization.lengths), num_empty


def _sequences(pieces: Pieces, bin_P: Any, *, seed: int, first_sequence: int) -> pa.Table:
    num_sequences = int(bin_P.max()) + 1
    slot_P = permutation(num_sequences, seed=seed, part=first_sequence)[bin_P]
    # Inside a sequence the pieces stand in the order in which their documents came.
    packed = pieces.take(np.argsort(slot_P, kind="stable"))
    assert len(packed.tokens) == len(pieces.tokens), f"{len(pieces.tokens)} tokens in, {len(packed.tokens)} out"
    pieces_S = np.bincount(slot_P, minlength=num_sequences)
    tokens_S = np.bincount(slot_P, weights=pieces.lengths, minlength=num_sequences).astype(np.int64)
    columns = [
        pa.array(np.arange(first_sequence, first_sequence + num_sequences)),
        _lists(tokens_S, pa.array(packed.tokens, pa.int32())),
        _lists(pieces_S, packed.doc_ids),
        _lists(pieces_S, pa.array(packed.lengths.astype(np.int32))),
        _lists(pieces_S, pa.array(packed.starts)),
    ]
    return pa.Table.from_arrays(columns, schema=SEQUENCES)


def _lists(sizes: Any, values: pa.Array) -> pa.Array:
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)
