"""synthesized/<dataset>/decisions: what the supervisor decided about a partition, one row a chunk of seeds.

A table beside the completions, made after their commit from what the run kept; it is there even where the run was paused.
"""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import DECISIONS
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.supervise.course import KeptDecision
from corpusmill.tasks.task import Job, Outcome, partition_writer

OBJECT = "decisions"
"""Among the objects of the completions' commit: the key of the decisions that its run kept."""


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/decisions"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return DECISIONS


def inputs(job: Job) -> dict[str, Any]:
    return {"kept": kept_key(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    key = kept_key(job)
    kept = [] if key is None else read_decisions(job, key)
    recipe = Recipe.from_json(job.parameters["recipe"])
    rows = [{"recipe": recipe.name, "recipe_version": recipe.version, **decision_row(one)} for one in kept]
    with partition_writer(job, attempt, name="decisions") as writer:
        writer.write(pa.Table.from_pylist(rows, schema=DECISIONS))
    return Outcome(files=writer.files, counts=Counts(rows_in=len(rows), kept=len(rows)))


def kept_key(job: Job) -> str | None:
    """Return where the committed completions' decisions are kept; a paused partition has some too."""
    committed = job.lake.partition(f"synthesized/{job.dataset}/completions", job.partition)
    return committed.state.get("objects", {}).get(OBJECT) if committed else None


def read_decisions(job: Job, key: str) -> list[KeptDecision]:
    """Return the decisions that one object keeps, one or a list; none where it is gone or cut: they are made anew."""
    try:
        value = json.loads(job.lake.store.read(key))
        return [KeptDecision.from_json(one) for one in (value if isinstance(value, list) else [value])]
    except (FileNotFoundError, ValueError, TypeError, KeyError) as error:
        job.report(f"cannot read the decisions {key}: {error}; they are made anew", {})
        return []


def decision_row(kept: KeptDecision) -> dict[str, Any]:
    """Return a decision as a row of DECISIONS, but for the recipe."""
    return {
        "chunk": kept.chunk,
        "num_seeds": kept.num_seeds,
        "action": kept.action,
        "rule": kept.rule,
        "share": kept.share,
        "from_seed": kept.from_seed,
        "followed": kept.followed,
        "outputs": kept.numbers["chunk"]["outputs"],
        "accepted": kept.numbers["chunk"]["accepted"],
        "p_value": kept.numbers.get("p_value"),
        "numbers": json.dumps(dict(kept.numbers)),
    }
