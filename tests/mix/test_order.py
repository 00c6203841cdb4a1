"""The order of the stream: its bound, its period, and every sequence once an epoch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.mix.order import Stretch, build_order, prefix_bound

WEIGHTS = st.lists(st.integers(1, 60), min_size=1, max_size=8)


def order_of(weights, *, sizes=None, seed=0, block_sequences=4):
    stretches = [Stretch(start=0, weights=tuple(weights))]
    return build_order(stretches, num_sequences=sizes or [5] * len(weights), seed=seed, block_sequences=block_sequences)


@pytest.mark.parametrize(
    ("weights", "components"),
    [
        ([3], [0, 0, 0]),
        ([1, 1], [0, 1]),
        ([3, 1], [0, 0, 1, 0]),
        ([1, 3], [1, 0, 1, 1]),
        ([2, 2, 1], [0, 1, 2, 0, 1]),
    ],
)
def test_components_come_in_turn(weights, components):
    assert order_of(weights).chosen_M.tolist() == components


@given(WEIGHTS)
def test_every_prefix_is_within_the_bound_and_every_period_exact(weights):
    order = order_of(weights)
    period = sum(weights)
    positions = np.arange(3 * period)
    came_TC = np.cumsum(order.locate(positions).component_T[:, None] == np.arange(len(weights)), axis=0)
    wanted_TC = (positions[:, None] + 1) * np.array(weights) / period
    assert np.abs(came_TC - wanted_TC).max() <= prefix_bound(len(weights)) + 1e-9
    assert came_TC[period - 1].tolist() == weights
    assert came_TC[-1].tolist() == [3 * weight for weight in weights]


def test_prefix_bound_of_a_million_positions_and_twelve_components():
    weights = np.random.default_rng(5).integers(1, 170_000, 12)
    order = order_of(weights.tolist(), sizes=[1000] * 12, block_sequences=8)
    steps = np.arange(1, len(order.chosen_M) + 1)
    worst = 0.0
    for component, weight in enumerate(weights):
        came = np.cumsum(order.chosen_M == component)
        worst = max(worst, np.abs(came - steps * (weight / len(steps))).max())
    assert len(steps) > 1_000_000 and 0.9 < worst <= prefix_bound(12) + 1e-6


@given(WEIGHTS, st.integers(0, 2**62), st.data())
def test_an_epoch_meets_every_sequence_once(weights, seed, data):
    sizes = data.draw(st.lists(st.integers(1, 40), min_size=len(weights), max_size=len(weights)))
    order = order_of(weights, sizes=sizes, seed=seed)
    found = order.locate(np.arange(4 * sum(weights)))
    for component, size in enumerate(sizes):
        mine = found.component_T == component
        epochs, indexes = found.epoch_T[mine], found.index_T[mine]
        assert epochs.tolist() == [number // size for number in range(len(epochs))]
        for epoch in range(len(epochs) // size):
            assert sorted(indexes[epochs == epoch]) == list(range(size))


@given(WEIGHTS, st.lists(st.integers(0, 10_000), max_size=30))
def test_positions_can_be_asked_in_any_order(weights, positions):
    order = order_of(weights, sizes=[7] * len(weights))
    asked = order.locate(positions)
    alone = [order.locate([position]) for position in positions]
    assert asked.component_T.tolist() == [one.component_T[0] for one in alone]
    assert asked.epoch_T.tolist() == [one.epoch_T[0] for one in alone]
    assert asked.index_T.tolist() == [one.index_T[0] for one in alone]


@given(WEIGHTS, st.integers(0, 500))
def test_count_is_how_often_each_component_came(weights, num_positions):
    order = order_of(weights)
    came = np.bincount(order.locate(np.arange(num_positions)).component_T, minlength=len(weights))
    assert order.count(num_positions).tolist() == came.tolist()


def test_epochs_and_seeds_shuffle_differently():
    first = order_of([1], sizes=[50], seed=1).locate(np.arange(100)).index_T
    other = order_of([1], sizes=[50], seed=2).locate(np.arange(100)).index_T
    assert first[:50].tolist() != first[50:].tolist()
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize("weights", [[], [0, 0], [-1, 2]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weight"):
        order_of(weights, sizes=[1] * len(weights))


def test_negative_positions_are_refused():
    with pytest.raises(ValueError, match="positions start at 0, got -3"):
        order_of([1, 1]).locate([0, -3])
