"""Shingle sets and their exact Jaccard: written out, against Python's own sets, and on real pages with known answers."""

import csv
import gzip
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.shingles import jaccard, shingle_sets
from tests.dedup.planted import edited, word_shingles, words

PAGES = Path("../shared/data/neardup_text_pydoc")
CODE = Path("../shared/data/neardup_code_irplag/java.jsonl.gz")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def pair_jaccard(left: str, right: str, **parameters) -> float:
    one, other = shingle_sets(pa.array([left, right], pa.large_string()), DedupParameters(**parameters))
    return jaccard(one, other)


@pytest.mark.parametrize(
    ("replaced", "expected"), [(0, 1.0), (1, 16 / 18), (2, 15 / 19), (3, 14 / 20), (4, 13 / 21), (17, 0.0)]
)
def test_planted_pairs_have_the_jaccard_that_they_were_made_for(replaced, expected):
    assert pair_jaccard(edited(1, 21, 0), edited(1, 21, replaced)) == expected


def test_sets_are_sorted_and_hold_repeats_once():
    (found,) = shingle_sets(pa.array([" ".join(["one two three"] * 50)]), DedupParameters(shingle_size=3))
    assert len(found) == 3
    assert sorted(set(found.tolist())) == found.tolist()


def test_texts_below_the_width_null_and_empty_have_no_shingles():
    sets = shingle_sets(pa.array([words(0, 4), None, "", words(0, 5)]), DedupParameters())
    assert [len(found) for found in sets] == [0, 0, 0, 1]
    assert jaccard(sets[0], sets[1]) == 0.0


def test_chunks_and_slices_change_nothing():
    texts = [words(10 * n, 20 + n) for n in range(10)] + [None]
    whole = shingle_sets(pa.array(texts), DedupParameters())
    parts = [[words(7, 30), *texts[:4]], [None, *texts[4:]]]
    chunked = pa.chunked_array([pa.array(part, pa.large_string()).slice(1) for part in parts])
    again = shingle_sets(chunked, DedupParameters())
    assert [found.tolist() for found in again] == [found.tolist() for found in whole]


LETTERS = st.characters(codec="utf-8", exclude_categories=["M", "Cf", "Cn", "Co"])


@given(st.lists(st.text(st.one_of(st.sampled_from("ab cd. "), LETTERS), max_size=40), min_size=2, max_size=2))
def test_word_shingles_are_those_of_pythons_regular_expressions(texts):
    if any(UNSPACED.search(text) or "İ" in text or max(map(ord, text), default=0) > 0xF900 for text in texts):
        return
    left, right = (word_shingles(text, 2) for text in texts)
    expected = len(left & right) / len(left | right) if left | right else 0.0
    assert pair_jaccard(*texts, shingle_size=2) == expected


def test_real_pages_have_their_known_jaccard():
    if not PAGES.exists():
        pytest.skip(f"the pages with known answers are not at {PAGES}")
    with gzip.open(PAGES / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {row["doc_id"]: row["text"] for row in map(json.loads, lines)}
    sets = dict(zip(texts, shingle_sets(pa.array(texts.values(), pa.large_string()), DedupParameters()), strict=True))
    with (PAGES / "pairs.tsv").open(encoding="utf-8") as lines:
        pairs = list(csv.DictReader(lines, delimiter="\t"))
    assert len(pairs) > 600
    for pair in pairs:
        left, right = pair["doc_a"], pair["doc_b"]
        digits = len(pair["jaccard_word5"].partition(".")[2])
        # A page with Han characters has a few shingles more than the regular expression that made the answers.
        slack = 0.001 if UNSPACED.search(texts[left] + texts[right]) else 0.51 * 10**-digits
        assert jaccard(sets[left], sets[right]) == pytest.approx(float(pair["jaccard_word5"]), abs=slack), pair


def test_copied_code_with_other_comments_and_layout_is_near_its_original_and_independent_work_is_not():
    if not CODE.exists():
        pytest.skip(f"the code with known answers is not at {CODE}")
    with gzip.open(CODE, "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    sets = shingle_sets(pa.array([row["content"] for row in rows]), DedupParameters(shingle="code"))
    originals = {row["case"]: found for row, found in zip(rows, sets, strict=True) if row["label"] == "L0"}
    near = {"L1": [], "NP": []}
    for row, found in zip(rows, sets, strict=True):
        if row["label"] in near:
            near[row["label"]].append(jaccard(found, originals[row["case"]]) >= 0.7)
    assert sum(near["L1"]) >= 0.95 * len(near["L1"]) > 0
    assert sum(near["NP"]) <= 0.02 * len(near["NP"])
