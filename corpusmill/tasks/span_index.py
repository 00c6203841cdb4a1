"""curated/<dataset>/span_index: which versions of which snapshots' anchors repeated spans are looked for in.

Unpartitioned, so that it stands behind the anchors of all snapshots and in front of the spans of any.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.dedup.spans import SpanParameters
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import span_anchors
from corpusmill.tasks.task import UNPARTITIONED, Job, Outcome, kept_result, partition_writer

SPAN_INDEX = pa.schema(
    [
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("anchors", pa.int64(), nullable=False),
        pa.field("version", pa.string(), nullable=False),
    ]
)
"""One row a snapshot; `version` is the content hash of its anchors."""


def table(dataset: str) -> str:
    return f"curated/{dataset}/span_index"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return SPAN_INDEX


def inputs(job: Job) -> dict[str, Any]:
    job.lake.files(span_anchors.table(job.dataset))
    states = job.lake.partitions(span_anchors.table(job.dataset))
    return {name: state.content_hash for name, state in sorted(states.items())}


def run(job: Job, attempt: Attempt) -> Outcome:
    name = span_anchors.table(job.dataset)
    results = {snapshot: kept_result(job.lake, name, snapshot) for snapshot in inputs(job)}
    rows = [
        {
            "snapshot": snapshot,
            "documents": result["num_rows"],
            "anchors": int(result["metrics"].get("anchors", 0)),
            "version": result["content_hash"],
        }
        for snapshot, result in results.items()
    ]
    with partition_writer(job, attempt, name="index") as writer:
        writer.write(pa.Table.from_pylist(rows, schema=SPAN_INDEX))
    return Outcome(
        files=writer.files,
        counts=Counts(rows_in=len(rows), kept=len(rows)),
        metrics={"anchors": sum(row["anchors"] for row in rows)},
        samples=rows[-10:],
        state={"versions": {row["snapshot"]: row["version"] for row in rows}},
    )


def versions_up_to(job: Job) -> dict[str, str]:
    """Return the version of the anchors of the job's snapshot and of every older one, oldest first.

    Raises ValueError when one of them was made again since the index was, or for spans of another length.
    """
    job.upstream(table(job.dataset), UNPARTITIONED)
    index = job.lake.partition(table(job.dataset), UNPARTITIONED)
    assert index is not None
    seen = {name: version for name, version in index.state["versions"].items() if name <= job.partition}
    states = job.lake.partitions(span_anchors.table(job.dataset))
    min_bytes = SpanParameters.from_json(job.parameters).min_bytes
    current = {name: states[name].content_hash if name in states else "none" for name in {*seen, job.partition}}
    for name in sorted(current):
        if seen.get(name) != current[name]:
            raise ValueError(
                f"{table(job.dataset)} does not know this version of snapshot {name!r} (it saw {seen.get(name)}, the "
                f"anchors are now {current[name]}); materialize {table(job.dataset)} first"
            )
        if states[name].state["min_bytes"] != min_bytes:
            raise ValueError(
                f"wanted spans of at least {min_bytes} bytes, but the anchors of snapshot {name!r} are for "
                f"{states[name].state['min_bytes']}; materialize {span_anchors.table(job.dataset)} of it again"
            )
    return dict(sorted(seen.items()))
