"""Reading single sequences of a component, a block of neighbours at a time.

The order of a mixture keeps to a few blocks of each component for a while (`corpusmill.mix.permutation`), so a cache of
blocks is hit nearly always. Memory: the cache's bound, one row group while it is decoded.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.lake.store import Store
from corpusmill.stream.index import ComponentIndex, read_row_group

Tokens = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The rows of some sequences: what pieces each has and whose they are."""

    partition: str
    doc_ids: list[str]
    starts: list[int]
    lengths: list[int]


class SequenceReader:
    """Gives any sequence of any component; keeps the blocks used last. Pickles without them."""

    def __init__(
        self, store: Store, components: Sequence[ComponentIndex], *, block_sequences: int, cache_bytes: int
    ) -> None:
        self._store = store
        self._components = list(components)
        self._block_sequences = block_sequences
        self._cache_bytes = cache_bytes
        self._blocks: OrderedDict[tuple[int, int], _Block] = OrderedDict()
        self._held_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_blocks": OrderedDict(), "_held_bytes": 0}

    def read(self, component: int, index: int) -> tuple[Tokens, Tokens]:
        """Return the tokens of a sequence and the lengths of its pieces; both must not be changed."""
        number, row = divmod(index, self._block_sequences)
        block = self._blocks.get((component, number))
        if block is None:
            block = self._load(component, number)
        else:
            self._blocks.move_to_end((component, number))
        return block.sequence(row)

    def read_pieces(self, component: int, index: int) -> Pieces:
        """Return whose tokens a sequence holds; reads one row group's small columns."""
        [(group, start, stop)] = self._components[component].overlapping(index, index + 1)
        rows = read_row_group(self._store, group, ["doc_ids", "starts", "lengths"]).slice(start, stop - start)
        return Pieces(partition=group.partition, **rows.to_pylist()[0])

    def _load(self, component: int, number: int) -> "_Block":
        index = self._components[component]
        start = number * self._block_sequences
        stop = min(start + self._block_sequences, index.num_sequences)
        parts = [
            read_row_group(self._store, group, ["tokens", "lengths"]).slice(first, last - first)
            for group, first, last in index.overlapping(start, stop)
        ]
        block = _Block(pa.concat_tables(parts))
        while self._blocks and self._held_bytes + block.num_bytes > self._cache_bytes:
            self._held_bytes -= self._blocks.popitem(last=False)[1].num_bytes
        self._blocks[component, number] = block
        self._held_bytes += block.num_bytes
        return block


class _Block:
    def __init__(self, rows: pa.Table) -> None:
        self._tokens, self._token_ends = _flat(rows["tokens"])
        self._lengths, self._length_ends = _flat(rows["lengths"])
        self.num_bytes = self._tokens.nbytes + self._lengths.nbytes + 16 * len(rows)

    def sequence(self, row: int) -> tuple[Tokens, Tokens]:
        ends, pieces = self._token_ends, self._length_ends
        return self._tokens[ends[row] : ends[row + 1]], self._lengths[pieces[row] : pieces[row + 1]]


def _flat(lists: pa.ChunkedArray) -> tuple[Tokens, np.ndarray[Any, np.dtype[np.int64]]]:
    """Return all values and where each row's begin, in memory of their own: a slice would keep its row group alive."""
    values = np.concatenate([chunk.flatten().to_numpy() for chunk in lists.chunks])
    sizes = np.concatenate([chunk.value_lengths().to_numpy() for chunk in lists.chunks])
    values.flags.writeable = False
    return values, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
