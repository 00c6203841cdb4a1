"""What every export of a stream shares: which stretch is written, and files that have their name only once they are whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from corpusmill.stream.loader import MixtureStream, Sample


def checked_stop(stream: MixtureStream, stop: int | None) -> int:
    """Return the position to stop before; None is the end. Raises ValueError for one that the stream does not come to."""
    end = stream.num_positions if stop is None else stop
    if not stream.position <= end <= stream.num_positions:
        raise ValueError(f"wanted a stop from {stream.position} to {stream.num_positions}, got {end}")
    return end


def samples_between(stream: MixtureStream, start: int, stop: int) -> Iterator[Sample]:
    """Yield what the stream's rank has of these positions, without moving the stream."""
    if start + stream.rank >= stop:
        return
    reading = stream.for_rank(stream.rank, stream.world_size)
    reading.seek(start)
    for sample in reading:
        yield sample
        if sample.position + stream.world_size >= stop:
            return


def refuse_existing(path: Path) -> None:
    """Raise FileExistsError for a file that is there."""
    if path.exists():
        raise FileExistsError(f"{path} is there already; write to another place or remove it")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that gets its name when it is complete; raises FileExistsError."""
    refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
