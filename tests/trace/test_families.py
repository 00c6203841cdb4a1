"""Which documents are kin, against what `exposure` says of every single source, and a cap that holds in the stream."""

from collections import Counter
from functools import partial

import pytest

from benchmarks.mixing_lake import MIX, mixture
from corpusmill.mix.exposure import times_met
from corpusmill.mix.solve import plan
from corpusmill.stream.inventory import read_inventory, read_plan
from corpusmill.trace.exposure import exposure, related
from corpusmill.trace.families import find_families


def documents_of(staged, table: str) -> Counter:
    """Return how many copies a table of sequences holds of each document."""
    rows = staged.lake.read(table).to_pylist()
    return Counter(
        doc_id for row in rows for doc_id, start in zip(row["doc_ids"], row["starts"], strict=True) if start == 0
    )


@pytest.fixture(scope="module")
def sources(staged) -> list[str]:
    return staged.lake.read("curated/stem/documents")["doc_id"].to_pylist()


def test_a_family_is_what_is_related_to_its_source(staged, sources):
    made = read_plan(staged.lake, MIX)
    held = [documents_of(staged, component.table) for component in made.components]
    kin: dict[str, set[str]] = {source: set() for source in sources}
    for row in related(staged.lake, sources).to_pylist():
        kin[row["asked_id"]].add(row["doc_id"])
    wanted = Counter(tuple(sum(it[doc_id] for doc_id in ours) for it in held) for ours in kin.values())
    found = find_families(staged.lake, made)
    assert {one.members: one.num_families for one in found} == wanted
    assert {one.example for one in found} <= {
        row["doc_id"] for row in related(staged.lake, sources).to_pylist() if row["relation"] in ("itself", "near")
    }


def test_a_document_of_two_sources_is_in_both_families(written):
    lake = written.lake
    written.put_documents("web", "s1", ["a", "b", "c"])
    written.put_made("pairs", "plain|s1", {"ab": ["a", "b"]})
    written.put_made("deeper", "plain|s1", {"ab2": ["ab"], "c2": ["c"]})
    written.put_duplicates("curated/web/duplicates", "s1", {"c0": "c"})
    for dataset, doc_ids in (("web", ["a", "b", "c"]), ("deeper", ["ab2", "c2", "c2"])):
        written.put_sequences(dataset, "s1", doc_ids)
    asked = written.mixture("web", "deeper")
    made = plan(asked, read_inventory(lake, asked.tables))
    found = {(one.members, one.num_families, one.example) for one in find_families(lake, made)}
    assert found == {((1, 1), 2, "a"), ((1, 2), 1, "c")}


def test_no_source_is_met_more_often_than_the_cap(staged, sources):
    asked = mixture(max_exposure=4)
    find = partial(find_families, staged.lake)
    made = plan(asked, read_inventory(staged.lake, asked.tables), find_families=find)
    most = max(times_met(made, one) for one in find(made))
    assert 2 < most <= 4 and made.num_positions < read_plan(staged.lake, MIX).num_positions
    rows = exposure(staged.lake, made, sources).to_pylist()
    met = Counter()
    for row in rows:
        met[row["asked_id"]] += row["times"]
    assert 2 < max(met.values()) <= most
