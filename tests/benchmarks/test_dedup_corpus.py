"""The corpus of the deduplication benchmarks is what it says: seeded, of the planted Jaccards, and judged independently."""

import itertools

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.dedup_answers import chi_square_p, exact_jaccard
from benchmarks.dedup_corpus import NEAR, near_copy, punctuated_texts, templated_rows, to_texts, word_rows, write_corpus


def test_the_corpus_is_the_same_every_time(tmp_path):
    sizes = {write_corpus(tmp_path / name, megabytes=0.2, num_files=3) for name in ("one", "two")}
    assert len(sizes) == 1 and 100_000 < sizes.pop() < 400_000
    one, two = (pq.read_table(tmp_path / name) for name in ("one", "two"))
    assert one.equals(two)
    assert len(set(one["doc_id"].to_pylist())) == len(one)


@pytest.mark.parametrize("jaccard", NEAR)
def test_near_copies_have_the_planted_jaccard(jaccard):
    rng = np.random.default_rng(1)
    words = rng.integers(0, 40_000, 504)
    left, right = to_texts([words, near_copy(words, jaccard, rng)]).to_pylist()
    assert exact_jaccard(left, right) == pytest.approx(jaccard, abs=0.002)


def test_a_quarter_of_the_documents_are_copies_of_some_others():
    rows = list(itertools.islice(word_rows(1), 2_000))
    texts = to_texts(rows).to_pylist()
    begins = [" ".join(text.split()[:20]) for text in texts]
    assert 0.2 < 1 - len(set(begins)) / len(texts) < 0.3
    assert 0.05 < 1 - len(set(texts)) / len(texts) < 0.11


def test_templated_documents_share_the_template_and_no_body():
    texts = to_texts(templated_rows(10, template_words=80, own_words=20)).to_pylist()
    assert len({text.split(" ", 80)[80] for text in texts}) == 10
    assert 0.6 < exact_jaccard(texts[0], texts[1]) < 0.7


def test_punctuated_texts_differ_and_have_the_same_words():
    texts = punctuated_texts(50, num_words=60).to_pylist()
    assert len(set(texts)) == 50
    assert {exact_jaccard(texts[0], text) for text in texts} == {1.0}
    assert len({text.replace(",", "") for text in texts}) == 1


def test_chi_square_is_that_of_the_tables():
    assert chi_square_p(18.307, 10) == pytest.approx(0.05, abs=1e-4)
    assert chi_square_p(29.588, 10) == pytest.approx(0.001, abs=1e-5)
