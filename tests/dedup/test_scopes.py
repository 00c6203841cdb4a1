"""Duplicates are removed only where their scope says."""

import pyarrow as pa
import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.scopes import within_scope
from corpusmill.dedup.signatures import sign
from tests.dedup.planted import CERTAIN, decisions, edited, resolve_texts, texts_table

ORIGINAL, NEAR = edited(1, 60, 0), edited(1, 60, 2)
PAGES = texts_table([("a", "2023", ORIGINAL), ("b", "2024", ORIGINAL), ("c", "2024", NEAR)])
BOOKS = texts_table([("d", "2023", NEAR), ("e", "2024", ORIGINAL), ("f", "2024", "short"), ("g", "2024", None)])
OTHERS = texts_table([("h", "2024", "short"), ("i", "2023", "short"), ("j", "2024", None)], source="books")


def found(scope: str) -> list[tuple[str, str]]:
    books = BOOKS.set_column(BOOKS.schema.get_field_index("source"), "source", pa.array(["books"] * len(BOOKS)))
    parameters = DedupParameters.from_json({**CERTAIN.to_json(), "scope": scope})
    return [row[:2] for row in decisions(resolve_texts([PAGES, books, OTHERS], parameters))]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("all", [("b", "a"), ("c", "a"), ("d", "a"), ("e", "a"), ("f", "i"), ("h", "i")]),
        ("snapshot", [("c", "b"), ("d", "a"), ("e", "b"), ("h", "f")]),
        ("source", [("b", "a"), ("c", "a"), ("e", "d"), ("f", "i"), ("h", "i")]),
    ],
)
def test_who_is_compared(scope, expected):
    assert found(scope) == expected


def test_a_slice_of_signatures_is_told_apart_as_the_whole():
    signed = sign(pa.concat_tables([PAGES, BOOKS]).combine_chunks(), {})
    whole = within_scope(signed, "snapshot")
    assert within_scope(signed.slice(2, 4), "snapshot").equals(whole.slice(2, 4))
    assert whole["signature"].is_null().equals(signed["signature"].is_null())
    assert whole["signature"][0] != signed["signature"][0] and whole["signature"][1] != whole["signature"][0]
    assert whole["sample_key"][1] != whole["sample_key"][0]
    assert within_scope(signed, "all") is signed


def test_a_scope_without_its_column_is_refused():
    with pytest.raises(ValueError, match="scope 'source' needs the column source"):
        within_scope(sign(PAGES.drop_columns("source"), {}), "source")
