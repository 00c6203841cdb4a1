"""Permutations evaluated at a point."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpusmill.mix.permutation import (
    GROUP_BLOCKS,
    mix_key,
    permutation,
    permute,
    permute_in_blocks,
    short_block_slot,
    unpermute,
)

SEEDS = st.integers(0, 2**62)


def key_of(seed: int) -> np.uint64:
    return np.uint64(mix_key(np.uint64(0), seed))


def in_blocks(size: int, *, block: int, seed: int) -> list[int]:
    key = key_of(seed)
    slot = short_block_slot(size, block, key)
    return [permute_in_blocks(value, size, block, key, slot) for value in range(size)]


@given(st.integers(1, 400), SEEDS)
def test_every_value_comes_once(size, seed):
    assert sorted(permutation(size, seed=seed)) == list(range(size))


@given(st.integers(1, 2**40), SEEDS, st.data())
def test_unpermute_goes_back(size, seed, data):
    value = data.draw(st.integers(0, size - 1))
    assert unpermute(permute(value, size, key_of(seed)), size, key_of(seed)) == value


@given(st.integers(1, 400), st.integers(1, 20), SEEDS)
def test_in_blocks_every_value_comes_once(size, block, seed):
    assert sorted(in_blocks(size, block=block, seed=seed)) == list(range(size))


@given(st.integers(1, 400), st.integers(1, 20), SEEDS)
def test_a_group_of_values_meets_few_blocks(size, block, seed):
    sent = in_blocks(size, block=block, seed=seed)
    met = {value // block for value in sent[: (GROUP_BLOCKS - 1) * block]}
    assert len(met) <= GROUP_BLOCKS


def test_seeds_and_parts_name_different_permutations():
    named = {tuple(permutation(50, seed=seed, part=part).tolist()) for seed in range(20) for part in range(20)}
    assert len(named) == 400


def test_the_same_seed_gives_the_same_permutation_on_every_machine():
    assert permutation(10, seed=7).tolist() == [4, 5, 6, 3, 7, 9, 2, 1, 8, 0]
    assert in_blocks(10, block=2, seed=7) == [4, 6, 5, 1, 7, 9, 8, 0, 2, 3]


def test_values_are_spread_evenly():
    """Over 4,000 seeds each of 16 values lands on each place about 250 times; five standard deviations are 77."""
    landed = np.zeros((16, 16), int)
    for seed in range(4000):
        landed[np.arange(16), permutation(16, seed=seed)] += 1
    assert np.abs(landed - 250).max() < 77
