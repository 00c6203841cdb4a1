"""What two versions of a table differ in, and why rows went."""

import pytest

from corpusmill.document import DOCUMENTS, SEQUENCES
from corpusmill.trace.difference import difference, find_version

TABLE = "curated/web/documents"
VERDICTS = "curated/web/verdicts"


def row(doc_id: str, text: str = "", **more) -> dict:
    shared = {"source": "web", "snapshot": "1", "text": text or doc_id, "text_hash": doc_id}
    return {**shared, "doc_id": doc_id, **more}


@pytest.fixture
def changed(written):
    """Of five documents one stays, one changes, three go; two come."""
    before = [row(name) for name in "abcde"]
    written.put(TABLE, "1", before, DOCUMENTS)
    written.put(TABLE, "2", [row("z")], DOCUMENTS)
    written.put(TABLE, "1", [row("a"), row("b", "x" * 500, license="MIT"), row("new"), row("newer")], DOCUMENTS)
    verdicts = DOCUMENTS.append(DOCUMENTS.field("recipe").with_name("drop_reason"))
    written.put(VERDICTS, "1", [row("a"), row("c", drop_reason="too_short")], verdicts)
    written.put_duplicates("curated/web/duplicates", "1", {"d": "a"})
    return written


def test_rows_are_added_removed_and_changed_with_reasons_and_samples(changed):
    versions = list(changed.lake.versions(TABLE))
    found = difference(changed.lake, TABLE, versions[1], versions[2])
    assert (found.added, found.removed, found.changed, found.same) == (2, 3, 1, 1)
    assert dict(found.changed_columns) == {"text": 1, "license": 1}
    assert dict(found.removed_reasons) == {
        "dropped: too_short": 1,
        "duplicate: near": 1,
        "gone from its source, or from what it was made from": 1,
    }
    assert found.samples["changed"] == [{"doc_id": "b", "text": ["b", "x" * 120 + " …"], "license": [None, "MIT"]}]
    assert sorted(one["doc_id"] for one in found.samples["added"]) == ["new", "newer"]
    assert sorted(one["doc_id"] for one in found.samples["removed"]) == ["c", "d", "e"]
    back = difference(changed.lake, TABLE, versions[2], versions[1])
    assert (back.added, back.removed, back.changed) == (3, 2, 1)


def test_equal_rows_in_other_files_are_equal_and_other_partitions_are_told(written):
    old = written.put(TABLE, "1", [row("a"), row("b")], DOCUMENTS)
    written.put(TABLE, "1", [row("b"), row("a"), row("c")], DOCUMENTS)
    new = written.put(TABLE, "2", [row("d"), row("e")], DOCUMENTS)
    found = difference(written.lake, TABLE, old, new)
    assert (found.added, found.removed, found.changed, found.same) == (3, 0, 0, 2)


def test_a_version_is_named_by_tag_id_or_how_far_back(changed):
    lake = changed.lake
    ids = list(lake.versions(TABLE))
    lake.tag(TABLE, "first", ids[0])
    assert [find_version(lake, TABLE, name) for name in ("first", "-1", "-2", str(ids[1]), None)] == [
        *(ids[0], ids[1], ids[0], ids[1], ids[2])
    ]
    with pytest.raises(ValueError, match=rf"has no version 'last'; it has {ids[2]} \(20.*{ids[0]} \(.*, first\)"):
        find_version(lake, TABLE, "last")


def test_sequences_are_compared_by_their_number(written):
    def sequence(number: int, token: int) -> dict:
        return {"sequence": number, "tokens": [token], "doc_ids": ["a"], "lengths": [1], "starts": [0]}

    table = "tokenized/web/sequences"
    old = written.put(table, "1", [sequence(0, 1), sequence(1, 1)], SEQUENCES)
    new = written.put(table, "1", [sequence(0, 2), sequence(1, 1)], SEQUENCES)
    found = difference(written.lake, table, old, new)
    assert (found.changed, found.same, dict(found.changed_columns)) == (1, 1, {"tokens": 1})
