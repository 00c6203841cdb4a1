"""What a plan's stream really gives: its order walked from the first position to the last, in true tokens.

The plan counts on sequences of mean fullness; this counts each one that is read. Costs about 100 ns a position, and
four bytes of memory a sequence. Of a plan with live components it is told what is decided: each one's arrivals together,
against what was planned for the same positions.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from corpusmill.mix.decided import DecidedPlan
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
    planned, owner_K = _planned(plan)
    drawn_FC, tokens_FC, distance_C = _walk(plan, planned, owner_K, tokens_per_sequence)
    drawn_C, tokens_C = drawn_FC.sum(axis=0), tokens_FC.sum(axis=0)
    sequences_K, held_K = zip(*((one.num_sequences, one.num_tokens) for one in plan.components), strict=True)
    num_sequences_C, num_tokens_C = (
        np.bincount(owner_K, weights=one, minlength=len(drawn_C)).astype(np.int64) for one in (sequences_K, held_K)
    )
    total = max(1, int(tokens_C.sum()))
    rows = [
        {
            "mix": plan.mix,
            "mix_version": plan.version,
            "component": component.name,
            "table": component.table,
            "planned_share": component.planned_tokens / max(1, planned.planned_tokens),
            "realised_share": int(tokens_C[number]) / total,
            "planned_tokens": component.planned_tokens,
            "realised_tokens": int(tokens_C[number]),
            "planned_sequences": component.planned_sequences,
            "realised_sequences": int(drawn_C[number]),
            "num_sequences": int(num_sequences_C[number]),
            "num_tokens": int(num_tokens_C[number]),
            "epochs": int(drawn_C[number]) / max(1, int(num_sequences_C[number])),
            "fill": int(num_tokens_C[number]) / max(1, int(num_sequences_C[number]) * plan.length_of(component)),
            "prefix_distance": float(distance_C[number]),
            "group": component.group,
            "language": component.language,
            "is_synthetic": component.is_synthetic,
            "phase_tokens": tokens_FC[:, number].tolist(),
        }
        for number, component in enumerate(planned.components)
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
    for number, (phase, start) in enumerate(zip(_planned(plan)[0].stretches, plan.starts, strict=False)):
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
    total = max(1, sum(row["realised_tokens"] for row in rows))
    return sum(row["realised_tokens"] for row in rows if row["is_synthetic"]) / total


def _check(plan: Plan, tokens_per_sequence: Sequence[np.ndarray[Any, Any]]) -> None:
    for component, tokens in zip(plan.components, tokens_per_sequence, strict=True):
        found = (len(tokens), int(tokens.sum()))
        if found != (component.num_sequences, component.num_tokens):
            raise ValueError(
                f"component {component.name!r} of mix {plan.mix!r} was planned over {component.num_sequences:,} "
                f"sequences with {component.num_tokens:,} tokens, got {found[0]:,} with {found[1]:,}; plan it again"
            )


def _planned(plan: Plan) -> tuple[Plan, np.ndarray[Any, Any]]:
    """Return what the realised is to be held against, and to which of its components each of the plan's belongs."""
    if not isinstance(plan, DecidedPlan):
        return plan, np.arange(len(plan.components))
    decided = plan.decided
    counts = decided.order.count(decided.position).tolist()
    components = tuple(
        one
        if plan.is_whole
        else replace(one, planned_sequences=count, planned_tokens=count * one.num_tokens // one.num_sequences)
        for one, count in zip(decided.plan.components, counts, strict=True)
    )
    owner_K = np.array([decided.slot_of(column) for column in range(len(plan.components))])
    return replace(decided.plan, components=components, phases=decided.plan.stretches), owner_K


def _walk(
    plan: Plan, planned: Plan, owner_K: np.ndarray[Any, Any], tokens_per_sequence: Sequence[np.ndarray[Any, Any]]
) -> tuple[Any, Any, Any]:
    """Return, per stretch and component, sequences and tokens that came, and per component the worst prefix."""
    order = plan.order()
    sizes = [len(tokens) for tokens in tokens_per_sequence]
    offset_K = np.cumsum(sizes) - sizes
    tokens_S = np.concatenate(tokens_per_sequence).astype(np.int32)
    drawn_FC, tokens_FC = np.zeros((2, len(planned.stretches), len(planned.components)), np.int64)
    distance_C = np.zeros(len(planned.components))
    for number, (begin, end) in enumerate(pairwise(planned.starts)):
        weights_C = np.asarray(planned.stretches[number].order_weights, np.int64)
        sums = (drawn_FC[number], tokens_FC[number], distance_C)
        for start in range(begin, min(end, plan.num_positions), _STEP):
            found = order.locate(np.arange(start, min(start + _STEP, end, plan.num_positions)))
            held_T = tokens_S[offset_K[found.component_T] + found.index_T]
            _add_up(owner_K[found.component_T], held_T, weights_C, start - begin, sums)
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
