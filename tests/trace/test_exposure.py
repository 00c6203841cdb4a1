"""How often a run meets a document, against a count over the stream itself."""

from collections import Counter

import pytest

from benchmarks.mixing_lake import MIX
from corpusmill.mix.solve import plan
from corpusmill.stream.inventory import read_inventory, read_plan
from corpusmill.stream.loader import MixtureStream
from corpusmill.trace.exposure import exposure, related


def by_hand(staged, doc_ids, num_positions: int) -> Counter:
    """Return tokens by doc_id, component and epoch."""
    stream = MixtureStream(staged.settings.lake, MIX)
    counted: Counter = Counter()
    for position in range(num_positions):
        found = stream.provenance(position)
        for piece in found.pieces:
            if piece.doc_id in doc_ids:
                counted[piece.doc_id, found.component, found.epoch] += piece.length
    return counted


@pytest.fixture(scope="module")
def twins(staged) -> tuple[str, str]:
    """A removed document and the kept one."""
    row = staged.lake.read("curated/stem/resolution").sort_by("doc_id").to_pylist()[0]
    return row["doc_id"], row["duplicate_of"]


def test_a_removed_document_is_met_in_the_kept_one_and_all_that_was_made_from_it(staged, twins):
    removed, kept = twins
    relations = {row["doc_id"]: row["relation"] for row in related(staged.lake, [removed]).to_pylist()}
    assert relations[removed] == "itself" and relations[kept] == "near"
    assert sorted(relations.values())[2:] == [
        "stem_rephrased/plain from a duplicate (near)",
        "stem_translated/de from a duplicate (near)",
    ]
    of_kept = {row["doc_id"]: row["relation"] for row in related(staged.lake, [kept]).to_pylist()}
    assert of_kept.keys() == relations.keys()
    assert sorted(of_kept.values()) == ["itself", "near", "stem_rephrased/plain", "stem_translated/de"]


@pytest.mark.parametrize("part", [1.0, 0.4, 0.0])
def test_it_is_what_a_walk_over_the_stream_counts(staged, twins, part):
    made = read_plan(staged.lake, MIX)
    num_positions = int(made.num_positions * part)
    rows = exposure(staged.lake, made, [twins[0]], num_positions=num_positions).to_pylist()
    kin = {row["doc_id"] for row in related(staged.lake, [twins[0]]).to_pylist()}
    found = {(row["doc_id"], row["component"], row["epoch"]): row["tokens"] for row in rows}
    assert found == dict(by_hand(staged, kin, num_positions))
    if part == 1.0:
        assert {row["component"] for row in rows} == {"stem", "stem_rephrased", "stem_translated"}
        assert len({row["epoch"] for row in rows if row["component"] == "stem"}) == 3
        assert all(row["times"] == 1.0 for row in rows if row["epoch"] == 0)


def test_a_document_that_no_run_meets_has_no_row_and_a_run_has_no_more_than_its_mix(staged, twins):
    made = read_plan(staged.lake, MIX)
    assert len(exposure(staged.lake, made, [twins[0]], num_positions=0)) == 0
    with pytest.raises(ValueError, match="so a run has read 0 to so many of them; got 1,000,000"):
        exposure(staged.lake, made, [twins[0]], num_positions=1_000_000)


def test_a_mistyped_document_is_told_and_one_that_only_the_lake_knows_is_not(written):
    """`alone` stands in a table of documents that the mix does not read, `packed` in no table of documents."""
    written.put_documents("web", "s1", ["alone"])
    written.put_sequences("code", "s1", ["packed"])
    asked = written.mixture("code")
    made = plan(asked, read_inventory(written.lake, asked.tables))
    assert exposure(written.lake, made, ["alone", "packed"])["doc_id"].to_pylist() == ["packed"]
    with pytest.raises(ValueError, match="no such document is known: alona; neither mix demo nor a table"):
        exposure(written.lake, made, ["alone", "alona"])
