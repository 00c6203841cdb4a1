"""trained/<proxies>/design: which mixtures to train proxy models on, one row a mixture and component.

Parameters:

    design      fields of ProxyDesign: the prior, how many mixtures, how far from the prior, the seed
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.lake.tables import Attempt
from corpusmill.mix.proxy_design import ProxyDesign, proxy_weights
from corpusmill.tasks.task import Job, Outcome, partition_writer

DESIGN = pa.schema(
    [
        pa.field("run", pa.int64(), nullable=False),
        pa.field("component", pa.string(), nullable=False),
        pa.field("weight", pa.float64(), nullable=False),
    ]
)
"""Run 0 is the prior."""
_SHOWN = 5


def table(dataset: str) -> str:
    return f"trained/{dataset}/design"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return DESIGN


def inputs(job: Job) -> dict[str, Any]:
    return {}


def run(job: Job, attempt: Attempt) -> Outcome:
    design = ProxyDesign(**job.parameters["design"])
    weights_NC = proxy_weights(design)
    names = list(design.prior)
    rows = pa.table(
        {
            "run": np.repeat(np.arange(len(weights_NC)), len(names)),
            "component": names * len(weights_NC),
            "weight": weights_NC.ravel(),
        },
        schema=DESIGN,
    )
    with partition_writer(job, attempt, name="design") as writer:
        writer.write(rows)
    away_N = np.abs(weights_NC - weights_NC[0]).sum(axis=1)
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(rows), kept=len(rows)),
        metrics={
            "mixtures": len(weights_NC),
            "components": len(names),
            "farthest_from_prior": round(float(away_N.max()), 6),
            "median_from_prior": round(float(np.median(away_N)), 6),
        },
        samples=[
            {"run": number, **{name: round(float(weight), 4) for name, weight in zip(names, row, strict=True)}}
            for number, row in enumerate(weights_NC[:_SHOWN])
        ],
    )
