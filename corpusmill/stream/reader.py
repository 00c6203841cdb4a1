"""Reading single sequences of a component, a block of neighbours at a time.

The order of a mixture keeps to a few blocks of each component for a while (`corpusmill.mix.permutation`), so a cache of
blocks is hit nearly always. What is told to come next is loaded by threads meanwhile, so that neither a slow storage nor
decoding holds up the one who reads. Memory: the cache's bound, AHEAD blocks that wait to be taken or are being
decoded, and the blocks of a batch while it is made.
"""

import os
import sys
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from corpusmill.lake.store import Store
from corpusmill.mix.order import IntArray
from corpusmill.stream.block import Block, Tokens, read_block, spare_array
from corpusmill.stream.index import ComponentIndex, read_row_group

AHEAD = 4
"""Blocks that are loaded before they are asked for: as many as a component's order turns to at once."""

_NUMBER_BITS = 44
"""Of a block's number in its component; more bits than any has blocks."""


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """The rows of some sequences: what pieces each has and whose they are."""

    partition: str
    doc_ids: list[str]
    starts: list[int]
    lengths: list[int]


class Reader(Protocol):
    """What a stream reads from: `component` is a number in the plan, `index` one of its sequences."""

    def read(self, component: int, index: int) -> tuple[Tokens, Tokens]: ...
    def blocks(self, component_B: IntArray, index_B: IntArray) -> tuple[list[Block], IntArray, IntArray]: ...
    def read_pieces(self, component: int, index: int) -> Pieces: ...
    def expect(self, components: Sequence[int], indexes: Sequence[int]) -> None: ...


class SequenceReader:
    """Gives any sequence of any component; keeps the blocks used last. Pickles without them.

    In a forked process, which has none of the threads that load ahead, it begins anew.
    """

    def __init__(
        self, store: Store, components: Sequence[ComponentIndex], *, blocks: Sequence[int], cache_bytes: int
    ) -> None:
        self._store = store
        self._components = list(components)
        self._block_sizes = list(blocks)
        self._cache_bytes = cache_bytes
        self._blocks: OrderedDict[tuple[int, int], Block] = OrderedDict()
        self._held_bytes = 0
        self._coming: deque[tuple[int, int]] = deque()
        self._loading: dict[tuple[int, int], Future[Block]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._spare: list[Tokens] = []
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **_fresh()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _process=os.getpid())

    def add(self, components: Sequence[ComponentIndex], *, blocks: Sequence[int]) -> None:
        """Read from more components, numbered after those that there are."""
        self._components += components
        self._block_sizes += blocks

    def expect(self, components: Sequence[int], indexes: Sequence[int]) -> None:
        """Load the blocks of these sequences in the background, in the order in which they come, AHEAD at a time.

        It forgets what was expected before; a block that cannot be loaded raises when it is read.
        """
        self._begin_anew_if_forked()
        keys = (
            (component, index // self._block_sizes[component])
            for component, index in zip(components, indexes, strict=True)
        )
        self._coming = deque(dict.fromkeys(keys))
        self._load_ahead()

    def read(self, component: int, index: int) -> tuple[Tokens, Tokens]:
        """Return the tokens of a sequence and the lengths of its pieces; both must not be changed."""
        number, row = divmod(index, self._block_sizes[component])
        return self._block(component, number).sequence(row)

    def blocks(self, component_B: IntArray, index_B: IntArray) -> tuple[list[Block], IntArray, IntArray]:
        """Return the blocks of some sequences, and for each the number of its block among these and its row there."""
        number_B, row_B = np.divmod(index_B, np.asarray(self._block_sizes, np.int64)[component_B])
        pairs, block_B = np.unique(component_B << _NUMBER_BITS | number_B, return_inverse=True)
        found = [self._block(pair >> _NUMBER_BITS, pair & (1 << _NUMBER_BITS) - 1) for pair in pairs.tolist()]
        return found, block_B, row_B

    def read_pieces(self, component: int, index: int) -> Pieces:
        """Return whose tokens a sequence holds; reads one row group's small columns."""
        [(group, start, stop)] = self._components[component].overlapping(index, index + 1)
        rows = read_row_group(self._store, group, ["doc_ids", "starts", "lengths"]).slice(start, stop - start)
        return Pieces(partition=group.partition, **rows.to_pylist()[0])

    def _block(self, component: int, number: int) -> Block:
        block = self._blocks.get((component, number))
        if block is None:
            return self._take(component, number)
        self._blocks.move_to_end((component, number))
        return block

    def _take(self, component: int, number: int) -> Block:
        """Load a block, or wait for it where it is being loaded, and keep it."""
        self._begin_anew_if_forked()
        loading = self._loading.pop((component, number), None)
        block = loading.result() if loading else self._load(component, number)
        while self._blocks and self._held_bytes + block.num_bytes > self._cache_bytes:
            self._evict()
        self._blocks[component, number] = block
        self._held_bytes += block.num_bytes
        self._load_ahead()
        return block

    def _begin_anew_if_forked(self) -> None:
        if self._process != os.getpid():
            self.__dict__.update(_fresh(), _process=os.getpid())

    def _evict(self) -> None:
        block = self._blocks.popitem(last=False)[1]
        self._held_bytes -= block.num_bytes
        array = spare_array(block)
        del block
        # Held by this name and the call only: no batch or sample is in it.
        if array is not None and len(self._spare) < AHEAD and sys.getrefcount(array) == 2:
            self._spare.append(array)

    def _load_ahead(self) -> None:
        while self._coming and len(self._loading) < AHEAD:
            key = self._coming.popleft()
            if key not in self._blocks and key not in self._loading:
                self._threads = self._threads or ThreadPoolExecutor(AHEAD, thread_name_prefix="blocks")
                self._loading[key] = self._threads.submit(self._load, *key)

    def _load(self, component: int, number: int) -> Block:
        index = self._components[component]
        start = number * self._block_sizes[component]
        stop = min(start + self._block_sizes[component], index.num_sequences)
        return read_block(self._store, list(index.overlapping(start, stop)), spare=self._spare)


def _fresh() -> dict[str, Any]:
    """Return the state of a reader that has read nothing yet."""
    nothing = {"_blocks": OrderedDict(), "_held_bytes": 0, "_coming": deque(), "_loading": {}}
    return {**nothing, "_threads": None, "_spare": []}
