"""Documents that break deduplication elsewhere: far too short, far too long, missing, all the same, all different."""

import tracemalloc

import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import sign
from tests.dedup.planted import decisions, edited, resolve_documents, texts_table, words

TWENTY_MB = 2_500_000
"""Words, of 8 bytes with their space."""


@pytest.mark.parametrize("shingle", ["word", "character", "code"])
def test_texts_shorter_than_a_shingle_go_only_where_another_is_equal(shingle):
    texts = ["a b", "a b", "a  b", "a", "", "", " ", None, None]
    documents = [(f"d{n}", "s", text) for n, text in enumerate(texts)]
    resolution = resolve_documents(documents, DedupParameters(shingle=shingle))
    assert decisions(resolution) == [("d1", "d0", "exact", 1.0), ("d5", "d4", "exact", 1.0)]


def test_null_texts_are_kept_and_counted_as_documents():
    resolution = resolve_documents([(f"d{n}", "s", None) for n in range(5)])
    assert len(resolution.table) == 0
    assert resolution.statistics.scalars["documents_in"] == resolution.statistics.scalars["documents_kept"] == 5


def test_a_document_of_20_mb_is_one_document_and_its_copies_are_found():
    long = " ".join(map("{:07d}".format, range(TWENTY_MB)))
    texts = [long, long[: -8 * 1000] + words(0, 1000), "short and sweet, as texts should be", long]
    assert len(long) > 19_999_000
    resolution = resolve_documents([(f"d{n}", "s", text) for n, text in enumerate(texts)], DedupParameters())
    shared = TWENTY_MB - 4 - 1000
    assert decisions(resolution) == [
        ("d1", "d0", "near", pytest.approx(shared / (shared + 2000), abs=1e-5)),
        ("d3", "d0", "exact", 1.0),
    ]


def test_a_repetitive_document_of_20_mb_has_few_shingles_and_costs_no_more():
    table = texts_table([("a", "s", "over and over again " * 1_000_000), ("b", "s", "over and over again " * 999_999)])
    tracemalloc.start()
    signed = sign(table, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert signed["signature"][0] == signed["signature"][1]
    assert peak < 400e6


@pytest.mark.parametrize("count", [1, 2, 500])
def test_all_documents_equal_leave_the_best_ranked(count):
    resolution = resolve_documents([(f"d{n:03d}", "s", words(0, 30)) for n in range(count)])
    assert decisions(resolution) == [(f"d{n:03d}", "d000", "exact", 1.0) for n in range(1, count)]
    assert resolution.statistics.scalars["compared_pairs"] == 0


def test_all_documents_nearly_equal_leave_the_best_ranked():
    documents = [(f"d{n:03d}", "s", f"{words(0, 100)} {words(1000 + 10 * n, 4)}") for n in range(200)]
    resolution = resolve_documents(documents, DedupParameters())
    assert {kept for _, kept, _, _ in decisions(resolution)} == {"d000"}
    assert len(resolution.table) == 199


def test_documents_that_share_nothing_all_stay():
    documents = [(f"d{n:03d}", "s", edited(n, 30, 0)) for n in range(200)]
    assert len(resolve_documents(documents, DedupParameters()).table) == 0
