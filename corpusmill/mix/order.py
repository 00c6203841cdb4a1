"""The order of a mixture's stream: position -> (component, epoch, index), a function of plan, seed and position.

The stream is a row of stretches, each with its own weights. Which component comes at a position of a stretch is
Tijdeman's chairman assignment (Tijdeman, "The chairman assignment problem", Discrete Mathematics 32, 1980) of integer
weights p_i with sum M: of k components, every prefix of t positions of the stretch has each within 1 - 1/(2k - 2) of
p_i t / M, is exact at every multiple of M and repeats after M. Which sequence of the component comes is a permutation
keyed by seed, component and epoch (`corpusmill.mix.permutation`); epochs go on from one stretch to the next.

Costs: k M steps to build; 6 bytes a position of the periods to keep (6 MB if they sum to 2^20); a position about 60 ns,
plus log2 of the number of stretches where they change.

Legend: T = positions asked, M = positions of all periods, C = components, F = stretches.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from corpusmill.mix.permutation import (
    GROUP_BLOCKS,
    block_in_slot,
    find_group,
    group_key,
    mix_key,
    permute,
    short_block_slot,
)

IntArray = np.ndarray[Any, np.dtype[np.int64]]

_MARK = 4096
"""Positions of periods after which what came so far is kept, so that counting takes no longer than as many."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Positions that share weights: from `start` to where the next stretch starts; the last one has no end."""

    start: int
    weights: tuple[int, ...]
    """Integer weights p_i, by component; 0 for one that does not come."""


@dataclass(frozen=True, kw_only=True)
class Located:
    """What stands at each asked position."""

    component_T: IntArray
    epoch_T: IntArray
    index_T: IntArray
    """Number of the sequence inside its component."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """An order ready to be asked. Build it with `build_order`."""

    seed: int
    block_C: IntArray
    """Neighbouring sequences that a component's shuffle keeps together."""
    num_sequences_C: IntArray
    start_F: IntArray
    """First position of each stretch."""
    weights_FC: IntArray
    drawn_FC: IntArray
    """How often each component came before the stretch."""
    first_F: IntArray
    """Where the stretch's period begins in `chosen_M` and `rank_M`; stretches with equal weights share it."""
    chosen_M: np.ndarray[Any, np.dtype[np.int16]]
    """The component at each position of a period."""
    rank_M: np.ndarray[Any, np.dtype[np.int32]]
    """How often that component came before in the period."""

    def locate(self, positions: Sequence[int] | IntArray) -> Located:
        """Return component, epoch and index of every position; a negative position raises ValueError."""
        position_T = np.asarray(positions, np.int64)
        if position_T.size and position_T.min() < 0:
            raise ValueError(f"positions start at 0, got {position_T.min()}")
        found_3T = np.empty((3, len(position_T)), np.int64)
        key = np.uint64(mix_key(np.uint64(0), self.seed))
        stretches = (self.start_F, self.first_F, self.weights_FC.sum(axis=1), self.weights_FC, self.drawn_FC)
        periods = (self.chosen_M, self.rank_M)
        _locate(position_T, stretches, periods, self.num_sequences_C, (key, self.block_C), found_3T)
        return Located(component_T=found_3T[0], epoch_T=found_3T[1], index_T=found_3T[2])

    def draws(self, position_T: IntArray) -> tuple[IntArray, IntArray]:
        """Return the component of every position, and how often it came before."""
        found_2T = np.empty((2, len(position_T)), np.int64)
        stretches = (self.start_F, self.first_F, self.weights_FC.sum(axis=1), self.weights_FC, self.drawn_FC)
        _draw(position_T, stretches, (self.chosen_M, self.rank_M), found_2T)
        return found_2T[0], found_2T[1]

    def count(self, num_positions: int) -> IntArray:
        """Return how many of the first `num_positions` belong to each component."""
        number = int(np.searchsorted(self.start_F, num_positions, side="right")) - 1
        weights_C, first = self.weights_FC[number], int(self.first_F[number])
        periods, rest = divmod(num_positions - int(self.start_F[number]), int(weights_C.sum()))
        return self.drawn_FC[number] + periods * weights_C + self._chosen(first + rest) - self._chosen(first)

    def _chosen(self, stop: int) -> IntArray:
        mark = stop // _MARK
        return self._marks[mark] + np.bincount(self.chosen_M[mark * _MARK : stop], minlength=self.weights_FC.shape[1])

    @functools.cached_property
    def _marks(self) -> IntArray:
        num_components = self.weights_FC.shape[1]
        parts = [
            np.bincount(self.chosen_M[start : start + _MARK], minlength=num_components)
            for start in range(0, len(self.chosen_M), _MARK)
        ]
        return np.cumsum([np.zeros(num_components, np.int64), *parts], axis=0)


def build_order(
    stretches: Sequence[Stretch], *, num_sequences: Sequence[int], seed: int, block_sequences: int | Sequence[int]
) -> Order:
    """Return the order of components with these sizes and, stretch by stretch, integer weights.

    `block_sequences` is how many neighbours stay together when a component is shuffled: what a reader fetches at once.
    """
    _check_stretches(stretches, num_sequences, block_sequences)
    distinct = list(dict.fromkeys(one.weights for one in stretches))
    periods = [_assign(np.asarray(weights, np.int64)) for weights in distinct]
    firsts = np.cumsum([0, *(len(chosen_M) for chosen_M, _ in periods)])
    order = Order(
        seed=seed,
        block_C=np.broadcast_to(np.asarray(block_sequences, np.int64), len(num_sequences)).copy(),
        num_sequences_C=np.asarray(num_sequences, np.int64),
        start_F=np.asarray([one.start for one in stretches], np.int64),
        weights_FC=np.asarray([one.weights for one in stretches], np.int64),
        drawn_FC=np.zeros((len(stretches), len(num_sequences)), np.int64),
        first_F=np.asarray([firsts[distinct.index(one.weights)] for one in stretches], np.int64),
        chosen_M=np.concatenate([chosen_M for chosen_M, _ in periods]),
        rank_M=np.concatenate([rank_M for _, rank_M in periods]),
    )
    for number in range(1, len(stretches)):
        order.drawn_FC[number] = _count_before(order, number)
    return order


def prefix_bound(num_components: int) -> float:
    """Return the largest distance, in sequences, of any prefix from its integer weights: 1 - 1/(2k - 2)."""
    return 0.0 if num_components == 1 else 1.0 - 1.0 / (2 * num_components - 2)


def _check_stretches(
    stretches: Sequence[Stretch], num_sequences: Sequence[int], block_sequences: int | Sequence[int]
) -> None:
    lengths = {len(one.weights) for one in stretches}
    if lengths != {len(num_sequences)} or not num_sequences:
        raise ValueError(f"each component needs a weight and a size, got {sorted(lengths)} and {len(num_sequences)}")
    if any(min(one.weights) < 0 or sum(one.weights) < 1 for one in stretches):
        raise ValueError(f"weights must not be negative nor sum to 0, got {[one.weights for one in stretches]}")
    if min(num_sequences) < 1 or np.min(block_sequences) < 1:
        raise ValueError(f"sizes and blocks must be at least 1, got {num_sequences}, {block_sequences}")
    starts = [one.start for one in stretches]
    if starts[0] != 0 or sorted({*starts}) != starts:
        raise ValueError(f"stretches must start at 0 and go up, got {starts}")


def _count_before(order: Order, number: int) -> IntArray:
    """Return what came before a stretch, from what came before the one before it."""
    weights_C, first = order.weights_FC[number - 1], order.first_F[number - 1]
    periods, rest = divmod(int(order.start_F[number] - order.start_F[number - 1]), int(weights_C.sum()))
    tail_C = np.bincount(order.chosen_M[first : first + rest], minlength=len(weights_C))
    return order.drawn_FC[number - 1] + periods * weights_C + tail_C


def _assign(weights_C: IntArray) -> tuple[Any, Any]:
    """Fill the period of the components that come; the others are never chosen and do not widen the bound."""
    coming = np.flatnonzero(weights_C)
    chosen_M, rank_M = _assign_chairmen(weights_C[coming])
    return coming.astype(np.int16)[chosen_M], rank_M


@numba.njit(cache=True, error_model="numpy")
def _assign_chairmen(weights_C: Any) -> Any:
    """Fill one period. A component may come once it lags by 1/(2k - 2); of those comes the one that must come first.

    A component with weight p that came x times must come before p t / M - x exceeds 1 - 1/(2k - 2); the time left is
    `slack / p` with slack in units of 1/(M (2k - 2)), compared by cross-multiplication. Ties go to the lower number.
    """
    num_components, period = len(weights_C), weights_C.sum()
    chosen_M, rank_M = np.zeros(period, np.int16), np.zeros(period, np.int32)
    taken_C = np.zeros(num_components, np.int64)
    scale = max(1, 2 * num_components - 2)
    for t in range(period):
        best, best_slack = -1, 0
        for c in range(num_components):
            lag = scale * (weights_C[c] * (t + 1) - period * taken_C[c])
            if lag < period and num_components > 1:
                continue
            slack = period * (scale - 1) - lag
            if best < 0 or slack * weights_C[best] < best_slack * weights_C[c]:
                best, best_slack = c, slack
        chosen_M[t] = best
        rank_M[t] = taken_C[best]
        taken_C[best] += 1
    return chosen_M, rank_M


@numba.njit(cache=True, error_model="numpy")
def _locate(position_T: Any, stretches: Any, periods: Any, num_sequences_C: Any, shuffle: Any, found_3T: Any) -> None:
    """Positions mostly come in order: what holds for a period, an epoch or a group of blocks is kept until it changes.

    That spares the divisions and all but one permutation. `kept_C7` is each component's epoch, the draw with which it
    began, and its group as `find_group` tells it.
    """
    start_F, first_F, period_F, weights_FC, drawn_FC = stretches
    chosen_M, rank_M = periods
    key, block_C = shuffle
    begin, end, stretch, turn = 0, 0, 0, 0
    kept_C7 = np.zeros((len(num_sequences_C), 7), np.int64)
    kept_C7[:, 0] = -1
    key_C2 = np.zeros((len(num_sequences_C), 2), np.uint64)
    blocks_CS = np.zeros((len(num_sequences_C), GROUP_BLOCKS), np.int64)
    for i in range(len(position_T)):
        position = position_T[i]
        if position < begin or position >= end:
            stretch = np.searchsorted(start_F, position, side="right") - 1
            turn = (position - start_F[stretch]) // period_F[stretch]
            begin = start_F[stretch] + turn * period_F[stretch]
            end = begin + period_F[stretch]
            if stretch + 1 < len(start_F):
                end = min(end, start_F[stretch + 1])
        step = first_F[stretch] + position - begin
        component = chosen_M[step]
        block = block_C[component]
        drawn = drawn_FC[stretch, component] + turn * weights_FC[stretch, component] + rank_M[step]
        size = num_sequences_C[component]
        value = drawn - kept_C7[component, 1]
        if kept_C7[component, 0] < 0 or value < 0 or value >= size:
            kept_C7[component, 0] = drawn // size
            kept_C7[component, 1] = kept_C7[component, 0] * size
            kept_C7[component, 4] = 0
            value = drawn - kept_C7[component, 1]
            key_C2[component, 0] = mix_key(mix_key(key, component), kept_C7[component, 0])
        if value < kept_C7[component, 3] or value >= kept_C7[component, 3] + kept_C7[component, 4]:
            found = find_group(value, size, block, short_block_slot(size, block, key_C2[component, 0]))
            for place in range(5):
                kept_C7[component, place + 2] = found[place]
            key_C2[component, 1] = group_key(kept_C7[component, 2], key_C2[component, 0])
            for slot in range(GROUP_BLOCKS):
                blocks_CS[component, slot] = -1
        rest = permute(value - kept_C7[component, 3], kept_C7[component, 4], key_C2[component, 1])
        if rest >= kept_C7[component, 5]:
            rest += kept_C7[component, 6]
        slot = 0
        while rest >= block:
            rest -= block
            slot += 1
        if blocks_CS[component, slot] < 0:
            blocks_CS[component, slot] = block_in_slot(kept_C7[component, 2], slot, size, block, key_C2[component, 0])
        found_3T[0, i] = component
        found_3T[1, i] = kept_C7[component, 0]
        found_3T[2, i] = blocks_CS[component, slot] * block + rest


@numba.njit(cache=True, error_model="numpy")
def _draw(position_T: Any, stretches: Any, periods: Any, found_2T: Any) -> None:
    start_F, first_F, period_F, weights_FC, drawn_FC = stretches
    chosen_M, rank_M = periods
    for i in range(len(position_T)):
        stretch = np.searchsorted(start_F, position_T[i], side="right") - 1
        turn, rest = divmod(position_T[i] - start_F[stretch], period_F[stretch])
        step = first_F[stretch] + rest
        component = chosen_M[step]
        found_2T[0, i] = component
        found_2T[1, i] = drawn_FC[stretch, component] + turn * weights_FC[stretch, component] + rank_M[step]
