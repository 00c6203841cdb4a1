"""The field's known faults as cases, and the promises of the resolution as properties."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpusmill.dedup.duplicates import Preferences, find_duplicates
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import sign
from corpusmill.dedup.statistics import RetentionGuard
from corpusmill.dedup.texts import stored_columns, stored_texts
from corpusmill.document import RESOLUTION
from corpusmill.lake.store import Store, StoreSettings
from tests.dedup.planted import (
    CERTAIN,
    decisions,
    edited,
    oracle,
    resolve_documents,
    resolve_texts,
    texts_table,
    words,
    write_corpus,
)
from tests.servers.unreliable import UnreliableStore


def chain(length: int, step: int = 3, count: int = 30) -> list[str]:
    """Return windows over one row of words: neighbours are near-duplicates, distant ones share nothing."""
    return [words(step * place, count) for place in range(length)]


def test_case_1_templated_documents_survive_and_a_chain_does_not_wipe_out_its_source():
    template = words(0, 104)
    documents = [(f"d{n:02d}", "s", f"{template} {words(1000 * (n + 1), 30)}") for n in range(40)]
    resolution = resolve_documents(
        documents, DedupParameters(num_bands=60, rows_per_band=1, max_bucket=2, num_representatives=1)
    )
    assert len(resolution.table) == 0
    assert resolution.statistics.scalars["skipped_in_hot_buckets"] > 0

    windows = [(f"c{n:02d}", "s", text) for n, text in enumerate(chain(12))]
    resolution = resolve_documents(windows)
    assert [(removed, kept) for removed, kept, _, _ in decisions(resolution)] == [
        *(("c01", "c00"), ("c03", "c02"), ("c05", "c04"), ("c07", "c06"), ("c09", "c08"), ("c11", "c10"))
    ]
    assert resolution.table["cluster"].to_pylist() == ["c00"] * 6
    assert resolution.statistics.scalars["largest_cluster"] == 12


def test_case_1_a_source_that_loses_too_much_fails_the_gate():
    ours = texts_table([(f"a{n}", "s", edited(n, 40, 0)) for n in range(4)], source="ours")
    copied = texts_table([(f"b{n}", "t", edited(min(n, 3), 40, 0)) for n in range(5)], source="copied")
    guard = RetentionGuard(max_removed_share=0.9, min_documents=5)
    resolution = resolve_texts([ours, copied], preferences=Preferences(guard=guard))
    (failure,) = resolution.statistics.gate_failures
    assert failure.startswith("source copied loses 100.0% of its 5 documents, at most 90.0% may go")
    lenient = Preferences(guard=RetentionGuard(max_removed_share=1.0))
    assert resolve_texts([ours, copied], preferences=lenient).statistics.gate_failures == []


def planted() -> list[tuple[str, str, str | None]]:
    texts = [edited(base, 40, replaced) for base in range(12) for replaced in (0, 0, 2, 4, 6)] + [
        None,
        "short",
        "short",
    ]
    return [(f"d{n:02d}", f"s{n % 3}", text) for n, text in enumerate(texts)]


def test_case_2_shuffles_and_cuts_change_no_row_and_no_number():
    parameters = DedupParameters(max_bucket=3, num_representatives=2, max_comparisons=2)
    expected = resolve_documents(planted(), parameters)
    assert len(expected.table) > 30
    for seed in range(4):
        shuffled = random.Random(seed).sample(planted(), len(planted()))
        cut = [texts_table(shuffled[shard :: seed + 1]) for shard in range(seed + 1)]
        found = resolve_texts(cut, parameters)
        assert found.table.equals(expected.table)
        assert found.statistics == expected.statistics


def test_case_3_duplicates_in_different_partitions_meet():
    first, second = [("x", "2023", words(0, 30))], [("y", "2024", words(0, 30)), ("z", "2024", edited(7, 30, 0))]
    resolution = resolve_texts([texts_table(first), texts_table(second, text_file="other")])
    assert decisions(resolution) == [("y", "x", "exact", 1.0)]


GARBLED = {
    "cut": lambda data: data[:-100],
    "its end overwritten": lambda data: data[:-4] + b"XXXX",
    "one byte of a page": lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
}


@pytest.mark.parametrize("harm", GARBLED)
def test_case_4_a_garbled_intermediate_is_refused_by_name(tmp_path, harm):
    (file,) = write_corpus(tmp_path, planted(), shards=1, parameters=CERTAIN)
    signatures, texts = tmp_path / "signatures-0.parquet", tmp_path / "texts-0.parquet"
    store = Store(StoreSettings(root=str(tmp_path)))
    signed = pq.read_table(signatures)
    for stored in (signatures, texts):
        stored.write_bytes(GARBLED[harm](stored.read_bytes()))
    with pytest.raises(ValueError, match=f"cannot read {file}.*rebuild the partition that wrote it"):
        list(stored_columns(store, file, ("doc_id",)))
    with pytest.raises(ValueError, match=f"cannot read {texts}.*rebuild the partition that wrote it"):
        find_duplicates([signed], parameters=CERTAIN, read_texts=stored_texts(store))


@pytest.mark.parametrize("num_answers", [0, 1])
def test_a_storage_that_does_not_answer_is_no_garbled_intermediate(tmp_path, num_answers):
    (file,) = write_corpus(tmp_path, planted(), shards=1, parameters=CERTAIN)
    store = UnreliableStore(tmp_path, TimeoutError("no answer"), num_answers)
    with pytest.raises(TimeoutError, match="no answer"):
        list(stored_columns(store, file, ("doc_id",)))


def test_case_5_k_identical_new_documents_give_k_removals_that_name_their_partner():
    old = [("old", "2023", edited(1, 60, 0))]
    new = [(f"new{n}", "2024", edited(1, 60, 2)) for n in range(5)]
    removed = decisions(resolve_documents(old + new))
    assert removed == [(f"new{n}", "old", "near", 54 / 58) for n in range(5)]


def test_case_6_statistics_say_what_the_threshold_meant():
    statistics = resolve_documents(planted(), DedupParameters(threshold=0.8)).statistics
    scalars = {
        name: statistics.scalars[name] for name in ("num_bands", "rows_per_band", "shingle_size", "jaccard_threshold")
    }
    assert scalars == {"num_bands": 14, "rows_per_band": 8, "shingle_size": 5, "jaccard_threshold": 0.8}
    curve = {row["jaccard"]: row["candidate_probability"] for row in statistics.tables["s_curve"]}
    assert curve[0.8] == statistics.scalars["candidate_probability_at_threshold"] == 1 - (1 - 0.8**8) ** 14


def test_case_7_short_documents_are_removed_when_equal_and_otherwise_left_alone():
    documents = [
        ("a", "s1", "four words are short"),
        ("b", "s1", "Four words are short"),
        ("c", "s2", "four words are short"),
        ("d", "s2", ""),
        ("e", "s2", None),
        ("f", "s3", None),
        ("g", "s3", ""),
    ]
    resolution = resolve_documents(documents)
    assert decisions(resolution) == [("c", "a", "exact", 1.0), ("g", "d", "exact", 1.0)]
    assert resolution.statistics.scalars["documents_below_shingle_width"] == 7


def test_case_8_one_hot_bucket_costs_linear_comparisons():
    texts = [f"{words(0, 100)} {words(10_000 + 100 * n, 4)}" for n in range(600)]
    resolution = resolve_documents([(f"d{n:03d}", "s", text) for n, text in enumerate(texts)], DedupParameters())
    scalars = resolution.statistics.scalars
    assert scalars["largest_hot_bucket"] > 400
    assert scalars["compared_pairs"] <= 50 * 600
    assert scalars["skipped_in_hot_buckets"] > 0
    assert scalars["documents_kept"] == 1


def test_case_8_pairs_that_are_combined_on_the_way_are_the_same_pairs(monkeypatch):
    documents = [(f"d{n:03d}", "s", f"{words(0, 60)} {words(10_000 + 100 * n, n % 9)}") for n in range(120)]
    parameters = DedupParameters(max_bucket=6, num_representatives=3, max_comparisons=4)
    expected = resolve_documents(documents, parameters)
    assert expected.statistics.scalars["skipped_over_limit"] > 0
    monkeypatch.setattr("corpusmill.dedup.candidates._COMBINE_AFTER", 10)
    found = resolve_documents(documents, parameters)
    assert (found.table, found.statistics) == (expected.table, expected.statistics)


def test_case_9_removals_go_by_id_and_a_missing_text_is_refused(tmp_path):
    files = write_corpus(tmp_path, planted(), shards=2, parameters=CERTAIN)
    store = Store(StoreSettings(root=str(tmp_path)))
    signatures = [pq.read_table(file) for file in files]
    whole = find_duplicates(signatures, parameters=CERTAIN, read_texts=stored_texts(store))
    texts = pq.read_table(tmp_path / "texts-0.parquet")
    pq.write_table(texts.take(list(range(len(texts)))[::-1]), tmp_path / "texts-0.parquet")
    again = find_duplicates(signatures, parameters=CERTAIN, read_texts=stored_texts(store))
    assert again.table.equals(whole.table)
    pq.write_table(texts.slice(5), tmp_path / "texts-0.parquet")
    with pytest.raises(ValueError, match=r"texts-0.parquet holds \d+ of the \d+ documents.*rebuild the signatures"):
        find_duplicates(signatures, parameters=CERTAIN, read_texts=stored_texts(store))
    (tmp_path / "texts-0.parquet").unlink()
    with pytest.raises(ValueError, match=r"cannot read .*texts-0.parquet"):
        find_duplicates(signatures, parameters=CERTAIN, read_texts=stored_texts(store))


def test_a_pair_at_the_threshold_goes_and_one_just_below_stays():
    documents = [("a", "s", edited(1, 21, 0)), ("b", "s", edited(1, 21, 3)), ("c", "s", edited(2, 21, 0))]
    assert decisions(resolve_documents([*documents, ("d", "s", edited(2, 21, 4))])) == [("b", "a", "near", 0.7)]


def test_a_copy_of_a_removed_document_names_the_kept_one():
    near, original = edited(1, 60, 2), edited(1, 60, 0)
    documents = [("a", "s1", original), ("b", "s2", near), ("c", "s3", near)]
    assert decisions(resolve_documents(documents)) == [("b", "a", "near", 54 / 58), ("c", "a", "near", 54 / 58)]


def test_the_rank_decides_who_is_kept():
    documents = [("b", "2023", words(0, 30)), ("a", "2024", words(0, 30)), ("c", "2024", words(0, 30))]
    assert [pair[:2] for pair in decisions(resolve_documents(documents))] == [("a", "b"), ("c", "b")]
    newest = DedupParameters(rank="newest")
    assert [pair[:2] for pair in decisions(resolve_documents(documents, newest))] == [("b", "a"), ("c", "a")]
    order = Preferences(snapshot_order=("2024", "2023"))
    given_order = resolve_texts([texts_table(documents)], preferences=order)
    assert [pair[:2] for pair in decisions(given_order)] == [("b", "a"), ("c", "a")]


def test_a_snapshot_outside_the_order_is_refused():
    with pytest.raises(ValueError, match="the snapshot order lacks s2; it lists s1"):
        resolve_texts([texts_table([("a", "s2", "x")])], preferences=Preferences(snapshot_order=("s1",)))


def test_a_doc_id_that_comes_twice_is_refused():
    with pytest.raises(ValueError, match="signed twice: a"):
        resolve_documents([("a", "s1", words(0, 9)), ("a", "s2", words(100, 9))])


def test_tables_with_wide_strings_are_the_same_tables():
    texts = texts_table(planted())
    signed = sign(texts, CERTAIN.to_json())
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    schema = pa.schema([field.with_type(wide.get(field.type, field.type)) for field in signed.schema])
    found = find_duplicates(
        [signed.cast(schema)],
        parameters=CERTAIN,
        read_texts=lambda file, doc_ids: texts.filter(pc.is_in(texts["doc_id"], pa.array(doc_ids))),
    )
    expected = resolve_documents(planted())
    assert (found.table, found.statistics) == (expected.table, expected.statistics)


def test_all_equal_none_equal_and_nothing_at_all():
    equal = resolve_documents([(f"d{n:03d}", "s", words(0, 30)) for n in range(300)])
    assert set(equal.table["duplicate_of"].to_pylist()) == {"d000"}
    assert len(equal.table) == 299
    assert len(resolve_documents([(f"d{n}", "s", words(100 * n, 30)) for n in range(50)]).table) == 0
    empty = resolve_texts([texts_table([("a", "s", "x")]).slice(0, 0)])
    assert empty.table.schema == RESOLUTION
    assert (
        find_duplicates([], parameters=CERTAIN, read_texts=stored_texts(Store(StoreSettings(root="none")))).table
        == empty.table
    )
    assert empty.statistics.scalars["documents_in"] == 0


def test_statistics_show_sizes_of_clusters_and_the_overlap_of_sources():
    groups = [texts_table([(f"{name}{n}", "s", edited(base, 40, 0))], source=name) for name, base, n in COPIES]
    tables = resolve_texts(groups).statistics.tables
    assert tables["cluster_sizes"] == [
        {"size": "2 to 3", "clusters": 1, "documents": 2},
        {"size": "4 to 7", "clusters": 1, "documents": 5},
    ]
    assert tables["source_overlap"] == [
        {"source": "a", "duplicate_of_source": "a", "documents": 2},
        {"source": "b", "duplicate_of_source": "a", "documents": 3},
    ]


def test_statistics_show_the_overlap_of_snapshots():
    documents = [("a", "2023", words(0, 30)), ("b", "2024", words(0, 30)), ("c", "2024", words(50, 30))]
    overlap = resolve_documents([*documents, ("d", "2025", words(50, 30))]).statistics.tables["snapshot_overlap"]
    assert overlap == [
        {"snapshot": "2024", "duplicate_of_snapshot": "2023", "documents": 1},
        {"snapshot": "2025", "duplicate_of_snapshot": "2024", "documents": 1},
    ]


def test_many_sources_overlap_as_others():
    groups = [texts_table([(f"d{n:02d}", "s", edited(n % 2, 40, 0))], source=f"source {n:02d}") for n in range(50)]
    overlap = resolve_texts(groups).statistics.tables["source_overlap"]
    assert len({row["source"] for row in overlap}) <= 21
    assert sum(row["documents"] for row in overlap) == 48
    assert sum(row["documents"] for row in overlap if row["source"] == "others") == 48 - 18


COPIES = [("a", 1, 0), ("a", 1, 1), ("a", 1, 2), ("b", 1, 0), ("b", 1, 1), ("a", 2, 3), ("b", 2, 2), ("b", 3, 3)]
"""Source, base of the text, number: five equal texts, two equal texts, and one by itself."""

CORPORA = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", "s3"]),
        st.one_of(
            st.none(),
            st.sampled_from(["", "a b", "A B"]),
            st.builds(edited, st.integers(0, 2), st.just(30), st.integers(0, 8)),
            st.builds(words, st.integers(0, 12), st.just(24)),
        ),
    ),
    max_size=25,
).map(lambda rows: [(f"d{number:02d}", snapshot, text) for number, (snapshot, text) in enumerate(rows)])


@settings(deadline=None, max_examples=60)
@given(CORPORA.filter(bool))
def test_decisions_are_those_of_comparing_all_pairs(documents):
    """With bands that miss nothing: no removal below the threshold, every named document kept, best rank first."""
    resolution = resolve_documents(documents)
    found = {removed: (kept, score) for removed, kept, _, score in decisions(resolution)}
    assert found == oracle(documents)
    assert not found.keys() & {kept for kept, _ in found.values()}
    scalars = resolution.statistics.scalars
    assert scalars["documents_in"] == len(documents) == len(found) + scalars["documents_kept"]
    assert sum(row["documents"] for row in resolution.statistics.tables["source_overlap"]) == len(found)


@settings(deadline=None, max_examples=60)
@given(CORPORA.filter(bool), st.integers(2, 4), st.integers(1, 3))
def test_bounded_comparisons_never_remove_wrongly(documents, max_bucket, max_comparisons):
    parameters = DedupParameters(max_bucket=max_bucket, num_representatives=1, max_comparisons=max_comparisons)
    resolution = resolve_documents(documents, parameters)
    rank = {doc_id: (snapshot, doc_id) for doc_id, snapshot, _ in documents}
    removed = {row[0] for row in decisions(resolution)}
    for doc_id, kept, _, score in decisions(resolution):
        assert score >= 0.7
        assert kept not in removed
        assert rank[kept] < rank[doc_id]
    assert resolution.statistics.scalars["skipped_in_hot_buckets"] >= 0
    signed = sum(resolution.statistics.scalars[f"documents_removed_{kind}"] for kind in ("exact", "near"))
    assert signed == len(removed) == len(resolution.table)


@settings(deadline=None, max_examples=60)
@given(CORPORA.filter(bool), st.integers(2, 4), st.integers(1, 3))
def test_a_new_snapshot_changes_no_earlier_decision(documents, max_bucket, max_comparisons):
    """Ranked oldest first, also where buckets and comparisons are cut short."""
    parameters = DedupParameters(max_bucket=max_bucket, num_representatives=1, max_comparisons=max_comparisons)
    old = [document for document in documents if document[1] != "s3"]
    if not old:
        return
    before = decisions(resolve_documents(old, parameters))
    new = {doc_id for doc_id, snapshot, _ in documents if snapshot == "s3"}
    after = [row for row in decisions(resolve_documents(documents, parameters)) if row[0] not in new]
    assert after == before


def test_the_resolution_has_the_tables_schema():
    assert resolve_documents(planted()).table.schema == RESOLUTION
    assert isinstance(resolve_documents(planted()).table, pa.Table)
