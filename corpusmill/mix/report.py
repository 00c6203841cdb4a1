"""What a plan's stream really gives: its order walked from the first position to the last, in true tokens.

The plan counts on sequences of mean fullness; this counts each one that is read. Costs about 100 ns a position, and
four bytes of memory a sequence.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from corpusmill.mix.plan import Plan

REPORT = pa.schema(
    [
        pa.field("mix", pa.string(), nullable=False),
        pa.field("mix_version", pa.string(), nullable=False),
        pa.field("component", pa.string(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("planned_share", pa.float64(), nullable=False),
        pa.field("realised_share", pa.float64(), nullable=False),
        pa.field("planned_tokens", pa.int64(), nullable=False),
        pa.field("realised_tokens", pa.int64(), nullable=False),
        pa.field("planned_sequences", pa.int64(), nullable=False),
        pa.field("realised_sequences", pa.int64(), nullable=False),
        pa.field("num_sequences", pa.int64(), nullable=False),
        pa.field("num_tokens", pa.int64(), nullable=False),
        pa.field("epochs", pa.float64(), nullable=False),
        pa.field("fill", pa.float64(), nullable=False),
        pa.field("prefix_distance", pa.float64(), nullable=False),
        pa.field("group", pa.string()),
        pa.field("language", pa.string()),
        pa.field("is_synthetic", pa.bool_()),
        pa.field("phase_tokens", pa.list_(pa.int64())),
    ]
)
"""One row per component, in the order of the plan. Shares are of tokens.

`phase_tokens` are those that really came in each phase. `prefix_distance` is how many sequences the worst prefix of a
phase was away from the component's integer weight; the
order promises at most `corpusmill.mix.order.prefix_bound`.
"""

_STEP = 1 << 18


def realise(plan: Plan, tokens_per_sequence: Sequence[np.ndarray[Any, Any]]) -> pa.Table:
    """Return REPORT rows; `tokens_per_sequence` has, per component, how many tokens each of its sequences holds.

    Raises ValueError when a component has other sequences or tokens than the plan pinned.
    """
    _check(plan, tokens_per_sequence)
    drawn_FC, tokens_FC, distance_C = _walk(plan, tokens_per_sequence)
    drawn_C, tokens_C = drawn_FC.sum(axis=0), tokens_FC.sum(axis=0)
    total = int(tokens_C.sum())
    rows = [
        {
            "mix": plan.mix,
            "mix_version": plan.version,
            "component": component.name,
            "table": component.table,
            "planned_share": component.planned_tokens / plan.planned_tokens,
            "realised_share": int(tokens_C[number]) / total,
            "planned_tokens": component.planned_tokens,
            "realised_tokens": int(tokens_C[number]),
            "planned_sequences": component.planned_sequences,
            "realised_sequences": int(drawn_C[number]),
            "num_sequences": component.num_sequences,
            "num_tokens": component.num_tokens,
            "epochs": int(drawn_C[number]) / component.num_sequences,
            "fill": component.num_tokens / (component.num_sequences * plan.sequence_length),
            "prefix_distance": float(distance_C[number]),
            "group": component.group,
            "language": component.language,
            "is_synthetic": component.is_synthetic,
            "phase_tokens": tokens_FC[:, number].tolist(),
        }
        for number, component in enumerate(plan.components)
    ]
    return pa.Table.from_pylist(rows, schema=REPORT)


def largest_share_difference(report: pa.Table) -> float:
    """Return how far the share of any component is from its plan, as a share of all tokens."""
    planned, realised = report["planned_share"].to_numpy(), report["realised_share"].to_numpy()
    return float(np.abs(planned - realised).max())


def phase_rows(plan: Plan, report: pa.Table) -> list[dict[str, Any]]:
    """Return a row for each phase: where it begins, how long it is, and the shares of tokens that came, as one text."""
    names, tokens_CF = report["component"].to_pylist(), report["phase_tokens"].to_pylist()
    rows = []
    for number, (phase, start) in enumerate(zip(plan.stretches, plan.starts, strict=False)):
        tokens = {name: of_phase[number] for name, of_phase in zip(names, tokens_CF, strict=True)}
        total = sum(tokens.values()) or 1
        rows.append(
            {
                "phase": phase.name,
                "first_position": start,
                "sequences": phase.num_positions,
                "tokens": sum(tokens.values()),
                "shares": ", ".join(f"{name} {held / total:.1%}" for name, held in tokens.items() if held),
            }
        )
    return rows


def tokens_by_language(report: pa.Table) -> dict[str, int]:
    """Return realised tokens by the language that components declare, most first."""
    sums: dict[str, int] = {}
    for row in report.select(["language", "realised_tokens"]).to_pylist():
        name = row["language"] or "not declared"
        sums[name] = sums.get(name, 0) + row["realised_tokens"]
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


def synthetic_share(report: pa.Table) -> float:
    """Return the share of realised tokens that synthetic components gave."""
    rows = report.select(["is_synthetic", "realised_tokens"]).to_pylist()
    total = sum(row["realised_tokens"] for row in rows)
    return sum(row["realised_tokens"] for row in rows if row["is_synthetic"]) / total


def _check(plan: Plan, tokens_per_sequence: Sequence[np.ndarray[Any, Any]]) -> None:
    for component, tokens in zip(plan.components, tokens_per_sequence, strict=True):
        found = (len(tokens), int(tokens.sum()))
        if found != (component.num_sequences, component.num_tokens):
            raise ValueError(
                f"component {component.name!r} of mix {plan.mix!r} was planned over {component.num_sequences:,} "
                f"sequences with {component.num_tokens:,} tokens, got {found[0]:,} with {found[1]:,}; plan it again"
            )


def _walk(plan: Plan, tokens_per_sequence: Sequence[np.ndarray[Any, Any]]) -> tuple[Any, Any, Any]:
    """Return, per stretch and component, sequences and tokens that came, and per component the worst prefix."""
    order = plan.order()
    sizes = [len(tokens) for tokens in tokens_per_sequence]
    offset_C = np.cumsum(sizes) - sizes
    tokens_S = np.concatenate(tokens_per_sequence).astype(np.int32)
    drawn_FC, tokens_FC = np.zeros((2, len(plan.stretches), len(sizes)), np.int64)
    distance_C = np.zeros(len(sizes))
    for number, (begin, end) in enumerate(pairwise(plan.starts)):
        sums = (drawn_FC[number], tokens_FC[number], distance_C)
        for start in range(begin, end, _STEP):
            found = order.locate(np.arange(start, min(start + _STEP, end)))
            held_T = tokens_S[offset_C[found.component_T] + found.index_T]
            _add_up(found.component_T, held_T, order.weights_FC[number], start - begin, sums)
    return drawn_FC, tokens_FC, distance_C


@numba.njit(cache=True)
def _add_up(component_T: Any, held_T: Any, weights_C: Any, start: int, sums: Any) -> None:
    drawn_C, tokens_C, distance_C = sums
    period = weights_C.sum()
    for i in range(len(component_T)):
        component = component_T[i]
        drawn_C[component] += 1
        tokens_C[component] += held_T[i]
        turn = (start + i + 1) // period
        position = (start + i + 1) % period
        for c in range(len(weights_C)):
            in_period = drawn_C[c] - turn * weights_C[c]
            distance_C[c] = max(distance_C[c], abs(in_period - weights_C[c] * position / period))
