"""A table that is packed to two lengths in one pass, and a stream whose phases read them."""

import numpy as np
import pyarrow as pa
import pytest
from tokenizers import Tokenizer

from corpusmill.document import DOCUMENTS
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.mix.mixture import Component, Mixture, Phase
from corpusmill.mix.plan import PLAN, plan_to_table
from corpusmill.mix.report import realise
from corpusmill.mix.solve import plan
from corpusmill.settings import Settings, settings_from_table
from corpusmill.stream.index import read_token_counts
from corpusmill.stream.inventory import PLAN_TABLE, read_inventory, tag_components, tag_plan
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.torch_dataset import MixtureLoader
from corpusmill.tasks.task import execute

TABLE = "tokenized/code/sequences"
MARKS = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]
PARAMETERS = {
    "documents": "curated/code/documents",
    "sequence_length": 16,
    "longer_lengths": [64],
    "seed": 3,
    "fill_in_middle": {"rate": 0.5, "suffix_first_share": 0.5},
}
MIXTURE = Mixture(
    name="warmed",
    components=(Component(name="code", table=TABLE, weight=1, max_epochs=2),),
    sequence_length=16,
    phases=(Phase(name="short", weight=1), Phase(name="long", weight=1, sequence_length=64)),
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> Settings:
    made = settings_from_table(
        {"spark": {"engine": "plain"}, "sources": {"code": {"uri": "p", "format": "text"}}},
        base=tmp_path_factory.mktemp("lengths"),
    )
    lake = Lake(made.lake)
    attempt = lake.begin("curated/code/documents", "s1", DOCUMENTS)
    files = []
    for part in range(2):
        rows = [
            {"doc_id": f"{part}-{n}", "source": "code", "snapshot": "s1", "text": "x" * (1 + n % 60), "text_hash": ""}
            for n in range(150)
        ]
        with ShardWriter(
            lake.store, directory=attempt.directory, name=f"{attempt.attempt}-{part}", schema=DOCUMENTS, partition="s1"
        ) as writer:
            writer.write(pa.Table.from_pylist(rows, schema=DOCUMENTS))
        files += writer.files
    lake.commit(attempt, files)
    return made


@pytest.fixture(scope="module")
def code_tokenizer(tokenizer_file, tmp_path_factory) -> str:
    tokenizer = Tokenizer.from_file(tokenizer_file)
    tokenizer.add_special_tokens(MARKS)
    file = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(file))
    return str(file)


@pytest.fixture(scope="module")
def packed(settings, code_tokenizer) -> dict:
    return pack(settings, tokenizer=code_tokenizer)


def pack(settings, **changed) -> dict:
    given = {"settings": settings.to_json(), "dataset": "code", "partition": "s1"}
    return execute("sequences", {**given, "parameters": {**PARAMETERS, **changed}}, lambda message, numbers: None)


@pytest.fixture(scope="module")
def stream(settings, packed, monkeypatch_module) -> MixtureStream:
    monkeypatch_module.setattr("corpusmill.mix.solve.BLOCK_BYTES", 4 * 64 * 4)
    lake = Lake(settings.lake)
    made = plan(MIXTURE, read_inventory(lake, [TABLE]))
    attempt = lake.begin(PLAN_TABLE, made.mix, PLAN)
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=PLAN, partition=made.mix
    ) as writer:
        writer.write(plan_to_table(made))
    lake.commit(attempt, writer.files)
    tag_components(lake, made)
    tag_plan(lake, made)
    return MixtureStream(settings.lake, made.mix)


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_what_was_packed_is_told_by_length(packed):
    metrics, counts = packed["metrics"], packed["counts"]
    assert (counts["rows_in"], counts["kept"]) == (300, 300)
    given = 2 * sum(1 + n % 60 for n in range(150))
    assert (
        metrics["tokens"] == given + metrics["num_sentinel_tokens"] == sum(metrics[f"num_tokens/{n}"] for n in (16, 64))
    )
    assert 100 < metrics["num_rearranged"] < 200 and metrics["num_sentinel_tokens"] == 3 * metrics["num_rearranged"]
    assert metrics["fill/64"] > 0.95 and metrics["fill/16"] > 0.6


def test_a_stream_gives_each_phase_its_length_and_every_token_has_its_document(settings, packed, stream):
    made = stream.plan
    samples = list(stream)
    assert len(samples) == made.num_positions
    lengths = {"code": 16, "code:64": 64}
    assert all(len(one.tokens) <= lengths[one.component] == made.length_at(one.position) for one in samples)
    assert max(len(one.tokens) for one in samples if one.component == "code:64") > 16
    for position in (0, made.starts[1] - 1, made.starts[1], made.num_positions - 1):
        [sample] = stream.read([position])
        assert [piece.length for piece in stream.provenance(position).pieces] == sample.lengths.tolist()
    report = realise(made, read_token_counts(Lake(settings.lake), made)).to_pylist()
    assert [row["component"] for row in report] == ["code", "code:64"]
    assert [round(row["fill"], 6) for row in report] == [packed["metrics"][f"fill/{n}"] for n in (16, 64)]
    assert sum(row["realised_tokens"] for row in report) == sum(len(one.tokens) for one in samples)


def test_every_document_is_whole_in_one_of_the_lengths(settings, stream):
    held: dict[str, int] = {}
    rows = Lake(settings.lake).read(TABLE, partitions=["s1"]).to_pylist()
    for row in rows:
        for doc_id, start, length in zip(row["doc_ids"], row["starts"], row["lengths"], strict=True):
            assert start == 0 and doc_id not in held
            held[doc_id] = length
    assert len(held) == 300
    assert sum(component.num_sequences for component in stream.plan.components) == len(rows)


@pytest.mark.parametrize("world_size", [1, 2])
def test_batches_have_the_shape_of_their_phase_and_a_checkpoint_goes_on_in_any_phase(stream, world_size):
    shapes, positions, states = [], [], []
    loaders = [MixtureLoader(stream.for_rank(rank, world_size), batch_size=4) for rank in range(world_size)]
    for loader in loaders:
        loader.stream.seek(0)
    for batches in zip(*loaders, strict=True):
        shapes.append({tuple(batch["tokens"].shape) for batch in batches})
        positions.append(sorted(position for batch in batches for position in batch["position"].tolist()))
        states.append(loaders[0].state_dict())
    change = stream.plan.starts[1]
    short, long = change // (4 * world_size), (stream.num_positions - change) // world_size
    assert shapes == [{(4, 16)}] * short + [{(1, 64)}] * long
    assert np.concatenate(positions).tolist() == [
        *range(short * 4 * world_size),
        *range(change, change + long * world_size),
    ]
    for number in (short - 2, short - 1, short):
        resumed = MixtureLoader(stream.for_rank(0, 1), batch_size=4)
        resumed.load_state_dict(states[number])
        assert next(iter(resumed))["position"].tolist()[0] == positions[number + 1][0]


def test_another_rate_makes_the_partition_anew(settings, packed, code_tokenizer, tokenizer_file):
    assert pack(settings, tokenizer=code_tokenizer)["reused"] is True
    changed = pack(settings, tokenizer=code_tokenizer, fill_in_middle={"rate": 1.0})
    assert changed["reused"] is False and changed["metrics"]["num_rearranged"] == 300
    again = pack(settings, tokenizer=code_tokenizer)
    assert again["metrics"]["num_rearranged"] == packed["metrics"]["num_rearranged"]
    with pytest.raises(ValueError, match="the tokenizer has no sentinels for fill-in-the-middle"):
        pack(settings, tokenizer=tokenizer_file)
