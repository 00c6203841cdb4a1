"""Neighbouring sequences of a component in memory: one request a file, the tokens decoded into one array.

What Arrow alone reads (see `corpusmill.lake.list_pages`), Arrow reads. Memory: the block, for each thread the bytes of the
largest block as they lie in the file, and one row group at each end of which only a part is kept.

Legend: R = sequences of the block, B = sequences of a batch, L = sequence length, K = blocks of a batch.
"""

import functools
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from numba import types
from numba.extending import intrinsic

from corpusmill.lake.list_pages import Lists, Numbers, UnusualPagesError, decode_lists
from corpusmill.lake.store import Store
from corpusmill.mix.order import IntArray
from corpusmill.stream.index import ColumnChunk, RowGroup, read_row_groups, unreadable

Tokens = Numbers
_ROOM_STEP = 1 << 10
"""Tokens by which room for them grows: blocks of almost the same size can follow one another in it."""
_scratch = threading.local()

Part = tuple[RowGroup, int, int]
"""Rows of a row group, from a first to behind a last."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """The tokens of some sequences, and the lengths of their pieces; both must not be changed."""

    tokens: Lists
    lengths: Lists

    @property
    def num_bytes(self) -> int:
        return sum(array.nbytes for held in (self.tokens, self.lengths) for array in (held.values_V, held.starts_R))

    @functools.cached_property
    def addresses(self) -> tuple[int, int, int, int]:
        """Where tokens and lengths lie in memory, each with its starts, for `write_rows`; the block must be held meanwhile."""
        held = (self.tokens.values_V, self.tokens.starts_R, self.lengths.values_V, self.lengths.starts_R)
        return tuple(array.__array_interface__["data"][0] for array in held)

    def sequence(self, row: int) -> tuple[Tokens, Tokens]:
        tokens, lengths = self.tokens, self.lengths
        return (
            tokens.values_V[tokens.starts_R[row] : tokens.starts_R[row + 1]],
            lengths.values_V[lengths.starts_R[row] : lengths.starts_R[row + 1]],
        )


def one_sequence(tokens: Tokens, lengths: Tokens) -> Block:
    """Return a block of a single sequence."""
    held = (
        Lists(values_V=np.ascontiguousarray(values, np.int32), starts_R=np.array([0, len(values)]))
        for values in (tokens, lengths)
    )
    return Block(tokens=next(held), lengths=next(held))


def write_rows(blocks: Sequence[Block], block_B: IntArray, row_B: IntArray, rows_2BL: Any) -> int | None:
    """Write row `row_B` of block `block_B`: its tokens, and beside them which of its sequence's documents each is of.

    Documents count from 1; behind a sequence's end all is 0. Returns the number of the first one without tokens. Raises
    ValueError for one that is longer than L.
    """
    addresses_K4 = np.array([block.addresses for block in blocks], np.int64).reshape(-1, 4)
    longest, empty = _write_rows(addresses_K4, block_B, row_B, rows_2BL)
    if longest > rows_2BL.shape[2]:
        raise ValueError(f"wanted sequences of at most {rows_2BL.shape[2]:,} tokens, got one of {longest:,}")
    return empty if empty >= 0 else None


def read_block(store: Store, parts: Sequence[Part], *, spare: list[Tokens] | None = None) -> Block:
    """Return the sequences of row groups that follow one another; a damaged file raises ComponentChangedError naming it.

    `spare` are arrays that nobody uses any more, of which one may be taken for the tokens.
    """
    spare = [] if spare is None else spare
    found = [_read_file(store, list(held), spare) for _, held in groupby(parts, key=lambda part: part[0].path)]
    block = found[0]
    if len(found) > 1:
        block = Block(tokens=_join([one.tokens for one in found]), lengths=_join([one.lengths for one in found]))
    for held in (block.tokens, block.lengths):
        held.values_V.flags.writeable = False
    return block


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """Return the address as a pointer, which numba has no name for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@numba.njit(cache=True, nogil=True)
def _write_rows(addresses_K4: Any, block_B: Any, row_B: Any, rows_2BL: Any) -> tuple[int, int]:
    """Write the rows that fit and return the length of the longest and the number of the first empty one, or -1."""
    longest, empty = 0, -1
    for number in range(len(row_B)):
        row, at = row_B[number], 0
        addresses_4 = addresses_K4[block_B[number]]
        starts = numba.carray(_pointer(addresses_4[1]), (row + 2,), np.int64)
        pieces = numba.carray(_pointer(addresses_4[3]), (row + 2,), np.int64)
        size = starts[row + 1] - starts[row]
        longest = max(longest, size)
        if size == 0 and empty < 0:
            empty = number
        if size > rows_2BL.shape[2]:
            continue
        tokens = numba.carray(_pointer(addresses_4[0]), (starts[row + 1],), np.int32)
        lengths = numba.carray(_pointer(addresses_4[2]), (pieces[row + 1],), np.int32)
        tokens_L, document_L = rows_2BL[0, number], rows_2BL[1, number]
        tokens_L[:size] = tokens[starts[row] : starts[row + 1]]
        for piece in range(pieces[row], pieces[row + 1]):
            end = min(at + lengths[piece], size)
            document_L[at:end] = piece - pieces[row] + 1
            at = end
        tokens_L[size:] = 0
        document_L[at:] = 0
    return longest, empty


def spare_array(block: Block) -> Tokens | None:
    """Return the memory of a block's tokens; it may be used again when `sys.getrefcount` says that nothing else holds it."""
    return block.tokens.values_V.base


def _room(size: int, spare: list[Tokens]) -> Tokens:
    """Return an array: memory that was used before, for the first touch of a new page costs more than decoding into it."""
    with suppress(IndexError):
        held = spare.pop()
        if len(held) >= size:
            return held[:size]
    return np.empty(-(-size // _ROOM_STEP) * _ROOM_STEP, np.int32)[:size]


def _read_file(store: Store, parts: Sequence[Part], spare: list[Tokens]) -> Block:
    groups = [group for group, _, _ in parts]
    if all(group.tokens.codec and group.lengths.codec for group in groups):
        try:
            return _decode_file(store, parts, spare)
        except UnusualPagesError:
            pass
        except (OSError, pa.ArrowInvalid) as error:
            raise unreadable(groups, error) from error
    rows = read_row_groups(store, groups, ["tokens", "lengths"])
    rows = rows.slice(parts[0][1], len(rows) - parts[0][1] - groups[-1].num_rows + parts[-1][2])
    return Block(tokens=_lists(rows["tokens"]), lengths=_lists(rows["lengths"]))


def _decode_file(store: Store, parts: Sequence[Part], spare: list[Tokens]) -> Block:
    first, last = parts[0][0], parts[-1][0]
    begin = min(first.tokens.begin, first.lengths.begin)
    end = max(chunk.begin + chunk.num_bytes for chunk in (last.tokens, last.lengths))
    raw = _read(store, first.path, begin, end)

    def decode(group: RowGroup, chunk: ColumnChunk, out: Numbers | None = None) -> Lists:
        held = raw[chunk.begin - begin : chunk.begin - begin + chunk.num_bytes]
        return decode_lists(held, codec=chunk.codec, num_values=chunk.num_values, num_rows=group.num_rows, out=out)

    lengths = _join([_cut(decode(group, group.lengths), start, stop) for group, start, stop in parts])
    starts_R = np.concatenate([[0], np.cumsum(lengths.values_V, dtype=np.int64)])[lengths.starts_R]
    tokens = _room(int(starts_R[-1]), spare)
    at = row = 0
    for group, start, stop in parts:
        is_whole = stop - start == group.num_rows
        fits = is_whole and at + group.tokens.num_values <= len(tokens)
        held = decode(group, group.tokens, tokens[at : at + group.tokens.num_values] if fits else None)
        held = _cut(held, start, stop)
        if not np.array_equal(held.starts_R, starts_R[row : row + stop - start + 1] - at):
            raise OSError("its pieces are not as long as its sequences")
        if not fits:
            tokens[at : at + len(held.values_V)] = held.values_V
        at, row = at + len(held.values_V), row + stop - start
    return Block(tokens=Lists(values_V=tokens, starts_R=starts_R), lengths=lengths)


def _read(store: Store, path: str, begin: int, end: int) -> Any:
    """Return bytes of a file, in memory that the thread's next reading uses again."""
    if len(getattr(_scratch, "bytes", b"")) < end - begin:
        _scratch.bytes = np.empty(end - begin, np.uint8)
    raw = _scratch.bytes[: end - begin]
    with store.open_input(path) as source:
        source.seek(begin)
        num_read = source.readinto(raw.data)
    if num_read != end - begin:
        raise OSError(f"wanted {end - begin:,} bytes from byte {begin:,} on, got {num_read:,}")
    raw.flags.writeable = False
    return raw


def _cut(lists: Lists, start: int, stop: int) -> Lists:
    begin, end = lists.starts_R[start], lists.starts_R[stop]
    return Lists(values_V=lists.values_V[begin:end], starts_R=lists.starts_R[start : stop + 1] - begin)


def _join(lists: Sequence[Lists]) -> Lists:
    """Return the rows of all, in memory of their own: a slice would keep its row group alive."""
    ends = np.cumsum([0, *(len(held.values_V) for held in lists)])
    starts = [held.starts_R[:-1] + end for held, end in zip(lists, ends.tolist(), strict=False)]
    return Lists(
        values_V=np.concatenate([held.values_V for held in lists]),
        starts_R=np.concatenate([*starts, ends[-1:]]),
    )


def _lists(column: pa.ChunkedArray) -> Lists:
    chunks: list[Any] = column.chunks
    sizes = np.concatenate([chunk.value_lengths().to_numpy() for chunk in chunks])
    return Lists(
        values_V=np.concatenate([chunk.flatten().to_numpy() for chunk in chunks]),
        starts_R=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
    )
