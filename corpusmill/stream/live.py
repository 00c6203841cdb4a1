"""The log of a mix with live components: what was decided of its stream, and how the next decision comes about.

Each decision is one object, named by its number and made only if it is not there yet. So of ranks, workers and jobs that race
the first one decides, the others read what it decided, and one that is killed leaves a decision or none. What arrived is
tagged before the decision that reads it is there, so that expiry spares it and a partition that is made again later changes
nothing. Costs: a position that is decided asks nobody; reading the log takes one small object a decision, 16 at a time.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from corpusmill.lake.errors import TableMissingError
from corpusmill.lake.names import log_directory
from corpusmill.lake.partitions import PartitionState
from corpusmill.lake.tables import Lake
from corpusmill.mix.availability import Arrival, Decided, Decision, Short, decide
from corpusmill.mix.decided import decided_plan
from corpusmill.mix.inventory import PartitionPin, matching, pin_partition
from corpusmill.mix.plan import Plan
from corpusmill.stream.inventory import PLAN_TABLE, plan_tag

_READERS = 16
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 2.0
_SECONDS_A_LINE = 60.0

PATIENCE_SECONDS = 3600.0


class ComponentLateError(TimeoutError):
    """A live component had nothing for the next position for as long as the stream waits."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How long to wait for a live component, and whom to tell."""

    patience_seconds: float = PATIENCE_SECONDS
    say: Callable[[str], None] | None = None


def say_to_stderr(line: str) -> None:
    """Print a line where a trainer's own output does not go."""
    print(line, file=sys.stderr, flush=True)


def standing(lake: Lake, plan: Plan) -> Plan:
    """Return a plan as it can be read: one with live components as far as it is decided, any other as it is."""
    return decided_plan(read_log(lake, plan)) if plan.is_live else plan


def read_log(lake: Lake, plan: Plan) -> Decided:
    """Return all that was decided of a plan; raises ValueError for a damaged log."""
    keys = [item.key for item in lake.store.list(f"{_folder(plan)}/")]
    with ThreadPoolExecutor(_READERS) as readers:
        return Decided.of(plan, list(readers.map(lambda key: _read(lake, key), keys)))


def next_decided(lake: Lake, decided: Decided) -> Decided | None:
    """Return what stands with the next decision, None where there is none yet."""
    key = _key(decided.plan, len(decided.decisions))
    try:
        return decided.after(_read(lake, key))
    except FileNotFoundError:
        return None


def decide_once(lake: Lake, decided: Decided) -> Decided | str:
    """Return what stands with the next decision, whoever makes it, or a line that says what it needs.

    Raises ValueError for partitions that do not fit the plan.
    """
    while (found := next_decided(lake, decided)) is None:
        arrivals, snapshots = _look(lake, decided)
        made = decide(decided, arrivals, snapshots)
        if isinstance(made, Short):
            return _waits(decided, made)
        _keep(lake, decided.plan, made)
    return found


def wait_for_decision(decide_now: Callable[[], Decided | str], waiting: Waiting) -> Decided:
    """Call until it gives what is decided instead of a line that says what is missing; raises ComponentLateError."""
    began = time.monotonic()
    told, pause_seconds = float("-inf"), _FIRST_PAUSE_SECONDS
    while isinstance(found := decide_now(), str):
        waited = time.monotonic() - began
        if waited >= waiting.patience_seconds:
            raise ComponentLateError(
                f"{found}. It did not come in {waiting.patience_seconds:g} s: materialize more partitions of it and go on "
                "from the checkpoint, or raise patience_seconds"
            )
        if waiting.say and waited - told >= _SECONDS_A_LINE:
            told = waited
            waiting.say(f"{found}; waiting since {waited:.0f} s, {waiting.patience_seconds:g} s at most")
        time.sleep(min(pause_seconds, waiting.patience_seconds - waited))
        pause_seconds = min(2 * pause_seconds, _LONGEST_PAUSE_SECONDS)
    return found


def _keep(lake: Lake, plan: Plan, decision: Decision) -> None:
    """Commit a decision unless another one stands already."""
    for arrival in decision.arrivals:
        table = plan.components[arrival.slot].table
        lake.tag(table, f"{plan_tag(plan)}-live-{arrival.snapshot_id}", arrival.snapshot_id)
    lake.store.create(_key(plan, decision.number), json.dumps(decision.to_json(), sort_keys=True).encode())


def _look(lake: Lake, decided: Decided) -> tuple[list[Arrival], dict[str, int]]:
    """Return what has come of each live component and was not taken yet, and the version of each of their tables."""
    plan = decided.plan
    held = [*(one.pins for one in plan.components), *(one.pins for one in decided.arrivals)]
    taken = {(pin.table, pin.partition) for pins in held for pin in pins}
    arrivals, snapshots = [], {}
    for slot in decided.live_slots:
        table = plan.components[slot].table
        snapshot_id, states = _states(lake, table)
        if snapshot_id is None:
            continue
        snapshots[table] = snapshot_id
        pins = tuple(pin for pin in _pins(plan, slot, states) if (table, pin.partition) not in taken)
        taken |= {(table, pin.partition) for pin in pins}
        if pins:
            arrivals.append(Arrival(slot=slot, snapshot_id=snapshot_id, pins=pins))
    return arrivals, snapshots


def _states(lake: Lake, table: str) -> tuple[int | None, dict[str, PartitionState]]:
    """Return a version of a table and its partitions in it."""
    while True:
        try:
            before, states, after = lake.snapshot_id(table), lake.partitions(table), lake.snapshot_id(table)
        except TableMissingError:
            return None, {}
        # Asked twice: the partitions are those of the version only if nobody committed in between.
        if before == after:
            return after, states


def _pins(plan: Plan, slot: int, states: dict[str, PartitionState]) -> Iterator[PartitionPin]:
    """Yield the partitions of a live component that can be read: not empty, and with no gate that failed."""
    component = plan.components[slot]
    promise = component.live
    assert promise is not None
    asked = promise.partitions or ("*",)
    wanted = {name for one in asked for name in matching(one, states)}
    for name, state in states.items():
        if name not in wanted or not state.num_rows or state.gate_failures:
            continue
        pins = pin_partition(
            component.table,
            partition=name,
            content_hash=state.content_hash,
            num_sequences=state.num_rows,
            state=state.state,
        )
        wanted_pins = [
            it for it in pins if (it.tokenizer, it.sequence_length) == (plan.tokenizer, plan.sequence_length)
        ]
        if not wanted_pins:
            lengths = ", ".join(str(pin.sequence_length) for pin in pins)
            raise ValueError(
                f"{component.table}, partition {name!r}: wanted sequences of {plan.sequence_length} tokens by tokenizer "
                f"{plan.tokenizer} for mix {plan.mix}@{plan.version}, got {lengths} by {pins[0].tokenizer}; "
                "tokenize the partition again as the mix's other tables"
            )
        yield from (pin for pin in wanted_pins if pin.num_sequences)


def _waits(decided: Decided, short: Short) -> str:
    plan, component = decided.plan, decided.plan.components[short.slot]
    came = sum(arrival.num_sequences for arrival in decided.arrivals if arrival.slot == short.slot)
    lenders = [plan.components[number].name for number in component.live.lenders] if component.live else []
    borrow = f", and {', '.join(lenders)} may lend no more under their max_epochs" if lenders else ""
    return (
        f"mix {plan.mix}@{plan.version} has no sequence of component {component.name!r} for positions from "
        f"{decided.position} on: {came:,} of {component.num_sequences:,} sequences of {component.table} came so far{borrow}"
    )


def _read(lake: Lake, key: str) -> Decision:
    data = lake.store.read(key)
    try:
        return Decision.from_json(json.loads(data))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{lake.store.uri(key)} holds no decision that this release can read: {error}") from error


def _key(plan: Plan, number: int) -> str:
    return f"{_folder(plan)}/{number:08}.json"


def _folder(plan: Plan) -> str:
    return f"{log_directory(PLAN_TABLE, plan.mix)}/{plan.version}"
