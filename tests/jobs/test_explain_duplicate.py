"""What a person is told about a document that is gone, and about one that stays."""

import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shared_text import shared_spans
from jobs.explain_duplicate import print_explanation
from tests.dedup.planted import edited, words
from tests.tasks.dedup_lake import RULES, DedupLake
from tests.tasks.signed_lake import doc_id, put_signatures

PAGE, NEAR, OTHER = edited(1, 60, 0).strip(), edited(1, 60, 2), edited(2, 60, 0).strip()


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = DedupLake(tmp_path_factory.mktemp("explained"), DedupParameters().to_json())
    RULES["min_words"] = 3
    for name, texts in {"1": [PAGE, OTHER], "2": [NEAR, "too short"], "3": [NEAR]}.items():
        lake.add(name, texts)
    RULES["min_words"] = 1
    lake.resolve()
    return lake


def told(lake: DedupLake, doc_id: str, capsys, dataset: str | None = None) -> str:
    print_explanation(lake.settings, doc_id=doc_id, dataset=dataset)
    return capsys.readouterr().out


def test_a_removed_document_is_explained(lake, capsys):
    page, near = lake.doc_ids("1")[PAGE], lake.doc_ids("2")[NEAR]
    said = told(lake, near, capsys)
    assert f"{near} (curated/stem, snapshot 2) is removed: near duplicate." in said
    assert f"Kept: {page} (snapshot 1)" in said
    assert f"{54 / 58:.6f} of the texts now, {54 / 58:.6f} when it was decided" in said
    assert f"  {near} -> {page}: Jaccard {54 / 58:.6f}" in said
    assert "Shared: 58 words in 1 spans" in said
    assert "w1000 w1001" in said


def test_a_copy_is_explained_by_the_document_whose_text_it_has(lake, capsys):
    page, near, copy = lake.doc_ids("1")[PAGE], lake.doc_ids("2")[NEAR], lake.doc_ids("3")[NEAR]
    said = told(lake, copy, capsys)
    assert said.index(f"  {copy} -> {near}: the same text") < said.index(f"  {near} -> {page}: Jaccard")


def test_a_kept_document_tells_what_went_in_its_favour(lake, capsys):
    said = told(lake, lake.doc_ids("1")[PAGE], capsys, dataset="stem")
    assert "stays" in said
    assert "Removed in its favour: 2" in said
    assert lake.doc_ids("3")[NEAR] in said
    assert "Removed in its favour: 0" in told(lake, lake.doc_ids("1")[OTHER], capsys)


def test_what_was_not_deduplicated_is_told(lake):
    with pytest.raises(ValueError, match="the rule too_few_words drops it"):
        print_explanation(lake.settings, doc_id=lake.doc_ids("2")["too short"], dataset=None)
    with pytest.raises(ValueError, match="no document 'nothing' was signed in stem; a doc_id is 32 hex digits"):
        print_explanation(lake.settings, doc_id="nothing", dataset=None)
    with pytest.raises(ValueError, match="'stme' has no resolution; did you mean stem"):
        print_explanation(lake.settings, doc_id="nothing", dataset="stme")


def test_a_snapshot_that_changed_since_is_told(tmp_path):
    lake = DedupLake(tmp_path, DedupParameters().to_json())
    for name, texts in {"1": [PAGE, OTHER], "2": [NEAR]}.items():
        put_signatures(lake, name, texts, DedupParameters())
    lake.resolve()
    put_signatures(lake, "1", [], DedupParameters())
    lake.run("bands", "1", **lake.parameters)
    with pytest.raises(ValueError, match=f"{doc_id('1', 0)} is not in the signatures any more.*materialize"):
        print_explanation(lake.settings, doc_id=doc_id("2", 0), dataset=None)


def test_shared_spans_are_stretches_of_words():
    one = f"{words(0, 6)} x {words(10, 9)} y {words(30, 4)}"
    other = f"{words(10, 9)}, {words(0, 6).upper()}! {words(30, 4)}"
    spans = shared_spans(one, other)
    assert [(span.num_words, one[span.start : span.end]) for span in spans] == [(9, words(10, 9)), (6, words(0, 6))]
    assert shared_spans("a b c d e", "a b c d f") == []
