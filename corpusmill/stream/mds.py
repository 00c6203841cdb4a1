"""A stretch of a stream as MDS, the shards that mosaicml-streaming reads: `shard.00000.mds`, ... and index.json in a folder.

A row is one packed sequence, in the order of the stream, with three columns: `tokens` (int32, exactly its tokens, not
padded), `lengths` (int32, tokens of each document piece) and `position` (int, in the stream). As every shard but the last
holds as many sequences, a shard that is there is whole and says which positions it has: an export that was interrupted
goes on behind it. Memory: one shard. Layout: mosaicml-streaming 0.13, `streaming/base/format/mds`, version 2.
"""

import json
import struct
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from corpusmill.stream.export import checked_stop, refuse_existing, samples_between, whole_file
from corpusmill.stream.loader import MixtureStream, Sample
from corpusmill.stream.reader import Tokens

INDEX = "index.json"
UNFINISHED = "unfinished.json"
"""Says what is being exported, for as long as there is no index."""
SHARD_BYTES = 64 << 20
"""Of a shard's tokens, as mosaicml's own writer has it."""
_COLUMNS: dict[str, tuple[str, int | None]] = {
    "lengths": ("ndarray:int32", None),
    "position": ("int", 8),
    "tokens": ("ndarray:int32", None),
}
"""Encoding and fixed size; rows and headers have the columns by name."""


@dataclass(frozen=True, kw_only=True)
class MdsExport:
    """What was written."""

    folder: Path
    num_shards: int
    num_reused: int
    """Shards that an interrupted export had written."""
    num_sequences: int


def export_mds(
    stream: MixtureStream, folder: str | Path, *, stop: int | None = None, sequences_per_shard: int | None = None
) -> MdsExport:
    """Write what the stream's rank has from where it stands up to position `stop`, or to the end; the index comes last.

    Called again after an interruption it keeps the shards that are there. Raises ValueError for a stretch without
    sequences or a folder with the beginning of another export, and FileExistsError for a finished one.
    """
    out, end = Path(folder), checked_stop(stream, stop)
    size = (
        max(1, SHARD_BYTES // (4 * stream.plan.sequence_length)) if sequences_per_shard is None else sequences_per_shard
    )
    if size < 1:
        raise ValueError(f"wanted shards of at least 1 sequence, got {size}")
    positions = range(stream.position + stream.rank, end, stream.world_size)
    if not positions:
        raise ValueError(
            f"rank {stream.rank} has no sequence of positions {stream.position} to {end}; nothing to write"
        )
    refuse_existing(out / INDEX)
    _begin(
        out, {"mix": stream.mix, "positions": [positions.start, end, stream.world_size], "sequences_per_shard": size}
    )
    shards, num_reused = [], 0
    for number, first in enumerate(range(0, len(positions), size)):
        file, held = out / f"shard.{number:05}.mds", positions[first : first + size]
        if file.exists():
            num_reused += 1
        else:
            samples = samples_between(stream, held.start - stream.rank, end)
            _write_shard(file, list(map(_row, islice(samples, len(held)))))
        shards.append(_described(file, len(held)))
    with whole_file(out / INDEX) as index:
        index.write(json.dumps({"shards": shards, "version": 2}, sort_keys=True).encode())
    (out / UNFINISHED).unlink()
    return MdsExport(folder=out, num_shards=len(shards), num_reused=num_reused, num_sequences=len(positions))


def _begin(out: Path, what: dict[str, Any]) -> None:
    """Note in the folder what is exported into it, or check that it is the same that was begun there."""
    out.mkdir(parents=True, exist_ok=True)
    note = out / UNFINISHED
    if not note.exists():
        if strangers := sorted(file.name for file in out.iterdir() if file.suffix != ".part"):
            raise FileExistsError(f"{out} holds other files ({strangers[0]}); give a new folder")
        with whole_file(note) as file:
            file.write(json.dumps(what).encode())
    begun = json.loads(note.read_bytes())
    if begun != what:
        raise ValueError(
            f"{out} holds the beginning of another export: wanted {what}, got {begun}; give another folder"
        )


def _write_shard(file: Path, rows: list[bytes]) -> None:
    """Write the number of rows, where each begins and the last one ends, the columns, and the rows."""
    columns = json.dumps(_shard_settings(), sort_keys=True).encode()
    first = 4 * (1 + len(rows) + 1) + len(columns)
    starts = first + np.cumsum([0, *map(len, rows)])
    with whole_file(file) as out:
        out.write(struct.pack("<I", len(rows)) + starts.astype("<u4").tobytes() + columns)
        out.writelines(rows)


def _row(sample: Sample) -> bytes:
    """Return the sizes of the columns that have no fixed one, then the columns."""
    lengths, tokens = _array(sample.lengths), _array(sample.tokens)
    sizes = struct.pack("<II", len(lengths), len(tokens))
    return b"".join((sizes, lengths, struct.pack("<q", sample.position), tokens))


def _array(values: Tokens) -> bytes:
    """Return one dimension and how wide its length is spelled (0 to 2: 1, 2 or 4 bytes), the length, and the values."""
    width = 0 if len(values) < 1 << 8 else 1 if len(values) < 1 << 16 else 2
    return bytes([1 << 2 | width]) + len(values).to_bytes(1 << width, "little") + values.astype("<i4").tobytes()


def _shard_settings() -> dict[str, Any]:
    encodings, sizes = zip(*_COLUMNS.values(), strict=True)
    return {
        "column_encodings": list(encodings),
        "column_names": list(_COLUMNS),
        "column_sizes": list(sizes),
        "compression": None,
        "format": "mds",
        "hashes": [],
        "size_limit": None,
        "version": 2,
    }


def _described(file: Path, num_sequences: int) -> dict[str, Any]:
    raw = {"basename": file.name, "bytes": file.stat().st_size, "hashes": {}}
    return {**_shard_settings(), "raw_data": raw, "samples": num_sequences, "zip_data": None}
