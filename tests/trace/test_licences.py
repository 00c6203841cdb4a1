"""Licences of sources and teachers, counted by the token, and what an allow-list forbids."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.mixing_lake import MIX, mixture
from corpusmill.document import DOCUMENTS
from corpusmill.stream.inventory import read_plan
from corpusmill.stream.loader import MixtureStream
from corpusmill.trace import licences
from corpusmill.trace.licences import forbidden, mix_licences

TEACHER = "Apache-2.0"


@pytest.fixture(scope="module")
def flow(staged):
    return mix_licences(staged.lake, read_plan(staged.lake, MIX))


def by_hand(staged) -> Counter:
    """Count token by token, over the stream itself."""
    kinds = {}
    for table in ("curated/stem", "synthesized/stem_rephrased", "synthesized/stem_translated"):
        for row in staged.lake.read(f"{table}/documents", columns=["doc_id", *licences.KINDS]).to_pylist():
            kinds[row["doc_id"]] = (row["license"], row["generator_license"])
    stream = MixtureStream(staged.settings.lake, MIX)
    counted: Counter = Counter()
    for position in range(stream.num_positions):
        found = stream.provenance(position)
        for piece in found.pieces:
            counted[found.component, *kinds[piece.doc_id]] += piece.length
    return counted


def test_every_token_of_the_stream_is_counted_under_its_licences(staged, flow):
    rows = flow.to_pylist()
    found = {(row["component"], row["license"], row["generator_license"]): row["tokens"] for row in rows}
    assert found == dict(by_hand(staged))
    assert {key[1:] for key in found} == {("MIT", None), ("CC-BY-4.0", None), ("MIT", TEACHER), ("CC-BY-4.0", TEACHER)}
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert all(row["is_known"] for row in rows)
    report = staged.lake.read("mixed/mixtures/report", partitions=[MIX])
    assert sum(found.values()) == sum(report["realised_tokens"].to_pylist())


def test_an_allow_list_forbids_what_it_does_not_name(flow):
    assert len(forbidden(flow)) == 0
    assert len(forbidden(flow, allowed=["MIT", "CC-BY-4.0"], allowed_teachers=[TEACHER])) == 0
    sources = forbidden(flow, allowed=["MIT"]).to_pylist()
    assert {(row["license"], row["why"]) for row in sources} == {("CC-BY-4.0", "source licence CC-BY-4.0")}
    taught = forbidden(flow, allowed_teachers=["MIT"]).to_pylist()
    assert {row["component"] for row in taught} == {"stem_rephrased", "stem_translated"}
    assert taught[0]["why"].startswith("teacher licence Apache-2.0 of scripted:")


@pytest.mark.parametrize(
    ("license", "is_forbidden"),
    [("MIT OR GPL-3.0-only", False), ("MIT AND GPL-3.0-only", True), (None, True), ("whatever", True)],
)
def test_expressions_are_read_and_the_unknown_is_forbidden(flow, license, is_forbidden):
    row = {**flow.to_pylist()[0], "license": license, "generator_license": None}
    only = flow.schema.empty_table().from_pylist([row], schema=flow.schema)
    assert bool(len(forbidden(only, allowed=["MIT"]))) == is_forbidden


def test_a_mix_that_its_allow_list_forbids_fails_its_check(staged):
    """Mixes of names of their own: nobody else's plan changes."""
    results = {}
    lists = {"allowed_licences": ("MIT",), "allowed_teacher_licences": (TEACHER,)}
    for name, rules in {"loose": lists | {"allowed_licences": ("MIT", "CC-BY-4.0")}, "strict": lists}.items():
        asked = replace(mixture(**rules), name=name)
        staged.run("plan", "mixtures", name, mixture=asked.to_json())
        results[name] = staged.run("report", "mixtures", name)
    strict, loose = results["strict"]["gates"]["licences"], results["loose"]["gates"]["licences"]
    assert loose["passed"] and loose["message"] == "every source and teacher has a licence that the mixture allows"
    assert not strict["passed"] and "stem: source licence CC-BY-4.0" in strict["message"]
    assert 0.3 < strict["numbers"]["forbidden_share"] < 0.7
    assert {row["license"] for row in results["strict"]["tables"]["licences"]} == {"MIT", "CC-BY-4.0"}


def test_documents_that_went_since_are_counted_by_their_older_version(written, staged, monkeypatch):
    """And those that no version has are counted as unknown; several passes give the same."""
    pieces = [licences.Pieces(licences._hashes(ids_of("a", "b", "c", "a")), licences.np.array([5, 7, 11, 2]))]
    written.put("curated/web/documents", "1", [document("a", "MIT"), document("b", "CC0-1.0")], DOCUMENTS)
    written.put("curated/web/documents", "1", [document("a", "Apache-2.0")], DOCUMENTS)
    table = "curated/web/documents"
    versions = licences._versions(written.lake, table, "1")
    readers = [licences._reader(written.lake, table, files) for files in versions]
    for passes in (1, 3):
        rows = licences.licence_flow(lambda: pieces, readers, passes=passes).to_pylist()
        found = {(row["license"], row["is_known"]): row["tokens"] for row in rows}
        assert found == {("Apache-2.0", True): 7, ("CC0-1.0", True): 7, (None, False): 11}


def document(doc_id: str, license: str) -> dict:
    shared = {"source": "web", "snapshot": "1", "text": doc_id, "text_hash": doc_id}
    return {**shared, "doc_id": doc_id, "license": license}


def ids_of(*doc_ids: str):
    return licences.pa.chunked_array([list(doc_ids)])
