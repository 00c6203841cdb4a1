"""Edits: merging and applying."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.apply import apply_edits, curated_documents
from corpusmill.curate.edits import Edit, edit_rows, merge_edits
from corpusmill.document import DOCUMENTS, EDIT, text_hash


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([(0, 10, ""), (4, 6, "x")], [(0, 10, "")]),
        ([(0, 5, "x"), (3, 9, "")], [(0, 5, "x"), (5, 9, "")]),
        ([(5, 7, ""), (0, 5, "")], [(0, 7, "")]),
        ([(0, 5, "x"), (3, 9, "y")], [(0, 9, "y")]),  # the longer names the mask of both
        ([(0, 5, "x"), (4, 9, "y"), (8, 10, "z")], [(0, 10, "x")]),
        ([(0, 5, ""), (3, 9, "x")], [(0, 3, ""), (3, 9, "x")]),  # a cut does not save the mask's end
        ([(0, 9, ""), (2, 4, "x"), (8, 12, "y")], [(0, 8, ""), (8, 12, "y")]),
        ([(0, 2, "x"), (2, 4, "y")], [(0, 2, "x"), (2, 4, "y")]),
        ([(3, 3, "x"), (5, 5, "")], []),
        ([], []),
    ],
)
def test_edits_merge(edits, expected):
    merged = merge_edits(Edit(start=start, end=end, kind="k", replacement=text) for start, end, text in edits)
    assert [(edit.start, edit.end, edit.replacement) for edit in merged] == expected


SPANS = st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["", "x"])).map(
    lambda parts: Edit(start=min(parts[:2]), end=max(parts[:2]), kind="k", replacement=parts[2])
)


def test_of_masks_of_one_length_the_more_severe_names_both():
    edits = [Edit(start=0, end=4, kind="phone", replacement="P"), Edit(start=2, end=6, kind="card", replacement="C")]
    assert merge_edits(edits) == [Edit(start=0, end=6, kind="card", replacement="C")]


@given(st.lists(SPANS, max_size=8), st.text(min_size=40, max_size=60))
def test_merged_edits_remove_just_the_characters_of_the_given_ones(edits, text):
    merged = merge_edits(edits)
    covered = {position for edit in edits for position in range(edit.start, edit.end)}
    assert [position for edit in merged for position in range(edit.start, edit.end)] == sorted(covered)
    applied = apply_edits(text, edit_rows(merged))
    assert len(applied) == len(text) - len(covered) + sum(len(edit.replacement) for edit in merged)
    assert merge_edits(merged) == merged
    assert merge_edits(reversed(edits)) == merged


def test_edit_outside_the_text_is_an_error():
    with pytest.raises(ValueError, match="wanted 0 <= start <= end <= 3, got start 2, end 9"):
        apply_edits("abc", edit_rows([Edit(start=2, end=9, kind="k")]))


def test_documents_say_their_tier_of_quality_where_there_are_tiers(text_rows):
    texts = text_rows("one", "two", "three")
    known = pa.array([[("author", "Eve")], None, None], DOCUMENTS.field("meta").type)
    texts = texts.set_column(texts.schema.get_field_index("meta"), "meta", known)
    verdicts = pa.table(
        {
            "doc_id": ["d0", "d1", "d2"],
            "language": ["en"] * 3,
            "edits": pa.nulls(3, pa.list_(EDIT)),
            "quality_tier": [19.0, 0.0, None],
        }
    )
    told = curated_documents(texts, verdicts)["meta"].to_pylist()
    assert told == [[("author", "Eve"), ("quality_tier", "19")], [("quality_tier", "0")], None]
    assert curated_documents(texts, verdicts.drop_columns(["quality_tier"]))["meta"].to_pylist() == known.to_pylist()


def test_documents_get_edits_and_language_by_id(text_rows):
    texts = text_rows("one two", "three", license="MIT")
    verdicts = pa.table(
        {
            "doc_id": ["d1", "d0"],
            "language": ["de", "en"],
            "edits": pa.array([None, edit_rows([Edit(start=0, end=4, kind="cut")])], pa.list_(EDIT)),
        }
    )
    documents = curated_documents(texts, verdicts)
    assert documents.schema == DOCUMENTS
    assert documents["text"].to_pylist() == ["two", "three"]
    assert documents["text_hash"].to_pylist() == [text_hash("two"), text_hash("three")]
    assert documents["language"].to_pylist() == ["en", "de"]
    assert documents["license"].to_pylist() == ["MIT", "MIT"]
    resolved = verdicts.append_column("license", pa.array(["GPL-2.0-only", None], pa.string()))
    assert curated_documents(texts, resolved)["license"].to_pylist() == [None, "GPL-2.0-only"]
    assert documents["parent_ids"].null_count == documents["recipe"].null_count == 2
    with pytest.raises(ValueError, match="document d1 has no verdict"):
        curated_documents(texts, verdicts.slice(1))
