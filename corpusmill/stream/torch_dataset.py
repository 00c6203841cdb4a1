"""A mixture's stream for PyTorch: batches of tensors, in one global order with any number of ranks and workers.

Worker w of n makes batches w, w + n, ... of its rank, which is how a DataLoader takes turns. Where training stands is
read from the batches that came out, so what workers prefetched does not count. Torch is imported with the first use.

Legend: B = sequences of a batch, L = sequence length.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numba
import numpy as np

from corpusmill.mix.order import IntArray
from corpusmill.stream.loader import HORIZON, LOOKAHEAD, MixtureStream

_PREFETCH = 2
"""Batches that each worker makes ahead."""

Batch = dict[str, Any]
"""The tensors `tokens` (B x L int32, 0 after the end of a sequence), `document` (B x L int32: 1, 2, ... for the pieces
of a sequence, 0 after its end) and `position` (B int64), and the int `next_position`: the global one after this batch."""


class MixtureLoader:
    """Iterates over the batches of one rank with a DataLoader; its state is what was handed out, not what was read.

    Only whole global batches are given (batch_size x world_size), so that all ranks make as many steps.
    """

    def __init__(self, stream: MixtureStream, *, batch_size: int, num_workers: int = 0) -> None:
        if batch_size < 1 or num_workers < 0:
            raise ValueError(f"needs batches of at least 1 and no negative workers, got {batch_size} and {num_workers}")
        self.stream = stream
        self.batch_size = batch_size
        self.num_workers = num_workers

    def __len__(self) -> int:
        """Batches from here to the end."""
        return num_batches(self.stream, self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        from torch.utils.data import DataLoader

        if self.num_workers:
            batches = self._worker_batches()
        else:
            batches = iter(DataLoader(torch_dataset(self.stream, batch_size=self.batch_size), batch_size=None))
        for batch in batches:
            self.stream.seek(batch["next_position"])
            yield batch

    def _worker_batches(self) -> Iterator[Batch]:
        """Yield what workers wrote into memory that all share: to hand over a tensor of its own costs more."""
        import torch
        from torch.utils.data import DataLoader

        size = (self.batch_size, self.stream.plan.sequence_length)
        # A worker begins a batch after the one before the last that it may prefetch was asked for.
        rows_WS2BL = torch.empty((self.num_workers, _PREFETCH + 1, 2, *size), dtype=torch.int32).share_memory_()
        loader = DataLoader(
            _shared_dataset_class()(self.stream, rows_WS2BL),
            batch_size=None,
            num_workers=self.num_workers,
            prefetch_factor=_PREFETCH,
            # A forked worker would inherit open connections and locked thread pools.
            multiprocessing_context="forkserver",
        )
        for start, worker, slot in loader:
            position_B = _rank_positions(self.stream, start=start, batch_size=self.batch_size)
            next_position = start + self.batch_size * self.stream.world_size
            yield _batch(rows_WS2BL[worker, slot].clone(), position_B, next_position=next_position)

    def state_dict(self) -> dict[str, Any]:
        return self.stream.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.stream.load_state_dict(state)


def num_batches(stream: MixtureStream, batch_size: int) -> int:
    """Return how many whole global batches are left."""
    return (stream.num_positions - stream.position) // (batch_size * stream.world_size)


def torch_dataset(stream: MixtureStream, *, batch_size: int) -> Any:
    """Return an IterableDataset of whole batches, from where the stream stands, for `DataLoader(batch_size=None)`."""
    return _dataset_class()(stream, batch_size)


def torch_map_dataset(stream: MixtureStream) -> Any:
    """Return a map-style Dataset of the stream's positions, whichever rank it has.

    An item is a position or a list of them, as a `DataLoader(batch_size=None, sampler=BatchSampler(...))` asks: rows
    of `tokens`, `document` and `position`. What is not asked in the stream's order reads whole blocks for a row.
    """
    return _map_dataset_class()(stream)


def worker_batches(stream: MixtureStream, *, batch_size: int, worker: int = 0, num_workers: int = 1) -> Iterator[Batch]:
    """Yield every `num_workers`-th batch of the stream's rank from where the stream stands, beginning with number `worker`."""
    for start in _batch_starts(stream, batch_size=batch_size, worker=worker, num_workers=num_workers):
        yield make_batch(stream, start=start, batch_size=batch_size)


def make_batch(stream: MixtureStream, *, start: int, batch_size: int) -> Batch:
    """Return the batch of the stream's rank in the global batch that begins at position `start`."""
    position_B = _rank_positions(stream, start=start, batch_size=batch_size)
    rows_2BL = np.empty((2, batch_size, stream.plan.sequence_length), np.int32)
    _write_rows(stream, position_B, rows_2BL)
    return _batch(rows_2BL, position_B, next_position=start + batch_size * stream.world_size)


def _batch_starts(stream: MixtureStream, *, batch_size: int, worker: int, num_workers: int) -> Iterator[int]:
    """Yield where the global batches of a worker begin; what comes is loaded meanwhile."""
    begin, size = stream.position, batch_size * stream.world_size
    numbers = range(worker, num_batches(stream, batch_size), num_workers)
    row_B = stream.rank + np.arange(batch_size) * stream.world_size
    for turn, number in enumerate(numbers):
        if turn % max(1, LOOKAHEAD // batch_size) == 0:
            coming = np.asarray(numbers[turn : turn + max(1, HORIZON // batch_size)])
            stream.expect((begin + coming[:, None] * size + row_B).ravel())
        yield begin + number * size


def _rank_positions(stream: MixtureStream, *, start: int, batch_size: int) -> IntArray:
    return start + stream.rank + np.arange(batch_size) * stream.world_size


def _write_rows(stream: MixtureStream, positions: IntArray, rows_2BL: Any) -> None:
    """Write the tokens at some positions, and beside them which of its sequence's documents each is of."""
    for tokens_L, document_L, (tokens, lengths) in zip(*rows_2BL, stream.read_rows(positions), strict=True):
        _write_row(tokens, lengths, tokens_L, document_L)


def _batch(rows_2BL: Any, position_B: IntArray, *, next_position: int) -> Batch:
    import torch

    tokens_BL, document_BL = torch.as_tensor(rows_2BL)
    return {
        "tokens": tokens_BL,
        "document": document_BL,
        "position": torch.from_numpy(position_B),
        "next_position": next_position,
    }


@numba.njit(cache=True, nogil=True)
def _write_row(tokens: Any, lengths: Any, tokens_L: Any, document_L: Any) -> None:
    at = 0
    for piece in range(len(lengths)):
        end = at + lengths[piece]
        tokens_L[at:end] = tokens[at:end]
        document_L[at:end] = piece + 1
        at = end
    tokens_L[at:] = 0
    document_L[at:] = 0


@functools.cache
def _dataset_class() -> Any:
    from torch.utils.data import IterableDataset, get_worker_info

    class MixtureDataset(IterableDataset):
        def __init__(self, stream: MixtureStream, batch_size: int) -> None:
            self.stream = stream
            self.batch_size = batch_size

        def __reduce__(self) -> tuple[Any, ...]:
            # The class is made in a function, where pickle cannot find it.
            return _open_dataset, (self.stream, self.batch_size)

        def __iter__(self) -> Iterator[Batch]:
            worker = get_worker_info()
            number, of = (worker.id, worker.num_workers) if worker else (0, 1)
            yield from worker_batches(self.stream, batch_size=self.batch_size, worker=number, num_workers=of)

    return MixtureDataset


def _open_dataset(stream: MixtureStream, batch_size: int) -> Any:
    return torch_dataset(stream, batch_size=batch_size)


@functools.cache
def _shared_dataset_class() -> Any:
    from torch.utils.data import IterableDataset, get_worker_info

    class SharedDataset(IterableDataset):
        """Writes batches into memory shared with the loader; gives where each begins, its worker and its slot."""

        def __init__(self, stream: MixtureStream, rows_WS2BL: Any) -> None:
            self.stream = stream
            self.rows_WS2BL = rows_WS2BL

        def __reduce__(self) -> tuple[Any, ...]:
            return _open_shared_dataset, (self.stream, self.rows_WS2BL)

        def __iter__(self) -> Iterator[tuple[int, int, int]]:
            worker = get_worker_info()
            rows_S2BL = self.rows_WS2BL[worker.id].numpy()
            batch_size = rows_S2BL.shape[2]
            starts = _batch_starts(self.stream, batch_size=batch_size, worker=worker.id, num_workers=worker.num_workers)
            for turn, start in enumerate(starts):
                slot = turn % len(rows_S2BL)
                positions = _rank_positions(self.stream, start=start, batch_size=batch_size)
                _write_rows(self.stream, positions, rows_S2BL[slot])
                yield start, worker.id, slot

    return SharedDataset


def _open_shared_dataset(stream: MixtureStream, rows_WS2BL: Any) -> Any:
    return _shared_dataset_class()(stream, rows_WS2BL)


@functools.cache
def _map_dataset_class() -> Any:
    from torch.utils.data import Dataset

    class MixtureMapDataset(Dataset):
        def __init__(self, stream: MixtureStream) -> None:
            self.stream = stream

        def __reduce__(self) -> tuple[Any, ...]:
            return torch_map_dataset, (self.stream,)

        def __len__(self) -> int:
            return self.stream.num_positions

        def __getitem__(self, asked: int | Sequence[int]) -> Batch:
            position_B = np.atleast_1d(np.asarray(asked, np.int64))
            rows_2BL = np.empty((2, len(position_B), self.stream.plan.sequence_length), np.int32)
            _write_rows(self.stream, position_B, rows_2BL)
            batch = _batch(rows_2BL, position_B, next_position=0)
            del batch["next_position"]
            return batch if np.ndim(asked) else {name: rows[0] for name, rows in batch.items()}

    return MixtureMapDataset
