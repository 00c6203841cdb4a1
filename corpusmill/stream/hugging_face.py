"""A mixture's stream as an IterableDataset of Hugging Face `datasets`, which is imported with the first use.

A row is one packed sequence of the stream's rank: `input_ids` (not padded), `lengths` (tokens of each document piece),
`position`, and `next_position`, where a stream of any number of ranks goes on after this row of all ranks. The stream is
cut into stretches, which `datasets` takes for shards: one process reads them in order, so rows come in the stream's order;
workers of a DataLoader share them, so that the rows are the same and their order is not. Its `state_dict` names a stretch
and a row in it: going on reads at most a stretch again, and wants a stream that was opened at the same position and rank.
"""

from collections.abc import Iterator
from typing import Any

from corpusmill.stream.export import samples_between
from corpusmill.stream.loader import MixtureStream

STRETCH = 1_024
"""Positions of a stretch for each rank, at least."""
MOST_STRETCHES = 1 << 14


def hugging_face_dataset(stream: MixtureStream) -> Any:
    """Return what the stream's rank has from where it stands; raises ValueError where `datasets` is not installed.

    The rank is the stream's own: do not split it by node once more.
    """
    try:
        from datasets import Features, IterableDataset, Sequence, Value
    except ImportError as error:
        raise ValueError(
            "a stream as a Hugging Face dataset needs the package datasets, which is not installed: pip install datasets"
        ) from error
    numbers = Sequence(Value("int32"))
    features = Features(
        {"input_ids": numbers, "lengths": numbers, "position": Value("int64"), "next_position": Value("int64")}
    )
    # A list is what `datasets` takes for shards.
    given = {"stream": stream, "stretches": list(stretches(stream))}
    return IterableDataset.from_generator(rows, features=features, gen_kwargs=given)


def stretches(stream: MixtureStream) -> Iterator[tuple[int, int]]:
    """Yield the first position of each stretch and the one after its last."""
    left = stream.num_positions - stream.position
    length = stream.world_size * max(STRETCH, -(-left // (MOST_STRETCHES * stream.world_size)))
    for start in range(stream.position, stream.num_positions, length):
        yield start, min(start + length, stream.num_positions)


def rows(stream: MixtureStream, stretches: list[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of some stretches."""
    for start, stop in stretches:
        for sample in samples_between(stream, start, stop):
            yield {
                "input_ids": sample.tokens,
                "lengths": sample.lengths,
                "position": sample.position,
                "next_position": sample.position - stream.rank + stream.world_size,
            }
