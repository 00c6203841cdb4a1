"""Searching the corpus: the same index whatever the order of documents, bounded, and never the asker's own document."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.synthesize.search import NOTHING, CorpusIndex, SearchLimits
from tests.synthesize.rows import documents

PIER = "The long pier of the harbour shelters the boats from the north wind at night."
LAMP = "A lamp guides the boats home. The lamp is old."
RIVER = "A river runs down to the plain, and nobody stops it."


def index(*texts: str, **limits: int) -> CorpusIndex:
    return CorpusIndex([documents(*texts)], SearchLimits(**limits))


def found(corpus: CorpusIndex, query: str, **more: str) -> list[str]:
    return [item.text for item in corpus.search(query, **more)]


def test_documents_with_rarer_words_and_more_of_them_come_first():
    corpus = index(PIER, LAMP, RIVER)
    assert found(corpus, "boats lamp") == [LAMP, PIER]
    assert found(corpus, "the LAMP") == [LAMP, PIER, RIVER]
    assert found(corpus, "elephant") == []
    assert found(corpus, "") == []


def test_equal_documents_are_ordered_by_id():
    assert [item.doc_id for item in index(LAMP, LAMP, LAMP).search("lamp")] == ["d0", "d1", "d2"]


def test_the_answer_is_titles_and_passages():
    corpus = CorpusIndex([documents(PIER, title="Piers"), documents(LAMP).slice(0, 1)])
    assert corpus({"query": "pier"}) == f"[Piers]\n{PIER}"
    assert corpus({"query": "elephant"}) == NOTHING


def test_a_passage_is_where_the_words_are():
    corpus = index("far away. " * 50 + "The lamp is here. " + "and on. " * 50, passage_characters=60)
    answer = corpus({"query": "lamp here"})
    assert "The lamp is here." in answer and len(answer) < 80


def test_the_askers_own_document_is_not_found():
    corpus = index(f"{PIER} It was built in 1870.", LAMP)
    assert found(corpus, "boats pier", besides=PIER) == [LAMP]
    assert corpus({"query": "built pier", "besides": PIER}) == NOTHING
    assert len(found(corpus, "boats pier", besides=RIVER)) == 2


def test_so_many_documents_are_held_and_the_rest_is_counted():
    corpus = index(*(f"lamp number {number}" for number in range(30)), max_documents=7, num_results=30)
    assert (corpus.num_documents, corpus.num_seen) == (7, 30)
    assert len(found(corpus, "lamp")) == 7


def test_so_much_of_a_document_is_held():
    assert found(index("lamp " + "x" * 100 + " river", max_characters=20), "river") == []


@given(st.permutations(range(6)), st.integers(min_value=1, max_value=6))
def test_order_and_batches_change_nothing(order, size):
    table = documents(PIER, LAMP, RIVER, f"{PIER} {LAMP}", f"{LAMP} {RIVER}", "boats")
    shuffled = table.take(pa.array(order))
    batches = [shuffled.slice(at, size) for at in range(0, 6, size)]
    limits = SearchLimits(max_documents=4)
    one, other = CorpusIndex([table], limits), CorpusIndex(batches, limits)
    assert one.version == other.version
    for query in ("boats lamp", "the river"):
        assert one({"query": query}) == other({"query": query})


def test_the_version_is_that_of_what_was_built_in():
    plain = index(PIER, LAMP).version
    assert index(PIER, LAMP).version == plain
    assert index(PIER, RIVER).version != plain
    assert index(PIER, LAMP, num_results=1).version != plain


def test_an_empty_corpus_finds_nothing():
    assert CorpusIndex([])({"query": "lamp"}) == NOTHING


def test_limits_are_at_least_one():
    with pytest.raises(ValueError, match="limits of a search must be at least 1"):
        SearchLimits(max_documents=0)
