"""mixed/mixtures/plan: weights, epoch caps and the exact versions of the sequences that a mixture reads.

Pins every table snapshot with a tag, so that expiry spares what the plan needs.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.mix.demand import weights_as_shares
from corpusmill.mix.inventory import Inventory
from corpusmill.mix.mixture import Mixture
from corpusmill.mix.past import Past
from corpusmill.mix.plan import PLAN, Plan, plan_from_table, plan_to_table
from corpusmill.mix.solve import plan as solve
from corpusmill.stream.inventory import read_inventory, read_plan, tag_components, tag_plan
from corpusmill.tasks.task import Job, Outcome, partition_writer, truncate_sample
from corpusmill.trace.families import family_inputs, find_families

SHOWN = ("component", "weight", "planned_share", "planned_tokens", "planned_sequences", "epochs", "max_epochs")


def table(dataset: str) -> str:
    return f"mixed/{dataset}/plan"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return PLAN


def inputs(job: Job) -> dict[str, Any]:
    kin = {} if _mixture(job).max_exposure is None else {"families": family_inputs(job.lake)}
    return {f"{pin.table}|{pin.partition}": pin.content_hash for pin in _inventory(job).pins} | kin


def run(job: Job, attempt: Attempt) -> Outcome:
    mixture = _mixture(job)
    if told := weights_as_shares(mixture):
        job.report(told, {})
    past = None
    if mixture.continues:
        before = read_plan(job.lake, f"{mixture.name}@{mixture.continues.mix_version}")
        past = Past(plan=before, position=mixture.continues.position)
    planned = solve(mixture, _inventory(job), past=past, find_families=partial(find_families, job.lake))
    rows = plan_to_table(planned)
    tag_components(job.lake, planned)
    with partition_writer(job, attempt, name="plan") as writer:
        writer.write(rows)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(rows), kept=len(rows)),
        metrics=_metrics(planned),
        tables={"components": truncate_sample(rows, columns=list(SHOWN), num_rows=len(rows))},
        state={"mix_version": planned.version},
    )


def after_commit(job: Job) -> None:
    """Tag the plan itself, so that this version can be streamed when the mixture has a newer one."""
    rows = job.lake.read(table(job.dataset), partitions=[job.partition])
    tag_plan(job.lake, plan_from_table(rows, mix=job.partition))


def _inventory(job: Job) -> Inventory:
    return read_inventory(job.lake, _mixture(job).pinned_tables)


def _mixture(job: Job) -> Mixture:
    return Mixture.from_json(job.parameters["mixture"])


def _metrics(planned: Plan) -> dict[str, float | int | str]:
    shares = {
        f"planned/{item.name}": round(item.planned_tokens / planned.planned_tokens, 6) for item in planned.components
    }
    return {
        "tokens": planned.planned_tokens,
        "sequences": planned.num_positions,
        "mix_version": planned.version,
        **shares,
    }
