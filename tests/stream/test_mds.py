"""A stretch of the stream as mosaicml's shards, read back by the format's own rules."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.mds import MdsExport, export_mds
from jobs.command import main

Rows = list[dict[str, list[int]]]


def decoded(data: bytes, encoding: str) -> list[int]:
    """Decode one column: `int` is int64, of an array come dimensions and width of a length, the length, the values."""
    if encoding == "int":
        return np.frombuffer(data, "<i8").tolist()
    kind, dtype = encoding.split(":")
    assert kind == "ndarray" and data[0] >> 2 == 1
    width = 1 << data[0] % 4
    values = np.frombuffer(data[1 + width :], np.dtype(dtype))
    assert int.from_bytes(data[1 : 1 + width], "little") == len(values)
    return values.tolist()


def read_back(folder: Path) -> Rows:
    """Read all rows of a data set: of a shard their number, n + 1 offsets, the columns; of a row its sizes, its columns."""
    index = json.loads((folder / "index.json").read_bytes())
    assert index["version"] == 2
    found = []
    for shard in index["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] and (shard["format"], shard["zip_data"]) == ("mds", None)
        num_rows, *offsets = np.frombuffer(data, "<u4", 2 + shard["samples"]).tolist()
        assert num_rows == shard["samples"] and offsets[-1] == len(data)
        columns = json.loads(data[4 * (num_rows + 2) : offsets[0]])
        assert columns == {name: shard[name] for name in columns}
        found += [row(data[start:stop], shard) for start, stop in pairwise(offsets)]
    return found


def row(data: bytes, shard: dict) -> dict[str, list[int]]:
    sizes, at = [], 0
    for fixed in shard["column_sizes"]:
        sizes.append(fixed or int.from_bytes(data[at : at + 4], "little"))
        at += 0 if fixed else 4
    found = {}
    for name, encoding, size in zip(shard["column_names"], shard["column_encodings"], sizes, strict=True):
        found[name] = decoded(data[at : at + size], encoding)
        at += size
    assert at == len(data)
    return found


def rows_of(stream: MixtureStream, positions: range) -> Rows:
    return [
        {"lengths": one.lengths.tolist(), "position": [one.position], "tokens": one.tokens.tolist()}
        for one in stream.read(positions)
    ]


def test_tokens_boundaries_and_order_are_the_streams(demo, tmp_path):
    stream = MixtureStream(demo.settings, "demo", rank=1, world_size=3, start=9)
    made = export_mds(stream, tmp_path / "mix", stop=60, sequences_per_shard=5)
    assert made == MdsExport(folder=tmp_path / "mix", num_shards=4, num_reused=0, num_sequences=17)
    assert read_back(tmp_path / "mix") == rows_of(stream, range(10, 60, 3))
    assert stream.position == 9
    assert sorted(file.name for file in made.folder.iterdir()) == [
        "index.json",
        *(f"shard.0000{n}.mds" for n in range(4)),
    ]
    whole = MixtureStream(demo.settings, "demo")
    assert export_mds(whole, tmp_path / "whole").num_shards == 1
    assert read_back(tmp_path / "whole") == rows_of(whole, range(whole.num_positions))


@pytest.mark.parametrize("num_tokens", [1, 255, 256, 65_535, 65_536])
def test_sequences_of_any_length_come_back(small_lake, tmp_path, num_tokens):
    tokens = [*range(num_tokens)]
    row = {"sequence": 0, "tokens": tokens, "doc_ids": ["a"], "lengths": [num_tokens], "starts": [0]}
    small_lake.commit_sequences("tokenized/web/sequences", "s1", [[row]])
    small_lake.plan({"web": 1}, budget_tokens=num_tokens)
    export_mds(MixtureStream(small_lake.settings, "demo"), tmp_path / "mix")
    assert read_back(tmp_path / "mix") == [{"lengths": [num_tokens], "position": [0], "tokens": tokens}]


def test_what_was_interrupted_goes_on_where_it_was(demo, tmp_path, monkeypatch):
    stream = MixtureStream(demo.settings, "demo")
    wanted = rows_of(stream, range(40))
    read, num_read = stream.reader.read, 0

    def read_some(component: int, index: int):
        nonlocal num_read
        num_read += 1
        if num_read > 25:
            raise KeyboardInterrupt
        return read(component, index)

    monkeypatch.setattr(stream.reader, "read", read_some)
    with pytest.raises(KeyboardInterrupt):
        export_mds(stream, tmp_path / "mix", stop=40, sequences_per_shard=10)
    monkeypatch.undo()
    left = {file.name for file in (tmp_path / "mix").iterdir()}
    assert left == {"shard.00000.mds", "shard.00001.mds", "unfinished.json"}
    with pytest.raises(ValueError, match=r"the beginning of another export: wanted .*30, 1.* got .*40, 1"):
        export_mds(stream, tmp_path / "mix", stop=30, sequences_per_shard=10)
    assert export_mds(stream, tmp_path / "mix", stop=40, sequences_per_shard=10).num_reused == 2
    assert read_back(tmp_path / "mix") == wanted


def test_what_cannot_be_written_is_refused_before_anything_is(demo, tmp_path):
    stream = MixtureStream(demo.settings, "demo")
    with pytest.raises(ValueError, match="no sequence of positions 0 to 0; nothing to write"):
        export_mds(stream, tmp_path / "mix", stop=0)
    with pytest.raises(ValueError, match="wanted shards of at least 1 sequence, got 0"):
        export_mds(stream, tmp_path / "mix", sequences_per_shard=0)
    assert not (tmp_path / "mix").exists()
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix" / "notes.txt").touch()
    with pytest.raises(FileExistsError, match=r"holds other files \(notes.txt\); give a new folder"):
        export_mds(stream, tmp_path / "mix")
    export_mds(stream, tmp_path / "other", stop=3)
    with pytest.raises(FileExistsError, match=r"index\.json is there already"):
        export_mds(stream, tmp_path / "other", stop=3)


def test_the_command_writes_either_format_and_says_what_it_wrote(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CORPUSMILL_SETTINGS", "")
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "corpusmill.toml"
    settings.write_text(f'[lake]\nroot = "{demo.settings.store.root}"\n', encoding="utf-8")

    def corpusmill(*arguments: str) -> tuple[int, str, str]:
        code = main(["--settings", str(settings), "export", *arguments])
        return code, *capsys.readouterr()

    stream = MixtureStream(demo.settings, "demo")
    code, told, _ = corpusmill("demo", "mds", "out/mds", "--start", "5", "--stop", "25")
    assert (code, told) == (0, f"{stream.mix}: 20 sequences in 1 shards, in out/mds\n")
    assert read_back(tmp_path / "out" / "mds") == rows_of(stream, range(5, 25))
    code, told, _ = corpusmill("demo", "megatron", "out/m/main", "--vocabulary-size", "3000000", "--stop", "25")
    num_tokens = sum(len(one.tokens) for one in stream.read(range(25)))
    assert code == 0 and told.endswith(f"25 sequences, {num_tokens:,} tokens, in out/m/main.bin and main.idx\n")
    for wrong, message in (
        (("demo", "megatron", "out/again"), "--vocabulary-size goes with megatron"),
        (("demo", "mds", "out/mds"), "index.json is there already; write to another place or remove it"),
        (("demo", "mds", "out/late", "--start", "9000"), "has positions 0 to"),
        (("nothing", "mds", "out/none"), "has no mix 'nothing'; it has demo"),
    ):
        code, _, told = corpusmill(*wrong)
        assert code == 2 and message in told and told.count("\n") == 1
