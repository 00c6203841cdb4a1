"""mixed/mixtures/plan: weights, epoch caps and the exact versions of the sequences that a mixture reads.

Pins every table snapshot with a tag, so that expiry spares what the plan needs.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.mix.inventory import Inventory, PartitionPin, pin_partition
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.plan import PLAN, Plan, plan_to_table
from corpusmill.mix.solve import plan as solve
from corpusmill.tasks.task import Job, Outcome, partition_writer, truncate_sample

SHOWN = ("component", "weight", "planned_share", "planned_tokens", "planned_sequences", "epochs", "max_epochs")


def table(dataset: str) -> str:
    return f"mixed/{dataset}/plan"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return PLAN


def inputs(job: Job) -> dict[str, Any]:
    return {f"{pin.table}|{pin.partition}": pin.content_hash for pin in read_inventory(job).pins}


def run(job: Job, attempt: Attempt) -> Outcome:
    inventory = read_inventory(job)
    planned = solve(_mixture(job), inventory)
    rows = plan_to_table(planned)
    for name, snapshot_id in inventory.snapshots.items():
        job.lake.tag(name, f"mix-{planned.mix}-{planned.version}", snapshot_id)
    with partition_writer(job, attempt, name="plan") as writer:
        writer.write(rows)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(rows), kept=len(rows)),
        metrics=_metrics(planned),
        tables={"components": truncate_sample(rows, columns=list(SHOWN), num_rows=len(rows))},
        state={"mix_version": planned.version},
    )


def read_inventory(job: Job) -> Inventory:
    """Return what the lake holds now of the mixture's components."""
    tables = sorted({component.table for component in _mixture(job).components})
    pins = [pin for name in tables for pin in _pins(job, name)]
    return Inventory(pins=pins, snapshots={name: job.lake.snapshot_id(name) for name in tables})


def _mixture(job: Job) -> Mixture:
    return Mixture.from_json(job.parameters["mixture"])


def _pins(job: Job, name: str) -> list[PartitionPin]:
    held = job.lake.partitions(name)
    job.lake.files(name, sorted(held))
    return [
        pin_partition(
            name,
            partition=partition,
            content_hash=state.content_hash,
            num_sequences=state.num_rows,
            state=state.state,
        )
        for partition, state in sorted(held.items())
    ]


def _metrics(planned: Plan) -> dict[str, float | int | str]:
    shares = {f"planned/{item.name}": round(item.planned_tokens / planned.planned_tokens, 6) for item in planned.components}
    return {
        "tokens": planned.planned_tokens,
        "sequences": planned.num_positions,
        "mix_version": planned.version,
        **shares,
    }
