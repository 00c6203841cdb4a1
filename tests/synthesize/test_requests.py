"""Requests are named by all that decides their answer, and by nothing else."""

from dataclasses import replace

import pyarrow as pa
import pytest

from corpusmill.document import REQUESTS
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.chain import ChainGenerator, Step
from corpusmill.synthesize.generators.function import FunctionGenerator
from corpusmill.synthesize.recipe import PrimaryInput, SeedRule
from corpusmill.synthesize.requests import ask, asking_order, open_requests, render
from corpusmill.synthesize.sampling import Sampling
from tests.synthesize.rows import MODEL, documents, generator, recipe, requests

TEXT = "First part is here.\n\nSecond part is there."


def ids(*arguments, **model):
    return requests(*arguments, **model)["request_id"].to_pylist()


def test_a_seed_becomes_one_request_a_chunk():
    asked = recipe(primary=PrimaryInput(max_characters=25))
    rows = requests(documents(TEXT, "Short."), asked)
    assert rows.schema.equals(REQUESTS)
    found = [(row["doc_id"], row["chunk"], row["num_chunks"], row["start"], row["end"]) for row in rows.to_pylist()]
    assert found == [("d0", 0, 2, 0, 21), ("d0", 1, 2, 21, 42), ("d1", 0, 1, 0, 6)]
    first = rows.to_pylist()[0]
    assert {first["seed_file"], first["snapshot"], first["model"], first["model_revision"]} == {
        "file.parquet", "s1", "small", "r1",
    }  # fmt: skip
    assert first["prompt_characters"] == len("Rewrite.<document>\nFirst part is here.\n</document>")
    assert (first["recipe"], first["recipe_version"]) == (asked.name, asked.version)


def test_only_so_many_chunks_the_first_or_those_with_prose():
    text = "| a | b |\n| c | d |\n\nThis is it. It is.\n\nIt was. So it is."
    first = recipe(primary=PrimaryInput(max_characters=22, max_chunks=1))
    prose = recipe(primary=PrimaryInput(max_characters=22, max_chunks=2, prefer="prose"))
    assert requests(documents(text), first)["start"].to_pylist() == [0]
    assert requests(documents(text), prose)["start"].to_pylist() == [21, 41]


CHANGES = {
    "model": ({}, {"model": "other"}),
    "revision": ({}, {"revision": "r2"}),
    "system prompt": ({"generator": generator(system="Rewrite well.")}, {}),
    "user prompt": ({"generator": generator(user="This: $document")}, {}),
    "temperature": ({"generator": generator(sampling=Sampling(max_tokens=64, temperature=0.5))}, {}),
    "top_p": ({"generator": generator(sampling=Sampling(max_tokens=64, top_p=0.5))}, {}),
    "max_tokens": ({"generator": generator(sampling=Sampling(max_tokens=65))}, {}),
    "repetition_penalty": ({"generator": generator(sampling=Sampling(max_tokens=64, repetition_penalty=1.1))}, {}),
    "stop": ({"generator": generator(sampling=Sampling(max_tokens=64, stop=("\n",)))}, {}),
    "chunks": ({"primary": PrimaryInput(max_characters=25)}, {}),
}


@pytest.mark.parametrize(("changed", "model"), CHANGES.values(), ids=CHANGES)
def test_case_17_what_decides_an_answer_moves_the_id(changed, model):
    before = set(ids(documents(TEXT)))
    after = set(ids(documents(TEXT), replace(recipe(), **changed), **model))
    assert not before & after


def test_case_17_and_nothing_else_does():
    judged = recipe(name="other/name", seeds=SeedRule(max_characters=99), verifiers=(check("no_assistant_talk"),))
    assert ids(documents(TEXT), judged, license="MIT") == ids(documents(TEXT))
    assert ids(documents(TEXT, title="New", license="BSD-3-Clause")) == ids(documents(TEXT))


def test_case_18_ids_do_not_follow_layout():
    rows = documents(*(f"Text {number}" for number in range(12)))
    backwards = rows.take(pa.array(range(11, -1, -1)))
    split = pa.concat_tables([rows.slice(at, 1) for at in range(12)])
    parts = [ask(rows.slice(at, 5), doc_ids=(f"d{at}", "d3"), recipe=recipe(), identity=MODEL) for at in (0, 5, 10)]
    assert set(ids(backwards)) == set(ids(split)) == set(ids(rows))
    assert set(pa.concat_tables(parts)["request_id"].to_pylist()) < set(ids(rows))


def test_case_21_one_changed_row_asks_one_request_anew():
    before = ids(documents("One", "Two", "Three"))
    after = ids(documents("One", "Two!", "Three"))
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]


def test_the_same_prompt_is_asked_once():
    rows = documents("Same", "Same")
    asked = requests(rows)
    assert asked.num_rows == 2 and len(set(asked["request_id"].to_pylist())) == 1
    assert len(render(asked, rows, recipe())) == 1


def test_a_seed_that_changed_or_vanished_is_refused():
    asked = requests(documents("One"))
    with pytest.raises(ValueError, match=r"another prompt than request .*; build the requests again"):
        render(asked, documents("Two"), recipe())
    with pytest.raises(ValueError, match="d0, which is not among the 0 documents"):
        render(asked, documents("One").slice(0, 0), recipe())


def test_documents_must_say_which_file_they_are_from():
    with pytest.raises(ValueError, match="column text_file"):
        requests(documents("One").drop_columns(["text_file"]))


SHORTEN = FunctionGenerator(function="tests.synthesize.toy_functions:shorten")


def test_a_request_is_named_by_what_its_program_asks_first():
    steps = (Step(name="draft", user="$document", system="Rewrite.", sampling=Sampling(max_tokens=64)),)
    longer = (*steps, Step(name="better", user="$draft", sampling=Sampling(max_tokens=64)))
    plain = ids(documents(TEXT))
    assert ids(documents(TEXT), recipe(generator=ChainGenerator(steps=steps))) == plain
    assert ids(documents(TEXT), recipe(generator=ChainGenerator(steps=longer))) == plain


def test_where_nothing_is_asked_the_input_names_the_request():
    asked = recipe(generator=SHORTEN)
    rows = requests(documents("One.", "Two.", "One."), asked)
    first, second, third = rows["request_id"].to_pylist()
    assert first == third != second
    assert rows["prompt_characters"].to_pylist() == [0, 0, 0]
    assert render(rows, documents("One.", "Two.", "One."), asked) == []
    with pytest.raises(ValueError, match="another prompt than request"):
        list(open_requests(rows, documents("One.", "Two!", "One."), asked))


def test_what_is_asked_first_is_rendered_with_its_sampling_and_schema():
    seeds, form = documents("One"), {"type": "object"}
    (rendered,) = render(requests(seeds), seeds, recipe())
    assert rendered["request_id"] == ids(seeds)[0] and rendered["schema"] is None
    assert Sampling.from_json(rendered["sampling"]) == Sampling(max_tokens=64)
    step = Step(name="list", user="$document", sampling=Sampling(max_tokens=64), schema=form)
    shaped = recipe(generator=ChainGenerator(steps=(step,)))
    assert [one["schema"] for one in render(requests(seeds, shaped), seeds, shaped)] == [form]


@pytest.mark.parametrize(
    ("mixed_characters", "expected"),
    [
        (100, "b/a0 b/a1 a/c0 c/k0 a/m0 b/z0"),
        (50, "b/a0 b/a1 a/c0 a/m0 b/z0 c/k0"),
        (1, "b/a0 b/a1 b/z0 a/c0 a/m0 c/k0"),
    ],
)
def test_requests_are_asked_by_the_hash_of_the_id_over_the_files_that_fit_together(mixed_characters, expected):
    asked = [
        ("b", "z", 0, 10),
        ("b", "a", 1, 20),
        ("b", "a", 0, 10),
        ("a", "m", 0, 10),
        ("a", "c", 0, 10),
        ("c", "k", 0, 10),
    ]
    names = ("seed_file", "doc_id", "chunk", "end")
    table = pa.table({name: [row[place] for row in asked] for place, name in enumerate(names)})
    ordered = asking_order(table, mixed_characters=mixed_characters).to_pylist()
    assert " ".join(f"{row['seed_file']}/{row['doc_id']}{row['chunk']}" for row in ordered) == expected
