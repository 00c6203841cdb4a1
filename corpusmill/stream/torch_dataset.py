"""A mixture's stream for PyTorch: batches of tensors, in one global order with any number of ranks and workers.

Worker w of n makes batches w, w + n, ... of its rank, which is how a DataLoader takes turns. Where training stands is
read from the batches that came out, so what workers prefetched does not count. Torch is imported with the first use.

Legend: B = sequences of a batch, L = sequence length, both as the phase has them.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from corpusmill.mix.order import IntArray
from corpusmill.stream.loader import HORIZON, LOOKAHEAD, MixtureStream
from corpusmill.stream.numbers import check_int
from corpusmill.stream.schedule import Schedule, schedule_batches

_PREFETCH = 2
"""Batches that each worker makes ahead."""

Batch = dict[str, Any]
"""The tensors `tokens` (B x L int32, 0 after the end of a sequence), `document` (B x L int32: 1, 2, ... for the pieces
of a sequence, 0 after its end) and `position` (B int64), and the int `next_position`: the global one after this batch."""


class MixtureLoader:
    """Iterates over the batches of one rank with a DataLoader; its state is what was handed out, not what was read.

    Only whole global batches are given (batch_size x world_size), so that all ranks make as many steps. `batch_size` counts
    sequences of the mixture's length: of the longer ones of a phase as many come as hold the same tokens.
    """

    def __init__(self, stream: MixtureStream, *, batch_size: int, num_workers: int = 0) -> None:
        check_int("batch_size", batch_size, least=1)
        check_int("num_workers", num_workers, least=0)
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

        schedule = _schedule(self.stream, self.batch_size)
        num_tokens = self.batch_size * self.stream.plan.sequence_length
        # A worker begins a batch after the one before the last that it may prefetch was asked for.
        rows_WS2T = torch.empty((self.num_workers, _PREFETCH + 1, 2, num_tokens), dtype=torch.int32).share_memory_()
        loader = DataLoader(
            _shared_dataset_class()(self.stream, self.batch_size, rows_WS2T),
            batch_size=None,
            num_workers=self.num_workers,
            prefetch_factor=_PREFETCH,
            # A forked worker would inherit open connections and locked thread pools.
            multiprocessing_context="forkserver",
        )
        for number, worker, slot in loader:
            run = schedule.run_of(number)
            rows_2BL = rows_WS2T[worker, slot].clone().view(2, run.rows, run.length)
            yield _batch(self.stream, schedule, number, rows_2BL)

    def state_dict(self) -> dict[str, Any]:
        return self.stream.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.stream.load_state_dict(state)


def num_batches(stream: MixtureStream, batch_size: int) -> int:
    """Return how many whole global batches are left."""
    return _schedule(stream, batch_size).num_batches


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
    schedule = _schedule(stream, batch_size)
    for number in _batch_numbers(stream, schedule, worker=worker, num_workers=num_workers):
        yield make_batch(stream, schedule, number)


def make_batch(stream: MixtureStream, schedule: Schedule, number: int) -> Batch:
    """Return the batch of the stream's rank in a global batch of the schedule."""
    run = schedule.run_of(number)
    rows_2BL = np.empty((2, run.rows, run.length), np.int32)
    stream.write_rows(_positions(stream, schedule, number), rows_2BL)
    return _batch(stream, schedule, number, rows_2BL)


def _schedule(stream: MixtureStream, batch_size: int) -> Schedule:
    return schedule_batches(
        stream.whole_plan, position=stream.position, batch_size=batch_size, world_size=stream.world_size
    )


def _batch_numbers(stream: MixtureStream, schedule: Schedule, *, worker: int, num_workers: int) -> Iterator[int]:
    """Yield the numbers of the batches of a worker; what comes is loaded meanwhile."""
    numbers = range(worker, schedule.num_batches, num_workers)
    expected_at = 0
    for turn, number in enumerate(numbers):
        rows = schedule.run_of(number).rows
        if turn == expected_at:
            expected_at += max(1, LOOKAHEAD // rows)
            coming = numbers[turn : turn + max(1, HORIZON // rows)]
            stream.expect(np.concatenate([_positions(stream, schedule, one) for one in coming]))
        yield number


def _positions(stream: MixtureStream, schedule: Schedule, number: int) -> IntArray:
    return schedule.start_of(number) + stream.rank + np.arange(schedule.run_of(number).rows) * stream.world_size


def _batch(stream: MixtureStream, schedule: Schedule, number: int, rows_2BL: Any) -> Batch:
    tensors = _tensors(rows_2BL, _positions(stream, schedule, number))
    return {**tensors, "next_position": schedule.start_of(number + 1)}


def _tensors(rows_2BL: Any, position_B: IntArray) -> Batch:
    import torch

    tokens_BL, document_BL = torch.as_tensor(rows_2BL)
    return {"tokens": tokens_BL, "document": document_BL, "position": torch.from_numpy(position_B)}


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
        """Writes batches into memory shared with the loader; gives the number of each, its worker and its slot."""

        def __init__(self, stream: MixtureStream, batch_size: int, rows_WS2T: Any) -> None:
            self.stream = stream
            self.batch_size = batch_size
            self.rows_WS2T = rows_WS2T

        def __reduce__(self) -> tuple[Any, ...]:
            return _open_shared_dataset, (self.stream, self.batch_size, self.rows_WS2T)

        def __iter__(self) -> Iterator[tuple[int, int, int]]:
            worker = get_worker_info()
            schedule = _schedule(self.stream, self.batch_size)
            rows_S2T = self.rows_WS2T[worker.id].numpy()
            numbers = _batch_numbers(self.stream, schedule, worker=worker.id, num_workers=worker.num_workers)
            for turn, number in enumerate(numbers):
                slot, run = turn % len(rows_S2T), schedule.run_of(number)
                rows_2BL = rows_S2T[slot].reshape(2, run.rows, run.length)
                self.stream.write_rows(_positions(self.stream, schedule, number), rows_2BL)
                yield number, worker.id, slot

    return SharedDataset


def _open_shared_dataset(stream: MixtureStream, batch_size: int, rows_WS2T: Any) -> Any:
    return _shared_dataset_class()(stream, batch_size, rows_WS2T)


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
            length = max(map(self.stream.plan.length_at, position_B.tolist()), default=self.stream.plan.sequence_length)
            rows_2BL = np.empty((2, len(position_B), length), np.int32)
            self.stream.write_rows(position_B, rows_2BL)
            batch = _tensors(rows_2BL, position_B)
            return batch if np.ndim(asked) else {name: rows[0] for name, rows in batch.items()}

    return MixtureMapDataset
