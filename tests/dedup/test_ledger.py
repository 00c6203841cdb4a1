"""What a ledger counts: documents and tokens by source, and those that went in favour of which source."""

import pyarrow as pa

from corpusmill.dedup.ledger import KEPT_SOURCES, LEDGER, add_ledgers, count_documents

EARLIER = pa.table(
    {
        "doc_id": ["a", "b", "c"],
        "snapshot": ["1", "1", "1"],
        "source": ["books", "pages", None],
        "num_shingles": [10, 20, 0],
    }
)
LATER = pa.table(
    {
        "doc_id": ["d", "e", "f"],
        "snapshot": ["2", "2", "2"],
        "source": ["pages", "pages", "pages"],
        "num_shingles": [6, 10, 4],
    }
)
REMOVALS = pa.table({"doc_id": ["d", "e", "b"], "duplicate_of": ["f", "a", "a"]})
EXPECTED = [
    ("1", "books", None, 1, 14, 0),
    ("1", "pages", "books", 1, 24, 0),
    ("1", "unknown", None, 1, 0, 1),
    ("2", "pages", "books", 1, 14, 0),
    ("2", "pages", "pages", 1, 10, 0),
    ("2", "pages", None, 1, 8, 0),
]


def rows(ledger: pa.Table) -> list[tuple]:
    assert ledger.schema == LEDGER
    return [tuple(row.values()) for row in ledger.to_pylist()]


def test_a_ledger_counts_by_snapshot_and_by_the_source_that_stays():
    assert rows(count_documents([EARLIER, LATER], REMOVALS, shingle_size=5)) == EXPECTED


def test_later_documents_are_counted_without_the_earlier_ones():
    earlier = count_documents([EARLIER], REMOVALS, shingle_size=5)
    told = pa.table({"doc_id": ["a"], "source": ["books"]}, schema=KEPT_SOURCES)
    later = count_documents([LATER], REMOVALS, shingle_size=5, kept_sources=told)
    assert rows(add_ledgers([later, earlier])) == EXPECTED


def test_nothing_is_counted_of_nothing():
    assert count_documents([], REMOVALS, shingle_size=5).equals(LEDGER.empty_table())
