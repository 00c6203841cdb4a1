"""A stretch of the stream as Megatron's files, read back by the format's own rules."""

import struct
from pathlib import Path

import numpy as np
import pytest

from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.megatron import MegatronExport, export_megatron


def read_back(prefix: Path) -> list[list[int]]:
    """Read every document of an indexed dataset as Megatron does: header, lengths, byte offsets, documents."""
    index = Path(f"{prefix}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, num_sequences, num_documents = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1 and num_documents == num_sequences + 1
    dtype = {4: np.dtype(np.int32), 8: np.dtype(np.uint16)}[code]
    lengths = np.frombuffer(index, np.int32, num_sequences, 34)
    pointers = np.frombuffer(index, np.int64, num_sequences, 34 + 4 * num_sequences)
    documents = np.frombuffer(index, np.int64, offset=34 + 12 * num_sequences)
    assert documents.tolist() == list(range(num_documents))
    tokens = Path(f"{prefix}.bin").read_bytes()
    return [
        np.frombuffer(tokens, dtype, length, pointer).tolist()
        for length, pointer in zip(lengths, pointers, strict=True)
    ]


def test_tokens_and_order_are_the_streams(demo, tmp_path):
    stream = MixtureStream(demo.settings, "demo", rank=1, world_size=3, start=10)
    wanted = [one.tokens.tolist() for one in stream.read(range(11, 60, 3))]
    made = export_megatron(stream, tmp_path / "mix", vocabulary_size=3_000_000, stop=60)
    assert made == MegatronExport(
        bin_file=tmp_path / "mix.bin",
        idx_file=tmp_path / "mix.idx",
        num_sequences=17,
        num_tokens=sum(map(len, wanted)),
    )
    assert read_back(tmp_path / "mix") == wanted
    assert stream.position == 10
    whole = MixtureStream(demo.settings, "demo")
    export_megatron(whole, tmp_path / "whole", vocabulary_size=3_000_000)
    assert read_back(tmp_path / "whole") == [one.tokens.tolist() for one in whole]
    assert export_megatron(stream, tmp_path / "none", vocabulary_size=10, stop=11).num_sequences == 0
    assert read_back(tmp_path / "none") == []


def test_small_vocabularies_take_two_bytes_a_token(small_lake, tmp_path):
    row = {"sequence": 0, "tokens": [1, 65_000, 3], "doc_ids": ["a"], "lengths": [3], "starts": [0]}
    small_lake.commit_sequences("tokenized/web/sequences", "s1", [[row]])
    small_lake.plan({"web": 1}, budget_tokens=3)
    made = export_megatron(MixtureStream(small_lake.settings, "demo"), tmp_path / "mix", vocabulary_size=65_001)
    assert made.bin_file.stat().st_size == 6
    assert read_back(tmp_path / "mix") == [[1, 65_000, 3]]


def test_what_cannot_be_written_leaves_nothing(demo, tmp_path):
    stream = MixtureStream(demo.settings, "demo")
    with pytest.raises(ValueError, match=r"wanted tokens from 0 to 999, got \d+ to \d+"):
        export_megatron(stream, tmp_path / "mix", vocabulary_size=1_000)
    with pytest.raises(ValueError, match=f"wanted a stop from 0 to {stream.num_positions}, got 1000"):
        export_megatron(stream, tmp_path / "mix", vocabulary_size=1_000, stop=1_000)
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == []
    (tmp_path / "mix.bin").touch()
    with pytest.raises(FileExistsError, match=r"mix\.bin is there already; write to another place or remove it"):
        export_megatron(stream, tmp_path / "mix", vocabulary_size=3_000_000)
    (tmp_path / "mix.bin").rename(tmp_path / "mix.idx")
    with pytest.raises(FileExistsError, match=r"mix\.idx is there already"):
        export_megatron(stream, tmp_path / "mix", vocabulary_size=3_000_000)
    assert not (tmp_path / "mix.bin").exists()
