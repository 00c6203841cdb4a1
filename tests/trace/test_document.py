"""Documents that moved on: older versions, parents of parents, and what is left of one that is gone."""

from pathlib import Path

import pytest

from corpusmill.document import RECORDS
from corpusmill.lake.errors import DataFileError
from corpusmill.trace.document import DocumentTracer, Where
from corpusmill.trace.lookup import RowFinder

DOCUMENTS_TABLE = "curated/web/documents"
LIKELY = Where(table=DOCUMENTS_TABLE, partition="1")


def put_records(written, *doc_ids: str) -> None:
    rows = [
        {"doc_id": one, "source": "web", "snapshot": "1", "locator": f"l-{one}", "file": "f", "offset": 7, "length": 3}
        for one in doc_ids
    ]
    written.put("sources/web/records", "1", rows, RECORDS)


def trace(written, *doc_ids: str, where: Where = LIKELY):
    return DocumentTracer(RowFinder(written.lake)).trace(doc_ids, where)


def test_a_document_that_went_is_found_in_the_older_version(written):
    put_records(written, "a", "b")
    written.put_documents("web", "1", ["a", "b"])
    written.put_documents("web", "1", ["b"])
    found = trace(written, "a", "b")
    assert [(found[name].table, found[name].is_current) for name in "ab"] == [
        (DOCUMENTS_TABLE, False),
        (DOCUMENTS_TABLE, True),
    ]
    assert found["a"].row["url"] == "https://a.test/" and found["a"].record["locator"] == "l-a"
    assert found["a"].is_located and found["b"].is_located


def test_what_no_version_has_is_found_among_the_records_or_said_to_be_gone(written):
    put_records(written, "a")
    written.put_documents("web", "1", ["b"])
    found = trace(written, "a", "nobody")
    assert found["a"].table is None and found["a"].record["locator"] == "l-a" and found["a"].is_located
    assert found["nobody"].record is None and not found["nobody"].is_located


@pytest.mark.parametrize("table", ["synthesized/web_translated/documents", None, DOCUMENTS_TABLE])
def test_parents_of_parents_are_followed_wherever_the_search_begins(written, table):
    put_records(written, "a", "b")
    written.put_documents("web", "1", ["a", "b"])
    written.put_made("web_rephrased", "plain|1", {"ab": ["a", "b"]})
    written.put_made("web_translated", "de|1", {"ab-de": ["ab"]})
    one = trace(written, "ab-de", where=Where(table=table, partition="de|1"))["ab-de"]
    assert [parent.doc_id for parent in one.parents] == ["ab"]
    assert [source.doc_id for source in one.sources()] == ["a", "b"]
    assert one.is_located and one.requests == []


def test_a_circle_ends_and_leads_nowhere(written):
    written.put_made("web_rephrased", "plain|1", {"x": ["y"], "y": ["x"]})
    one = trace(written, "x", where=Where(table="synthesized/web_rephrased/documents", partition="plain|1"))["x"]
    assert not one.is_located


@pytest.mark.parametrize("damage", [b"", b"PAR1 no more", None], ids=["empty", "cut", "gone"])
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(written, damage):
    written.put_documents("web", "2024", ["a"])
    [file] = written.lake.files("curated/web/documents")
    Path(file.path).unlink() if damage is None else Path(file.path).write_bytes(damage)
    told = (
        rf"{file.path} of partition '2024' cannot be read: .*; make that partition .*: corpusmill materialize --again"
    )
    with pytest.raises(DataFileError, match=told):
        DocumentTracer(RowFinder(written.lake)).trace(["a"], Where())
