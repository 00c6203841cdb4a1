"""Edits: merging, applying, and what is masked."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.curate.apply import apply_edits, curated_documents
from corpusmill.curate.edits import Edit, edit_rows, merge_edits
from corpusmill.curate.pii import find_pii
from corpusmill.document import DOCUMENTS, EDIT, text_hash

PII = Path(__file__).parents[3] / "shared/data/pii_presidio/pii_spans.jsonl"


def masked(text: str, **options) -> str:
    return apply_edits(text, edit_rows(merge_edits(find_pii(text, **options))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail Bob.Smith+x@mail.gov.uk, please", "mail email@example.com, please"),
        ("'ann@mill.org'", "'email@example.com'"),
        ("ann@example.com and x@host stay", "ann@example.com and x@host stay"),
        ("@" * 20 + "a@b", "@" * 20 + "a@b"),
        ("a" * 100 + "@mill.org", "a" * 100 + "@mill.org"),
        ("@decorator\ndef f(a@b): pass", "@decorator\ndef f(a@b): pass"),
        ("8.8.8.8 but not 10.0.0.1 or 127.0.0.1", "192.0.2.1 but not 10.0.0.1 or 127.0.0.1"),
        ("v1.2.3.4 1.2.3.4.5 999.1.1.1", "v1.2.3.4 1.2.3.4.5 999.1.1.1"),
        ("(1.1.1.1).", "(192.0.2.1)."),
        ("2606:4700:4700::1111, std::vector a::b 12:30:45", "2001:db8::1, std::vector a::b 12:30:45"),
        ("ü 😀 ann@mill.org", "ü 😀 email@example.com"),
    ],
)
def test_addresses_are_masked(text, expected):
    assert masked(text) == expected


def test_real_addresses_are_masked():
    if not PII.exists():
        pytest.skip("needs ../shared/data/pii_presidio")
    rows = [json.loads(line) for line in PII.read_text().splitlines()]
    missed = {"EMAIL_ADDRESS": 0, "IP_ADDRESS": 0}
    total = dict(missed)
    for row in rows:
        found = [(edit.start, edit.end) for edit in find_pii(row["full_text"])]
        for span in row["spans"]:
            if span["entity_type"] in total:
                total[span["entity_type"]] += 1
                inside = any(start <= span["start_position"] and span["end_position"] <= end for start, end in found)
                missed[span["entity_type"]] += not inside
    assert total["EMAIL_ADDRESS"] > 20
    assert missed["EMAIL_ADDRESS"] == 0


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([(0, 10, ""), (4, 6, "x")], [(0, 10, "")]),
        ([(0, 5, "x"), (3, 9, "")], [(0, 5, "x"), (5, 9, "")]),
        ([(5, 7, ""), (0, 5, "")], [(0, 7, "")]),
        ([(0, 5, "x"), (3, 9, "y")], [(0, 5, "x")]),
        ([], []),
    ],
)
def test_edits_merge(edits, expected):
    merged = merge_edits(Edit(start=start, end=end, kind="k", replacement=text) for start, end, text in edits)
    assert [(edit.start, edit.end, edit.replacement) for edit in merged] == expected


SPANS = st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from(["", "x"])).map(
    lambda parts: Edit(start=min(parts[:2]), end=max(parts[:2]), kind="k", replacement=parts[2])
)


@given(st.lists(SPANS, max_size=8), st.text(min_size=40, max_size=60))
def test_merged_edits_always_apply(edits, text):
    merged = merge_edits(edits)
    applied = apply_edits(text, edit_rows(merged))
    removed = sum(edit.end - edit.start for edit in merged)
    added = sum(len(edit.replacement) for edit in merged)
    assert len(applied) == len(text) - removed + added
    assert merge_edits(merged) == merged


def test_edit_outside_the_text_is_an_error():
    with pytest.raises(ValueError, match="wanted 0 <= start <= end <= 3, got start 2, end 9"):
        apply_edits("abc", edit_rows([Edit(start=2, end=9, kind="k")]))


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
    assert documents["parent_ids"].null_count == documents["recipe"].null_count == 2
    with pytest.raises(ValueError, match="document d1 has no verdict"):
        curated_documents(texts, verdicts.slice(1))
