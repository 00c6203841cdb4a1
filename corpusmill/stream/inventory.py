"""From the lake to a plan and back: what it holds of packed sequences, and the plan that it keeps of a mix."""

from collections.abc import Iterable, Iterator

from corpusmill.lake.errors import TableMissingError
from corpusmill.lake.tables import Lake
from corpusmill.mix.inventory import Inventory, pin_partition
from corpusmill.mix.plan import Plan, PlannedComponent, plan_from_table

PLAN_TABLE = "mixed/mixtures/plan"
"""Partitioned by mix."""


def read_inventory(lake: Lake, tables: Iterable[str]) -> Inventory:
    """Return the committed partitions of some tokenized tables; raises GateFailedError for one whose gate failed."""
    pins, snapshots = [], {}
    for table in sorted({*tables}):
        held = lake.partitions(table)
        if not held:
            continue
        snapshots[table] = lake.snapshot_id(table)
        lake.files(table, sorted(held))
        pins += [
            pin
            for partition, state in held.items()
            for pin in pin_partition(
                table,
                partition=partition,
                content_hash=state.content_hash,
                num_sequences=state.num_rows,
                state=state.state,
            )
        ]
    known = [table for table in lake.tables() if table.endswith("/sequences") and lake.partitions(table)]
    return Inventory(pins=pins, snapshots=snapshots, known=known)


def read_plans(lake: Lake) -> Iterator[Plan]:
    """Yield all versions of all mixes that the lake keeps, those that stand now first."""
    if PLAN_TABLE not in lake.tables():
        return
    seen = set()
    for mix in lake.partitions(PLAN_TABLE):
        plan = plan_from_table(lake.read(PLAN_TABLE, partitions=[mix], allow_failed_gate=True), mix=mix)
        seen.add(plan_tag(plan))
        yield plan
    for tag, snapshot_id in lake.tags(PLAN_TABLE).items():
        mix = tag.removeprefix("mix-").rpartition("-")[0]
        if tag not in seen:
            rows = lake.read(PLAN_TABLE, partitions=[mix], snapshot_id=snapshot_id, allow_failed_gate=True)
            yield plan_from_table(rows, mix=mix)


def plan_tag(plan: Plan) -> str:
    """Return the tag that spares a plan, and the table snapshots that it pins, from expiry."""
    return f"mix-{plan.mix}-{plan.version}"


def tag_components(lake: Lake, plan: Plan) -> None:
    """Tag the table snapshots that a plan pins; a version that is already tagged keeps its tags."""
    for table, snapshot_id in plan.snapshots.items():
        if plan_tag(plan) not in lake.tags(table):
            lake.tag(table, plan_tag(plan), snapshot_id)


def tag_plan(lake: Lake, plan: Plan) -> None:
    """Tag the committed plan itself, so that `name@version` can be opened when the mix has a newer one.

    Where a newer one was committed meanwhile, no version of the table is tagged: the tag would name the wrong plan.
    """
    state = lake.partition(PLAN_TABLE, plan.mix)
    if state is None or plan_tag(plan) in lake.tags(PLAN_TABLE):
        return
    rows = lake.read(PLAN_TABLE, partitions=[plan.mix], snapshot_id=state.snapshot_id, allow_failed_gate=True)
    if plan_from_table(rows, mix=plan.mix).version == plan.version:
        lake.tag(PLAN_TABLE, plan_tag(plan), state.snapshot_id)


def pinned_snapshots(lake: Lake, plan: Plan, component: PlannedComponent) -> list[int]:
    """Return the snapshots of a component's table that may hold what a plan pinned of it, best first."""
    table = component.table
    if table not in lake.tables():
        return []
    if component.snapshot_id is not None:
        return [component.snapshot_id]
    found = (lake.tags(table).get(plan_tag(plan)), plan.snapshots.get(table))
    return [snapshot_id for snapshot_id in found if snapshot_id is not None]


def read_plan(lake: Lake, mix: str) -> Plan:
    """Return the plan of a mix: `demo` is the current one, `demo@<version>` one version of it.

    Raises ValueError when the lake has no such mix or version.
    """
    name, _, version = mix.partition("@")
    state = lake.partition(PLAN_TABLE, name)
    if state is None:
        lake.require()
        known = ", ".join(sorted(lake.partitions(PLAN_TABLE))) or "none"
        raise ValueError(
            f"the lake {lake.settings.store.root} has no mix {name!r}; it has {known}; materialize {PLAN_TABLE}, or open "
            "the lake that has it"
        )
    current = plan_from_table(lake.read(PLAN_TABLE, partitions=[name]), mix=name)
    if not version or version == current.version:
        return current
    tagged = lake.tags(PLAN_TABLE).get(f"mix-{name}-{version}")
    if tagged is None:
        raise ValueError(f"mix {name!r} has no version {version!r}; its current version is {current.version!r}")
    try:
        rows = lake.read(PLAN_TABLE, partitions=[name], snapshot_id=tagged)
    except TableMissingError as error:
        raise ValueError(f"version {version!r} of mix {name!r} can no longer be read: {error}") from error
    found = plan_from_table(rows, mix=name)
    if found.version != version:
        raise ValueError(
            f"what is tagged as version {version!r} of mix {name!r} is version {found.version!r}; open that one"
        )
    return found
