"""Exact Jaccards of many pairs at once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shingles import jaccard, shingle_sets
from corpusmill.dedup.signatures import sign
from corpusmill.dedup.verify import measure_pairs
from tests.dedup.planted import edited, texts_table, words

PARAMETERS = DedupParameters()
DOCUMENTS = [(f"d{n:02d}", "s", edited(n // 4, 40, n % 4)) for n in range(40)]
TEXTS = pa.concat_tables(
    [texts_table(DOCUMENTS[:15], text_file="b"), texts_table(DOCUMENTS[15:], text_file="a")]
).combine_chunks()


def read_texts(text_file: str, doc_ids: list[str]) -> pa.Table:
    is_wanted = pc.and_(pc.equal(TEXTS["text_file"], text_file), pc.is_in(TEXTS["doc_id"], pa.array(doc_ids)))
    return TEXTS.filter(is_wanted)


def measured(left, right, **changed) -> list[float]:
    given = {"documents": sign(TEXTS, PARAMETERS.to_json()), "read_texts": read_texts, "map_calls": map, **changed}
    return measure_pairs(np.array(left, np.int64), np.array(right, np.int64), parameters=PARAMETERS, **given).tolist()


def test_pairs_within_and_across_files_have_their_jaccard():
    left, right = [0, 1, 0, 14, 39, 3], [1, 0, 4, 15, 38, 3]
    sets = shingle_sets(TEXTS["text"], PARAMETERS)
    expected = [jaccard(sets[one], sets[other]) for one, other in zip(left, right, strict=True)]
    assert measured(left, right) == expected
    assert (expected[0], expected[2], expected[5]) == (35 / 37, 0.0, 1.0)
    assert measured([], []) == []


def test_threads_change_nothing():
    left, right = np.triu_indices(40, 1)
    with ThreadPoolExecutor(2) as pool:
        assert measured(left, right, map_calls=pool.map) == measured(left, right)


def test_pairs_that_do_not_fit_into_memory_together_are_measured_in_stretches(monkeypatch):
    left, right = np.triu_indices(40, 1)
    expected = measured(left, right)
    files_read = []

    def noted(text_file: str, doc_ids: list[str]) -> pa.Table:
        files_read.append(text_file)
        return read_texts(text_file, doc_ids)

    monkeypatch.setattr("corpusmill.dedup.verify.MAX_SHINGLES", 36 * 2 * 100)
    assert measured(left, right, read_texts=noted) == expected
    assert files_read.count("a") == 8


def test_a_longer_text_than_the_one_signed_is_refused():
    def other_texts(text_file: str, doc_ids: list[str]) -> pa.Table:
        return pa.table({"doc_id": doc_ids, "text": [words(0, 500)] * len(doc_ids)})

    with pytest.raises(ValueError, match="the text of d00 in b is not the one that was signed; rebuild the signatures"):
        measured([0], [1], read_texts=other_texts)
