"""What a resolution takes back: documents return when what shadowed them goes, unless a removal names them."""

from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.document import REMOVALS, text_hash
from corpusmill.tasks.removals import add_removals
from tests.dedup.planted import edited
from tests.tasks.dedup_lake import DATASET, DedupLake

PARAMETERS = DedupParameters()
PAGE, NEAR = edited(1, 60, 0).strip(), edited(1, 60, 2)
OTHER = edited(2, 60, 0).strip()
"""The first two have a Jaccard of 54 / 58."""


def lake_of(folder: Path, snapshots: dict[str, list[str]], **changed: object) -> DedupLake:
    lake = DedupLake(folder, {**PARAMETERS.to_json(), **changed})
    for name, texts in snapshots.items():
        lake.add(name, texts)
    return lake


def removed(lake: DedupLake) -> dict[str, str]:
    """Return the snapshot of every removed document with that of what it duplicates."""
    rows = lake.resolution().to_pylist()
    return {row["snapshot"]: row["duplicate_of_snapshot"] for row in rows}


def removals(**names: str) -> pa.Table:
    row = {"doc_id": None, "text_hash": None, "reason": "a person asked", **names}
    return pa.Table.from_pylist([row], schema=REMOVALS)


def test_documents_return_when_the_snapshot_that_shadowed_them_is_removed(tmp_path):
    lake = lake_of(tmp_path, {"1": [PAGE], "2": [NEAR, OTHER], "3": [PAGE]})
    lake.resolve()
    assert removed(lake) == {"2": "1", "3": "1"}
    lake.finish("2")
    assert lake.texts("2") == [OTHER]
    lake.lake.remove(f"curated/{DATASET}/signatures", "1")
    result = lake.resolve()
    assert removed(lake) == {"3": "2"}
    assert result["metrics"]["returned_documents"] == 1
    assert result["metrics"]["changed_decisions"] == 2
    assert result["tables"]["snapshots_to_materialize"] == [
        {"snapshot": "2", "returned": 1, "removed": 0, "named_otherwise": 0},
        {"snapshot": "3", "returned": 0, "removed": 0, "named_otherwise": 1},
    ]
    (returned,) = result["tables"]["returned_documents"]
    assert returned["doc_id"] == lake.doc_ids("2")[NEAR]
    lake.finish("2")
    assert lake.texts("2") == [NEAR, OTHER]
    assert "1" not in lake.lake.partitions(f"curated/{DATASET}/bands")
    assert lake.resolve()["reused"]


def test_documents_return_when_the_one_that_shadowed_them_changes(tmp_path):
    lake = lake_of(tmp_path, {"1": [PAGE], "2": [NEAR, OTHER]})
    lake.resolve()
    assert removed(lake) == {"2": "1"}
    lake.add("1", [edited(7, 60, 0)])
    assert lake.resolve()["metrics"]["returned_documents"] == 1
    assert removed(lake) == {}


@pytest.mark.parametrize("name", ["doc_id", "text_hash"])
def test_what_a_removal_names_does_not_return_and_stands_for_nothing(tmp_path, name):
    lake = lake_of(tmp_path, {"1": [PAGE, OTHER], "2": [NEAR]})
    lake.resolve()
    value = lake.doc_ids("1")[PAGE] if name == "doc_id" else text_hash(PAGE)
    add_removals(lake.lake, DATASET, removals(**{name: value}))
    result = lake.resolve()
    assert removed(lake) == {}
    assert (result["metrics"]["returned_documents"], result["metrics"]["documents_withdrawn"]) == (1, 1)
    assert result["counts"]["rows_in"] == 2
    for snapshot in ("1", "2"):
        made = lake.finish(snapshot)
        assert made["counts"]["dropped"] == ({"withdrawn": 1} if snapshot == "1" else {})
    assert (lake.texts("1"), lake.texts("2")) == ([OTHER], [NEAR])
    lake.add("3", [PAGE])
    assert lake.resolve()["metrics"]["fresh_snapshots"] == 1
    lake.finish("3")
    # Named by its id another document of the text may come back; named by its text none does.
    assert removed(lake) == ({"3": "2"} if name == "doc_id" else {})
    assert lake.lake.read(f"curated/{DATASET}/documents", partitions=["3"]).num_rows == 0
    add_removals(lake.lake, DATASET, removals(doc_id=lake.doc_ids("2")[NEAR]))
    last = lake.resolve()
    assert last["metrics"]["returned_documents"] == (1 if name == "doc_id" else 0)
    lake.finish("2")
    assert lake.texts("2") == []


def test_a_removal_of_one_partition_makes_no_other_again(tmp_path):
    lake = lake_of(tmp_path, {"1": [PAGE], "2": [OTHER]})
    lake.resolve()
    for name in ("1", "2"):
        lake.finish(name)
    add_removals(lake.lake, DATASET, removals(text_hash=text_hash(PAGE)))
    lake.resolve()
    assert [lake.finish(name)["reused"] for name in ("1", "2")] == [False, True]


def test_a_removal_names_one_thing(tmp_path):
    lake = lake_of(tmp_path, {})
    with pytest.raises(ValueError, match="names either a doc_id or a text_hash"):
        add_removals(lake.lake, DATASET, removals())
    with pytest.raises(ValueError, match="names either a doc_id or a text_hash"):
        add_removals(lake.lake, DATASET, removals(doc_id="a", text_hash="b"))


def test_newest_first_names_the_snapshots_to_make_again(tmp_path):
    lake = lake_of(tmp_path, {"1": [PAGE], "2": [OTHER]}, rank="newest")
    lake.resolve()
    assert removed(lake) == {}
    lake.add("3", [NEAR])
    result = lake.resolve()
    assert removed(lake) == {"1": "3"}
    assert result["tables"]["snapshots_to_materialize"] == [
        {"snapshot": "1", "returned": 0, "removed": 1, "named_otherwise": 0}
    ]


def test_an_older_snapshot_that_comes_late_names_them_too(tmp_path):
    lake = lake_of(tmp_path, {"2": [NEAR]})
    lake.resolve()
    lake.add("1", [PAGE])
    result = lake.resolve()
    assert removed(lake) == {"2": "1"}
    assert result["metrics"]["snapshots_to_materialize"] == 1


def test_other_parameters_than_the_signatures_are_refused_with_both_names(tmp_path):
    lake = lake_of(tmp_path, {"1": [PAGE], "2": [OTHER]})
    lake.resolve()
    changed = DedupParameters(shingle_size=4)
    with pytest.raises(ValueError, match="signed with other parameters") as refused:
        lake.run("resolve", "all", **changed.to_json())
    assert all(it.signature_fingerprint in str(refused.value) for it in (PARAMETERS, changed))
    assert "1, 2" in str(refused.value)
    assert "materialize the signatures of these partitions again" in str(refused.value)
    # The threshold is none of theirs: the resolution alone is made again.
    lake.parameters = DedupParameters(threshold=0.99).to_json()
    assert lake.resolve()["metrics"]["jaccard_threshold"] == 0.99


def test_a_lost_object_is_made_again(tmp_path):
    lake = lake_of(tmp_path, {"1": [PAGE], "2": [NEAR]})
    lake.resolve()
    state = lake.lake.partition(f"curated/{DATASET}/resolution", "all")
    lake.lake.store.delete([state.state["objects"]["links/1"]])
    assert not lake.resolve()["reused"]
    assert removed(lake) == {"2": "1"}
