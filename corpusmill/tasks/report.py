"""mixed/mixtures/report: what the stream really holds, component by component, against the plan.

The gate compares realised with planned shares of tokens.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.mix.plan import plan_from_table
from corpusmill.mix.report import REPORT, largest_share_difference, realise
from corpusmill.stream.index import read_token_counts
from corpusmill.tasks import plan
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer, truncate_sample

MAX_SHARE_DIFFERENCE = 0.02
"""Sequences are not equally full, so a short stream's shares of tokens differ a little from the plan's."""
SHOWN = ("component", "planned_share", "realised_share", "planned_tokens", "realised_tokens", "epochs", "fill")


def table(dataset: str) -> str:
    return f"mixed/{dataset}/report"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return REPORT


def inputs(job: Job) -> dict[str, Any]:
    return {"plan": job.upstream(plan.table(job.dataset))}


def run(job: Job, attempt: Attempt) -> Outcome:
    rows = job.lake.read(plan.table(job.dataset), partitions=[job.partition])
    planned = plan_from_table(rows, mix=job.partition)
    report = realise(planned, read_token_counts(job.lake, planned))
    with partition_writer(job, attempt, name="report") as writer:
        writer.write(report)
    difference = largest_share_difference(report)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(report), kept=len(report)),
        metrics=_metrics(report, difference),
        tables={"shares": truncate_sample(report, columns=list(SHOWN), num_rows=len(report))},
        gates={
            "realised_shares": Gate(
                passed=difference <= MAX_SHARE_DIFFERENCE,
                message=f"realised shares differ from the plan by at most {difference:.3%} of all tokens, "
                f"allowed are {MAX_SHARE_DIFFERENCE:.1%}",
                numbers={"largest_difference": difference},
            )
        },
    )


def _metrics(report: pa.Table, difference: float) -> dict[str, float | int | str]:
    shares = {
        f"realised/{row['component']}": round(row["realised_share"], 6)
        for row in report.select(list(SHOWN)).to_pylist()
    }
    return {"tokens": pc.sum(report["realised_tokens"]).as_py(), "largest_share_difference": difference, **shares}
