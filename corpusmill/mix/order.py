"""The order of a mixture's stream: position -> (component, epoch, index), a function of plan, seed and position.

Which component comes at a position is Tijdeman's chairman assignment (Tijdeman, "The chairman assignment problem",
Discrete Mathematics 32, 1980) of integer weights p_i with sum M: of k components, every prefix of t positions has each
within 1 - 1/(2k - 2) of p_i t / M, is exact at every multiple of M and repeats after M. Which sequence of the component
comes is a permutation keyed by seed, component and epoch (`corpusmill.mix.permutation`).

Costs: k M steps to build; 6 bytes a position of the period to keep (6 MB at M = 2^20); a position about 60 ns.

Legend: T = positions asked, M = positions of a period, C = components.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from corpusmill.mix.permutation import mix_key, permute_in_blocks, short_block_slot

IntArray = np.ndarray[Any, np.dtype[np.int64]]


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
    block_sequences: int
    weights_C: IntArray
    """Integer weights p_i; their sum is the period."""
    num_sequences_C: IntArray
    chosen_M: np.ndarray[Any, np.dtype[np.int16]]
    """The component at each position of the period."""
    rank_M: np.ndarray[Any, np.dtype[np.int32]]
    """How often that component came before in the period."""

    @property
    def period(self) -> int:
        return len(self.chosen_M)

    def locate(self, positions: Sequence[int] | IntArray) -> Located:
        """Return component, epoch and index of every position; a negative position raises ValueError."""
        position_T = np.asarray(positions, np.int64)
        if position_T.size and position_T.min() < 0:
            raise ValueError(f"positions start at 0, got {position_T.min()}")
        found_3T = np.empty((3, len(position_T)), np.int64)
        key = np.uint64(mix_key(np.uint64(0), self.seed))
        sizes = (self.weights_C, self.num_sequences_C)
        _locate(position_T, self.chosen_M, self.rank_M, sizes, (key, self.block_sequences), found_3T)
        return Located(component_T=found_3T[0], epoch_T=found_3T[1], index_T=found_3T[2])

    def count(self, num_positions: int) -> IntArray:
        """Return how many of the first `num_positions` belong to each component."""
        periods, rest = divmod(num_positions, self.period)
        tail_C = np.bincount(self.chosen_M[:rest], minlength=len(self.weights_C))
        return periods * self.weights_C + tail_C


def build_order(weights: Sequence[int], *, num_sequences: Sequence[int], seed: int, block_sequences: int) -> Order:
    """Return the order of components with these integer weights and sizes.

    `block_sequences` is how many neighbours stay together when a component is shuffled: what a reader fetches at once.
    """
    if len(weights) != len(num_sequences) or not weights:
        raise ValueError(f"each component needs a weight and a size, got {len(weights)} and {len(num_sequences)}")
    if min(weights) < 1 or min(num_sequences) < 1 or block_sequences < 1:
        raise ValueError(
            f"weights, sizes and blocks must be at least 1, got {weights}, {num_sequences}, {block_sequences}"
        )
    weights_C = np.asarray(weights, np.int64)
    chosen_M, rank_M = _assign_chairmen(weights_C)
    return Order(
        seed=seed,
        block_sequences=block_sequences,
        weights_C=weights_C,
        num_sequences_C=np.asarray(num_sequences, np.int64),
        chosen_M=chosen_M,
        rank_M=rank_M,
    )


def prefix_bound(num_components: int) -> float:
    """Return the largest distance, in sequences, of any prefix from its integer weights: 1 - 1/(2k - 2)."""
    return 0.0 if num_components == 1 else 1.0 - 1.0 / (2 * num_components - 2)


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
def _locate(position_T: Any, chosen_M: Any, rank_M: Any, sizes: Any, shuffle: Any, found_3T: Any) -> None:
    weights_C, num_sequences_C = sizes
    key, block = shuffle
    period = len(chosen_M)
    # Positions mostly come in order: what depends on the epoch alone is kept until the component's epoch changes.
    epoch_C = np.full(len(weights_C), -1, np.int64)
    epoch_key_C = np.zeros(len(weights_C), np.uint64)
    short_slot_C = np.zeros(len(weights_C), np.int64)
    for i in range(len(position_T)):
        turn = position_T[i] // period
        step = position_T[i] - turn * period
        component = chosen_M[step]
        drawn = turn * weights_C[component] + rank_M[step]
        size = num_sequences_C[component]
        epoch = drawn // size
        if epoch != epoch_C[component]:
            epoch_C[component] = epoch
            epoch_key_C[component] = mix_key(mix_key(key, component), epoch)
            short_slot_C[component] = short_block_slot(size, block, epoch_key_C[component])
        found_3T[0, i] = component
        found_3T[1, i] = epoch
        found_3T[2, i] = permute_in_blocks(
            drawn - epoch * size, size, block, epoch_key_C[component], short_slot_C[component]
        )
