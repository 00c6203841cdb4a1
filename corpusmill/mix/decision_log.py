"""The decisions about live components as a table: what was there of each, and who filled its places."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from corpusmill.mix.availability import Decided, Decision

LOG = pa.schema(
    [
        pa.field("mix", pa.string(), nullable=False),
        pa.field("mix_version", pa.string(), nullable=False),
        pa.field("decision", pa.int64(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("stop", pa.int64(), nullable=False),
        pa.field("component", pa.string(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64()),
        pa.field("arrived", pa.list_(pa.string()), nullable=False),
        pa.field("available", pa.int64(), nullable=False),
        pa.field("planned", pa.int64(), nullable=False),
        pa.field("given", pa.int64(), nullable=False),
        pa.field("borrowed", pa.int64(), nullable=False),
        pa.field("lenders", pa.string(), nullable=False),
        pa.field("repaid", pa.int64(), nullable=False),
        pa.field("owed", pa.int64(), nullable=False),
    ]
)
"""One row per decision and live component; numbers are of sequences.

Of the positions from `start` to `stop` (half-open) `planned` were its places. `given` of them it filled itself, of `available`
sequences, `borrowed` the lenders, spelled `web 12, code 3`. `repaid` are places of lenders that it filled, `owed` those that
it owes after the decision. `arrived` are partitions that were new, seen in version `snapshot_id` of its table.
"""


def decisions_table(decided: Decided) -> pa.Table:
    """Return all decisions as LOG rows."""
    rows: list[dict[str, Any]] = []
    state = Decided.of(decided.plan)
    for decision in decided.decisions:
        after = state.after(decision)
        rows += _rows(state, decision, after)
        state = after
    return pa.Table.from_pylist(rows, schema=LOG)


def _rows(before: Decided, decision: Decision, after: Decided) -> Iterator[dict[str, Any]]:
    plan, planned = before.plan, before.planned(decision)
    routes = [(route, after.slot_of(route.column)) for route in before.routes(decision)]
    for slot in before.live_slots:
        component = plan.components[slot]
        assert component.live is not None
        own = [(route, giver) for route, giver in routes if route.slot == slot]
        lent = [route for route, giver in own if giver != slot]
        yield {
            "mix": plan.mix,
            "mix_version": plan.version,
            "decision": decision.number,
            "start": decision.start,
            "stop": decision.stop,
            "component": component.name,
            "rule": component.live.rule,
            "snapshot_id": decision.snapshots.get(component.table),
            "arrived": [pin.partition for one in decision.arrivals if one.slot == slot for pin in one.pins],
            "available": sum(count for _, count in before.left(slot, after.arrivals)),
            "planned": planned[slot],
            "given": sum(route.count for route, giver in own if giver == slot),
            "borrowed": sum(route.count for route in lent),
            "lenders": ", ".join(f"{plan.components[route.column].name} {route.count}" for route in lent),
            "repaid": sum(route.count for route, giver in routes if giver == slot != route.slot),
            "owed": sum(after.owed_by(slot).values()),
        }
