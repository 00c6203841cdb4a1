"""Who was made from whom: every generation, every table, no duplicate taken for a child."""

import pyarrow as pa

from corpusmill.trace.lineage import PARENTAGE, descendants, duplicate_links, parents, walk_down


def pairs(rows: pa.Table) -> list[tuple]:
    return [(row["ancestor_id"], row["generation"], row["doc_id"]) for row in rows.to_pylist()]


def parentage(edges: list[tuple[str, str]]) -> pa.Table:
    rows = [{"doc_id": child, "parent_id": parent, "table": "t", "partition": "p"} for child, parent in edges]
    return pa.Table.from_pylist(rows, schema=PARENTAGE)


def test_descendants_are_found_across_tables_and_generations(written):
    written.put_documents("web", "1", ["a", "b", "c"])
    written.put_made("web_rephrased", "plain|1", {"a1": ["a"], "b1": ["b"], "ab": ["a", "b"]}, rejected=["a1"])
    written.put_made("web_translated", "de|1", {"a1-de": ["a1"], "ab-de": ["ab"]})
    found = descendants(written.lake, ["a"])
    assert pairs(found) == [("a", 1, "a1"), ("a", 1, "ab"), ("a", 2, "a1-de"), ("a", 2, "ab-de")]
    first, last = found.to_pylist()[0], found.to_pylist()[-1]
    assert (first["table"], first["partition"], first["reject_reason"]) == (
        "synthesized/web_rephrased/documents",
        "plain|1",
        "too_short",
    )
    assert (last["parent_id"], last["table"], last["recipe"]) == (
        "ab",
        "synthesized/web_translated/documents",
        "web_translated/plain",
    )
    assert pairs(descendants(written.lake, ["c", "nobody"])) == []


def test_each_asked_document_has_its_own_descendants():
    edges = parentage([("x", "a"), ("x", "b"), ("y", "x")])
    assert pairs(walk_down(lambda: [edges], ["a", "b"])) == [("a", 1, "x"), ("b", 1, "x"), ("a", 2, "y"), ("b", 2, "y")]


def test_a_child_of_two_generations_is_told_of_both_and_a_circle_ends():
    edges = parentage([("x", "a"), ("y", "x"), ("y", "a"), ("a", "y")])
    found = pairs(walk_down(lambda: [edges.slice(0, 1), edges.slice(1)], ["a"]))
    assert found == [("a", 1, "x"), ("a", 1, "y"), ("a", 2, "a"), ("a", 2, "y")]


def test_parents_are_one_step_up(written):
    written.put_made("web_rephrased", "plain|1", {"ab": ["a", "b"], "c1": ["c"]})
    found = parents(written.lake, ["ab", "a"])
    assert [(row["doc_id"], row["parent_id"]) for row in found.to_pylist()] == [("ab", "a"), ("ab", "b")]


def test_older_versions_are_read_where_they_are_named(written):
    old = written.put_made("web_rephrased", "plain|1", {"a1": ["a"], "a2": ["a"]})
    written.put_made("web_rephrased", "plain|2", {"a3": ["a"]})
    written.put_made("web_rephrased", "plain|1", {"a2": ["a"]})
    assert pairs(descendants(written.lake, ["a"])) == [("a", 1, "a2"), ("a", 1, "a3")]
    versions = {"synthesized/web_rephrased/documents": [old]}
    found = descendants(written.lake, ["a"], snapshot_ids=versions)
    assert pairs(found) == [("a", 1, "a1"), ("a", 1, "a2"), ("a", 1, "a3")]


def test_duplicates_are_told_apart_from_descendants(written):
    written.put_documents("web", "1", ["a"])
    written.put_duplicates("curated/web/duplicates", "1", {"copy": "a", "other": "b"})
    written.put_made("web_rephrased", "plain|1", {"copy1": ["copy"]})
    written.put_duplicates("synthesized/web_rephrased/duplicates", "plain|1", {"x": "y"})
    assert pairs(descendants(written.lake, ["a"])) == []
    rows = duplicate_links(written.lake, ["a", "x"]).to_pylist()
    assert [(row["doc_id"], row["duplicate_of"], row["table"]) for row in rows] == [
        ("copy", "a", "curated/web/duplicates"),
        ("x", "y", "synthesized/web_rephrased/duplicates"),
    ]


def test_a_lake_without_synthesis_has_no_descendants(written):
    written.put_documents("web", "1", ["a"])
    assert pairs(descendants(written.lake, ["a"])) == []
    assert len(duplicate_links(written.lake, ["a"])) == 0
