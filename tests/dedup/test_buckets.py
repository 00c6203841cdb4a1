"""Pairs out of sorted buckets: bounded, cut anywhere, nothing skipped uncounted."""

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpusmill.dedup.buckets import bucket_pairs, compared_pairs, possible_pairs
from corpusmill.dedup.parameters import DedupParameters

SMALL = DedupParameters(max_bucket=4, num_representatives=2)


def rows(buckets: list[tuple[int, int, str]]) -> pa.Table:
    band, key, member = zip(*sorted(buckets), strict=True)
    return pa.table({"band": pa.array(band, pa.int32()), "key": pa.array(key, pa.int64()), "member": pa.array(member)})


def run(tables: list[pa.Table]) -> tuple[list[tuple], list[tuple]]:
    found = pa.concat_tables(bucket_pairs(tables, SMALL)).to_pylist()
    pairs = [(row["band"], row["key"], row["better"], row["worse"]) for row in found if row["size"] is None]
    hot = [(row["band"], row["key"], row["size"]) for row in found if row["size"] is not None]
    return pairs, hot


def test_members_meet_all_better_ones_of_their_bucket_only():
    pairs, hot = run([rows([(0, 7, "b"), (0, 7, "a"), (0, 7, "c"), (0, 8, "a"), (1, 7, "a"), (1, 7, "d")])])
    assert pairs == [(0, 7, "a", "b"), (0, 7, "a", "c"), (0, 7, "b", "c"), (1, 7, "a", "d")]
    assert hot == []


def test_an_oversize_bucket_meets_its_representatives_and_is_named():
    pairs, hot = run([rows([(0, 1, name) for name in "abcdef"])])
    assert [pair[2:] for pair in pairs] == [
        *(("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("c", "d")),
        *(("a", "e"), ("b", "e"), ("a", "f"), ("b", "f")),
    ]
    assert hot == [(0, 1, 6)]


@example(buckets=[(0, 0)] * 5 + [(0, 1)], cuts=[5])  # an oversize bucket ends where a batch does
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=60),
    st.lists(st.integers(0, 60), max_size=12),
)
def test_cuts_change_nothing_and_counts_agree(buckets, cuts):
    table = rows([(band, key, f"{place:03d}") for place, (band, key) in enumerate(buckets)])
    edges = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    cut = [table.slice(first, last - first) for first, last in pairwise(edges)]
    pairs, hot = run(cut)
    assert (sorted(pairs), sorted(hot)) == tuple(map(sorted, run([table])))
    sizes = [buckets.count(bucket) for bucket in set(buckets)]
    assert len(pairs) == len(set(pairs)) == sum(compared_pairs(size, SMALL) for size in sizes)
    assert sorted(size for _, _, size in hot) == sorted(size for size in sizes if size > 4)


def test_a_document_that_comes_twice_is_refused():
    with pytest.raises(ValueError, match="signed twice: a; each doc_id must appear once"):
        run([rows([(0, 1, "a"), (0, 1, "a")])])


def test_pairs_of_a_bucket_grow_with_its_size_only():
    parameters = DedupParameters()
    assert compared_pairs(50, parameters) == possible_pairs(50) == 1225
    assert compared_pairs(100_000, parameters) == 1225 + 99_950 * 8
