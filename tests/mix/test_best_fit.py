"""Best-fit decreasing against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.mix.best_fit import pack_best_fit


@pytest.mark.parametrize(
    ("lengths", "capacity", "bins"),
    [
        ([], 4, []),
        ([3, 2, 2], 4, [0, 1, 1]),
        ([1, 4, 3], 4, [1, 0, 1]),
        ([5, 3, 6, 2, 4], 10, [1, 1, 0, 1, 0]),
        ([64, 64, 64], 64, [0, 1, 2]),
        ([1, 1, 1], 1, [0, 1, 2]),
    ],
)
def test_pieces_go_where_least_room_is_left(lengths, capacity, bins):
    assert pack_best_fit(np.array(lengths, np.int64), capacity=capacity).tolist() == bins


@pytest.mark.parametrize("lengths", [[0], [5], [2, -1]])
def test_a_piece_that_fits_nowhere_is_refused(lengths):
    with pytest.raises(ValueError, match="pieces must hold 1 to 4 tokens"):
        pack_best_fit(np.array(lengths), capacity=4)


@given(st.integers(1, 300).flatmap(lambda top: st.tuples(st.just(top), st.lists(st.integers(1, top), max_size=200))))
def test_bins_are_those_of_a_plain_best_fit(case):
    capacity, lengths = case
    bins = pack_best_fit(np.array(lengths, np.int64), capacity=capacity)
    held = np.bincount(bins, weights=lengths).astype(int).tolist() if lengths else []
    assert sorted(capacity - tokens for tokens in held) == sorted(rooms_of_plain_best_fit(lengths, capacity))


def rooms_of_plain_best_fit(lengths: list[int], capacity: int) -> list[int]:
    rooms: list[int] = []
    for length in sorted(lengths, reverse=True):
        fitting = [room for room in rooms if room >= length]
        if fitting:
            rooms.remove(min(fitting))
        rooms.append((min(fitting) if fitting else capacity) - length)
    return rooms


def test_windows_of_16_000_pieces_are_at_least_99_8_percent_full():
    lengths = np.clip(np.random.default_rng(7).lognormal(6.2, 1.1, 16_000), 1, 2048).astype(np.int64)
    bins = pack_best_fit(lengths, capacity=2048)
    assert lengths.sum() / ((bins.max() + 1) * 2048) > 0.998
