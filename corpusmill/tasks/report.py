"""mixed/mixtures/report: what the stream really holds, component by component, against the plan.

One gate compares realised with planned shares of tokens. Where the mixture allows only some licences, another one names the
tokens whose source or teacher has none of them.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.mix.decided import DecidedPlan
from corpusmill.mix.decision_log import decisions_table
from corpusmill.mix.plan import Plan, plan_from_table
from corpusmill.mix.report import (
    REPORT,
    largest_share_difference,
    phase_rows,
    realise,
    synthetic_share,
    tokens_by_language,
)
from corpusmill.stream.index import read_token_counts
from corpusmill.stream.live import standing
from corpusmill.tasks import plan
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer, truncate_sample
from corpusmill.trace.licences import forbidden, mix_licences

MAX_SHARE_DIFFERENCE = 0.02
"""Sequences are not equally full, so a short stream's shares of tokens differ a little from the plan's."""
SHOWN = (
    "component",
    "planned_share",
    "realised_share",
    "planned_tokens",
    "realised_tokens",
    "epochs",
    "fill",
    "is_synthetic",
)

SHOWN_LICENCES = ("component", "license", "generator_license", "tokens", "share")
MOST_FORBIDDEN = 5
SHOWN_DECISIONS = (
    "start",
    "stop",
    "component",
    "rule",
    "snapshot_id",
    "available",
    "planned",
    "given",
    "borrowed",
    "lenders",
    "repaid",
    "owed",
)
MOST_DECISIONS = 100


def table(dataset: str) -> str:
    return f"mixed/{dataset}/report"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return REPORT


def inputs(job: Job) -> dict[str, Any]:
    made = job.upstream(plan.table(job.dataset))
    planned = _standing(job)
    return {"plan": made, **({"decided": planned.num_positions} if isinstance(planned, DecidedPlan) else {})}


def run(job: Job, attempt: Attempt) -> Outcome:
    planned = _standing(job)
    report = realise(planned, read_token_counts(job.lake, planned))
    with partition_writer(job, attempt, name="report") as writer:
        writer.write(report)
    difference = largest_share_difference(report)
    flow = mix_licences(job.lake, planned)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(report), kept=len(report)),
        metrics=_metrics(report, difference),
        tables={
            "shares": truncate_sample(report, columns=list(SHOWN), num_rows=len(report)),
            "licences": truncate_sample(flow, columns=list(SHOWN_LICENCES), num_rows=len(flow)),
            "phases": phase_rows(planned, report),
            "tokens_by_language": [
                {"language": name, "tokens": tokens} for name, tokens in tokens_by_language(report).items()
            ],
            **_decisions(planned),
        },
        gates={
            "realised_shares": Gate(
                passed=difference <= MAX_SHARE_DIFFERENCE,
                message=f"realised shares differ from the plan by at most {difference:.3%} of all tokens, "
                f"allowed are {MAX_SHARE_DIFFERENCE:.1%}",
                numbers={"largest_difference": difference},
            ),
            **_licence_gate(planned, flow),
        },
    )


def _standing(job: Job) -> Plan:
    """Return the plan; of one with live components what is decided."""
    rows = job.lake.read(plan.table(job.dataset), partitions=[job.partition])
    return standing(job.lake, plan_from_table(rows, mix=job.partition))


def _decisions(planned: Plan) -> dict[str, list[dict[str, Any]]]:
    """Return the newest decisions about live components; nothing where the mixture has none."""
    if not isinstance(planned, DecidedPlan):
        return {}
    rows = decisions_table(planned.decided)
    newest = rows.slice(max(0, len(rows) - MOST_DECISIONS))
    return {"decisions": truncate_sample(newest, columns=list(SHOWN_DECISIONS), num_rows=len(newest))}


def _metrics(report: pa.Table, difference: float) -> dict[str, float | int | str]:
    shares = {
        f"realised/{row['component']}": round(row["realised_share"], 6)
        for row in report.select(list(SHOWN)).to_pylist()
    }
    return {
        "tokens": pc.sum(report["realised_tokens"]).as_py(),
        "largest_share_difference": difference,
        "synthetic_share": round(synthetic_share(report), 6),
        **shares,
    }


def _licence_gate(planned: Plan, flow: pa.Table) -> dict[str, Gate]:
    """Return the gate of the mixture's allow-lists; none where it has none."""
    if planned.allowed_licences is None and planned.allowed_teacher_licences is None:
        return {}
    against = forbidden(flow, allowed=planned.allowed_licences, allowed_teachers=planned.allowed_teacher_licences)
    rows = against.to_pylist()
    tokens, share = (sum(row[name] for row in rows) for name in ("tokens", "share"))
    named = [f"{row['component']}: {row['why']} ({row['tokens']:,} tokens)" for row in rows[:MOST_FORBIDDEN]]
    more = f" and {len(rows) - MOST_FORBIDDEN} more" if len(rows) > MOST_FORBIDDEN else ""
    message = (
        f"{tokens:,} tokens ({share:.2%}) have a licence that the mixture does not allow: {'; '.join(named)}{more}. Allow it, "
        "or leave out what has it"
        if rows
        else "every source and teacher has a licence that the mixture allows"
    )
    return {"licences": Gate(passed=not rows, message=message, numbers={"forbidden_share": share})}
