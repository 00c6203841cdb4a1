"""A new snapshot meets the known ones as all of them would meet at once, less what known documents did among themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.dedup.meetings import Rows, equal_texts, meet, meet_in_parts, shared_rows
from corpusmill.dedup.parameters import DedupParameters

SMALL = DedupParameters(max_bucket=4, num_representatives=2)
NOTHING = Rows(keys=np.empty(0, np.int64), members=np.empty(0, np.int64), further=np.empty(0, np.int64))
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40)


def rows(pairs: list[tuple[int, int]], first: int) -> Rows:
    keys, further = (np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
    return Rows(keys=keys, members=np.arange(first, first + len(pairs)), further=further << 32)


def found(known: Rows, fresh: Rows) -> tuple[set[tuple[int, int, int]], int, int, int]:
    first, hot = meet(known, fresh, SMALL)
    parts = []
    if len(hot.keys):
        crowds = [side.take(np.flatnonzero(np.isin(side.keys, hot.keys))) for side in (known, fresh)]
        parts = meet_in_parts(*crowds, SMALL)
    met = {
        pair
        for it in (first, *parts)
        for pair in zip(it.worse.tolist(), it.better.tolist(), it.levels.tolist(), strict=True)
    }
    return met, hot.added, hot.largest, hot.skipped


@given(ROWS, ROWS)
def test_two_steps_meet_as_one_does(early, late):
    known, fresh = rows(early, 0), rows(late, len(early))
    both, added, largest, skipped = found(NOTHING, rows(early + late, 0))
    before, added_before, largest_before, skipped_before = found(NOTHING, known)
    after, added_after, largest_after, skipped_after = found(known, fresh)
    assert {pair[:2] for pair in both} == {pair[:2] for pair in before | after}
    assert not {pair[:2] for pair in before} & {pair[:2] for pair in after}
    assert {pair for pair in both if pair[0] >= len(early)} == after
    assert (added, skipped) == (added_before + added_after, skipped_before + skipped_after)
    assert largest == max(largest_before, largest_after)


def test_copies_name_the_best_document_of_their_text():
    known = rows([(7, 1), (8, 1)], 0)
    fresh = rows([(8, 1), (7, 2), (7, 1), (7, 2)], 10)
    copies, originals = equal_texts(known, fresh)
    assert sorted(zip(copies.tolist(), originals.tolist(), strict=True)) == [(10, 1), (12, 0), (13, 11)]


def test_shared_rows_are_those_of_a_merge():
    keys = np.array([-5, -5, 0, 3, 3, 9], np.int64)
    assert shared_rows(keys, np.array([-5, 1, 3, 10], np.int64)).tolist() == [0, 1, 3, 4]
    assert shared_rows(keys, np.empty(0, np.int64)).tolist() == []
