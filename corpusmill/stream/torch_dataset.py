"""A mixture's stream for PyTorch: batches of tensors, in one global order with any number of ranks and workers.

Worker w of n makes batches w, w + n, ... of its rank, which is how a DataLoader takes turns. Where training stands is
read from the batches that came out, so what workers prefetched does not count. Torch is imported with the first use.

Legend: B = sequences of a batch, L = sequence length.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from corpusmill.stream.loader import HORIZON, LOOKAHEAD, MixtureStream

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

        dataset = torch_dataset(self.stream, batch_size=self.batch_size)
        # A forked worker would inherit open connections and locked thread pools.
        context = "forkserver" if self.num_workers else None
        loader = DataLoader(dataset, batch_size=None, num_workers=self.num_workers, multiprocessing_context=context)
        for batch in loader:
            self.stream.seek(batch["next_position"])
            yield batch

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


def worker_batches(stream: MixtureStream, *, batch_size: int, worker: int = 0, num_workers: int = 1) -> Iterator[Batch]:
    """Yield every `num_workers`-th batch of the stream's rank from where the stream stands, beginning with number `worker`."""
    begin, size = stream.position, batch_size * stream.world_size
    numbers = range(worker, num_batches(stream, batch_size), num_workers)
    row_B = stream.rank + np.arange(batch_size) * stream.world_size
    for turn, number in enumerate(numbers):
        if turn % max(1, LOOKAHEAD // batch_size) == 0:
            coming = np.asarray(numbers[turn : turn + max(1, HORIZON // batch_size)])
            stream.expect((begin + coming[:, None] * size + row_B).ravel())
        yield make_batch(stream, start=begin + number * size, batch_size=batch_size)


def make_batch(stream: MixtureStream, *, start: int, batch_size: int) -> Batch:
    """Return the batch of the stream's rank in the global batch that begins at position `start`."""
    import torch

    stop = start + batch_size * stream.world_size
    samples = stream.read(range(start + stream.rank, stop, stream.world_size))
    tokens_BL = np.zeros((batch_size, stream.plan.sequence_length), np.int32)
    document_BL = np.zeros_like(tokens_BL)
    for row, sample in enumerate(samples):
        tokens_BL[row, : len(sample.tokens)] = sample.tokens
        document_BL[row, : len(sample.tokens)] = np.repeat(np.arange(1, len(sample.lengths) + 1), sample.lengths)
    return {
        "tokens": torch.from_numpy(tokens_BL),
        "document": torch.from_numpy(document_BL),
        "position": torch.tensor([sample.position for sample in samples]),
        "next_position": stop,
    }


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
