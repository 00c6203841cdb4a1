"""From a position to the source: every token of every position, down to the line that it was read from."""

import json
from pathlib import Path

import pytest

from benchmarks.mixing_lake import DATASET, MIX
from corpusmill.mix.tokenize import decode_pieces
from corpusmill.stream.loader import MixtureStream
from corpusmill.trace.explain import MixTracer


@pytest.fixture(scope="module")
def tracer(staged):
    return MixTracer(staged.lake, MIX)


@pytest.fixture(scope="module")
def explained(tracer):
    """Every position of the mix."""
    return [tracer.explain(position) for position in range(tracer.plan.num_positions)]


def source_line(staged, record) -> dict:
    """Read what a record's locator names, as anybody could."""
    folder = Path(staged.settings.source(DATASET).uri)
    with (folder / record["file"]).open("rb") as file:
        file.seek(record["offset"])
        return json.loads(file.read(record["length"]))


def test_every_position_leads_to_the_lines_that_its_tokens_were_read_from(staged, explained):
    stream = MixtureStream(staged.settings.lake, MIX)
    curated, made = 0, 0
    for position, found in enumerate(explained):
        assert found.is_located and found.pieces
        [sample] = stream.read([position])
        texts = decode_pieces(sample.tokens, lengths=sample.lengths, tokenizer_file=staged.tokenizer)
        for piece, held in zip(found.pieces, texts, strict=True):
            [source] = piece.document.sources()
            line = source_line(staged, source.record)
            assert line["url"] == source.record["url"] == piece.document.row["url"]
            is_made = piece.document is not source
            text = " ".join(reversed(line["text"].split())) if is_made else line["text"]
            assert f"{text}<|end|>"[piece.start :].startswith(held)
            curated, made = curated + (not is_made), made + is_made
    assert curated > 20 and made > 20


def test_a_synthesized_document_tells_recipe_model_licence_prompt_and_seed(explained):
    one = next(piece.document for found in explained for piece in found.pieces if piece.document.parents)
    assert one.row["recipe"] in ("stem_rephrased/plain", "stem_translated/de")
    assert (one.row["generator_license"], one.row["license"]) == ("Apache-2.0", one.parents[0].row["license"])
    [request] = one.requests
    assert request["prompt_hash"] and request["doc_id"] == one.parents[0].doc_id
    assert f"{request['model']}@{request['model_revision']}" == one.row["generator"]
    assert request["answer"]["engine"] and request["answer"]["finish_reason"] == "stop"
    [seed] = one.sources()
    assert seed.table == "curated/stem/documents"
    assert seed.verdict["drop_reason"] is None and seed.verdict["words"] == 60.0


def test_a_kept_document_names_its_duplicates_and_their_cluster(staged, explained):
    removed = staged.lake.read("curated/stem/resolution").to_pylist()
    assert removed
    seen = {piece.document.doc_id: piece.document for found in explained for piece in found.pieces}
    for row in removed:
        kept = seen[row["duplicate_of"]]
        assert [it["doc_id"] for it in kept.stands_for] == [row["doc_id"]]
        assert kept.cluster == row["cluster"]
        assert row["doc_id"] not in seen


def test_a_row_of_a_shard_is_explained_as_its_position_is(tracer, explained):
    found = explained[5]
    group, start, _ = next(tracer._components[0].overlapping(0, 1))
    by_row = tracer.explain_row(group.path.rpartition("/")[2], start)
    assert (by_row.position, by_row.index, by_row.component) == (None, 0, tracer.plan.components[0].name)
    assert by_row.pieces == next(one for one in explained if (one.component, one.index) == ("stem", 0)).pieces
    with pytest.raises(ValueError, match=r"wanted one of its files of sequences, .* got 'nothing', none that ends so"):
        tracer.explain_row("nothing", 0)
    with pytest.raises(ValueError, match="has rows 0 to"):
        tracer.explain_row(group.path, 10_000)
    token = found.pieces[-1].first_token
    assert found.at_token(token).pieces == found.pieces[-1:]
    with pytest.raises(ValueError, match="the sequence has tokens 0 to"):
        found.at_token(100_000)


def test_little_memory_gives_the_same_answers(staged, explained):
    small = MixTracer(staged.lake, MIX, index_bytes=64)
    assert [small.explain(position) for position in range(5)] == explained[:5]
