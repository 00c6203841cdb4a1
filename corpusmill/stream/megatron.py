"""A stretch of a stream as Megatron's indexed dataset: the tokens in PREFIX.bin, where each sequence lies in PREFIX.idx.

Each packed sequence is one sequence and one document there, in the order of the stream, with exactly its tokens. The format
has no place for the boundaries inside a sequence; where a trainer needs them, the tokenization must end documents with a
token of their own. Memory: 4 bytes a sequence. Layout: Megatron-LM, `megatron/core/datasets/indexed_dataset.py`.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpusmill.stream.export import checked_stop, refuse_existing, samples_between, whole_file
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.numbers import check_int
from corpusmill.stream.reader import Tokens

_MAGIC = b"MMIDIDX\x00\x00"
_VERSION = 1
_CODES = {np.dtype(np.int32): 4, np.dtype(np.uint16): 8}
_MOST_FOR_UINT16 = 65_500
"""Megatron's own limit for tokens of two bytes."""


@dataclass(frozen=True, kw_only=True)
class MegatronExport:
    """What was written."""

    bin_file: Path
    idx_file: Path
    num_sequences: int
    num_tokens: int


def export_megatron(
    stream: MixtureStream, prefix: str | Path, *, vocabulary_size: int, stop: int | None = None
) -> MegatronExport:
    """Write what the stream's rank has from where it stands up to position `stop`, or to the end.

    The index is written last, so that without one nothing was finished. Raises ValueError for a token that the vocabulary
    does not have, and FileExistsError.
    """
    bin_file, idx_file = Path(f"{prefix}.bin"), Path(f"{prefix}.idx")
    check_int("vocabulary_size", vocabulary_size, least=1)
    dtype = np.dtype(np.uint16 if vocabulary_size < _MOST_FOR_UINT16 else np.int32)
    refuse_existing(idx_file)
    samples = samples_between(stream, stream.position, checked_stop(stream, stop))
    with whole_file(bin_file) as file:
        lengths = [file.write(_spelled(one.tokens, dtype, vocabulary_size)) // dtype.itemsize for one in samples]
    with whole_file(idx_file) as file:
        file.write(_index(np.array(lengths, np.int32), dtype))
    return MegatronExport(bin_file=bin_file, idx_file=idx_file, num_sequences=len(lengths), num_tokens=sum(lengths))


def _spelled(tokens: Tokens, dtype: np.dtype, vocabulary_size: int) -> bytes:
    if len(tokens) and not 0 <= tokens.min() <= tokens.max() < vocabulary_size:
        raise ValueError(f"wanted tokens from 0 to {vocabulary_size - 1}, got {tokens.min()} to {tokens.max()}")
    return tokens.astype(dtype).tobytes()


def _index(length_S: np.ndarray, dtype: np.dtype) -> bytes:
    pointer_S = (np.cumsum(length_S, dtype=np.int64) - length_S) * dtype.itemsize
    document_S = np.arange(len(length_S) + 1, dtype=np.int64)
    head = _MAGIC + struct.pack("<QBQQ", _VERSION, _CODES[dtype], len(length_S), len(document_S))
    return head + length_S.tobytes() + pointer_S.tobytes() + document_S.tobytes()
