"""A plain script's way from tables of documents to a plan: the same tables as the assets make, made once."""

from dataclasses import replace

import pyarrow as pa
import pytest

from corpusmill.document import DOCUMENTS, document_id
from corpusmill.lake.tables import Lake
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.script import pack_documents, plan_mixture, script_settings, write_documents
from corpusmill.stream.loader import MixtureStream
from corpusmill.trace.explain import MixTracer

PACKING = {"sequence_length": 8, "eos_token": "<|end|>"}
TABLE = "curated/web/documents"


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return script_settings("lake")


def demo(settings, tokenizer_file: str):
    table = pack_documents(settings, "web", tokenizer=tokenizer_file, **PACKING)
    components = (Component(name="web", table=table, weight=1),)
    return plan_mixture(settings, Mixture(name="demo", components=components, sequence_length=8))


def test_texts_become_documents_and_a_stream_whose_tokens_are_explained(settings, tokenizer_file):
    table = pa.table({"text": ["ab", "", "cdefghijkl"], "url": ["u0", "u1", "u2"], "license": ["MIT", None, "CC0-1.0"]})
    assert write_documents(settings, "web", table) == TABLE
    made = demo(settings, tokenizer_file)
    lake = Lake(settings.lake)
    wanted = [document_id("web", "s1", str(number)) for number in range(3)]
    rows = lake.read(TABLE).to_pylist()
    assert [(row["doc_id"], row["text"], row["url"], row["license"]) for row in rows] == [
        (wanted[0], "ab", "u0", "MIT"),
        (wanted[1], "", "u1", None),
        (wanted[2], "cdefghijkl", "u2", "CC0-1.0"),
    ]
    assert len({row["text_hash"] for row in rows}) == 3 and all(row["source"] == "web" for row in rows)
    assert sum(len(one.tokens) for one in MixtureStream(settings.lake, "demo")) == made.planned_tokens == 12 + 3
    pieces = [piece for n in range(made.num_positions) for piece in MixTracer(lake, "demo").explain(n).pieces]
    assert {(piece.document.doc_id, piece.document.row["url"]) for piece in pieces} == {
        (wanted[0], "u0"),
        (wanted[1], "u1"),
        (wanted[2], "u2"),
    }


def test_a_second_run_changes_nothing_and_another_snapshot_is_packed_too(settings, tokenizer_file):
    write_documents(settings, "web", (text for text in ["ab", "cd"]))
    first = demo(settings, tokenizer_file)
    files = [file.path for file in Lake(settings.lake).files("tokenized/web/sequences")]
    write_documents(settings, "web", ["ab", "cd"])
    assert demo(settings, tokenizer_file).version == first.version
    assert [file.path for file in Lake(settings.lake).files("tokenized/web/sequences")] == files
    write_documents(settings, "web", ["ef"], snapshot="s2")
    assert demo(settings, tokenizer_file).planned_tokens == first.planned_tokens + 3


def test_a_cap_on_exposure_is_checked_over_the_documents_that_there_are(settings, tokenizer_file):
    write_documents(settings, "web", ["ab", "cdefghijkl", "m"])
    table = pack_documents(settings, "web", tokenizer=tokenizer_file, **PACKING)
    component = Component(name="web", table=table, weight=1, max_epochs=3)
    mixture = Mixture(name="demo", components=(component,), sequence_length=8)
    assert plan_mixture(settings, mixture).components[0].epochs == 3
    assert plan_mixture(settings, replace(mixture, max_exposure=2)).components[0].epochs == 2
    with pytest.raises(
        ValueError, match=r"\(3 of them\) .* and 2 alike 3 times, 1 too often \(1 of 'web' read 3 times\)"
    ):
        plan_mixture(settings, replace(mixture, max_exposure=2, budget_tokens=40))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", "wanted a table with a column text, or several texts, got 'one text'"),
        (["a", None], "or several texts, got None"),
        (pa.table({"text": ["a", None]}), "wanted a text in every row, got none in row 1; leave such rows out"),
        (pa.table({"txt": ["a"]}), "there are no columns of documents txt, only .*; did you mean 'text'"),
        (pa.table({"url": ["a"]}), r"a column text of strings, got columns \['url'\], text of None"),
        (pa.table({"text": [1]}), r"a column text of strings, got columns \['text'\], text of int64"),
        (pa.table({"text": ["a", "b"], "doc_id": ["x", "x"]}), "another doc_id in every row, got 'x' more than once"),
    ],
)
def test_what_is_no_document_is_told(settings, documents, message):
    with pytest.raises(ValueError, match=message):
        write_documents(settings, "web", documents)
    assert not Lake(settings.lake).exists


def test_what_an_asset_made_is_not_replaced(settings, tokenizer_file):
    """A committed partition that names its work was made by a task."""
    write_documents(settings, "web", ["ab"])
    lake = Lake(settings.lake)
    attempt = lake.begin(TABLE, "s2", DOCUMENTS)
    lake.commit(attempt, [], {"work": "w"})
    with pytest.raises(ValueError, match="snapshot 's2' of curated/web/documents was made by its asset"):
        write_documents(settings, "web", ["ab"], snapshot="s2")
    with pytest.raises(ValueError, match="curated/code/documents has no snapshot; write_documents makes one"):
        pack_documents(settings, "code", tokenizer=tokenizer_file, **PACKING)
