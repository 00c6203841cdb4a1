"""synthesized/<dataset>/decisions: what was decided about a partition: by the supervisor, one row a chunk of seeds, and
one row for each budget that was spent.

A table beside the completions, made after their commit from what the run kept; it is there even where the run was paused.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import DECISIONS
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.supervise.budget import Closing
from corpusmill.synthesize.supervise.course import KeptDecision
from corpusmill.tasks.task import Job, Outcome, partition_writer

Kept = TypeVar("Kept")

OBJECT = "decisions"
"""Among the objects of the completions' commit: the key of the decisions that its run kept."""
CLOSINGS = "closings"
"""The same for the budgets that were spent."""
_UNREADABLE = (FileNotFoundError, ValueError, TypeError, KeyError)


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/decisions"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return DECISIONS


def inputs(job: Job) -> dict[str, Any]:
    closings = _kept_key(job, CLOSINGS)
    return {"kept": kept_key(job), **({CLOSINGS: closings} if closings else {})}


def run(job: Job, attempt: Attempt) -> Outcome:
    if told := damage(job):
        raise ValueError(
            f"{told}; make synthesized/{job.dataset}/completions {job.partition} again, which decides anew"
        )
    kept, closings = _committed(job)
    recipe = Recipe.from_json(job.parameters["recipe"])
    decided = [(one.queue, decision_row(one)) for one in kept]
    decided += [(one.queue, closing_row(one)) for one in closings]
    rows = [{**row, "recipe": queue_name(recipe, queue), "recipe_version": recipe.version} for queue, row in decided]
    with partition_writer(job, attempt, name="decisions") as writer:
        writer.write(pa.Table.from_pylist(rows, schema=DECISIONS))
    return Outcome(files=writer.files, counts=Counts(rows_in=len(rows), kept=len(rows)))


def damage(job: Job) -> str | None:
    """Return what is wrong with what the completions' commit keeps of decisions; None where all of it can be read."""
    try:
        _committed(job)
    except _UNREADABLE as error:
        keys = " or ".join(key for name in (OBJECT, CLOSINGS) if (key := _kept_key(job, name)))
        return f"cannot read what was decided, {keys}: {type(error).__name__} {error}"
    return None


def kept_key(job: Job) -> str | None:
    """Return where the committed completions' decisions are kept; a paused partition has some too."""
    return _kept_key(job, OBJECT)


def read_decisions(job: Job, key: str) -> list[KeptDecision]:
    """Return the decisions that one object keeps, one or a list; none where it is gone or cut: they are made anew."""
    return _read(job, key, KeptDecision.from_json)


def stored_closings(job: Job) -> list[Closing]:
    """Return what the committed completions' run kept of spent budgets."""
    key = _kept_key(job, CLOSINGS)
    return [] if key is None else read_closings(job, key)


def read_closings(job: Job, key: str) -> list[Closing]:
    """Return the spent budgets that one object keeps, one or a list; none where it is gone or cut: they are found anew."""
    return _read(job, key, Closing.from_json)


def queue_name(recipe: Recipe, queue: str) -> str:
    """Return what a queue of a recipe is called; the recipe's own name for all of it."""
    return f"{recipe.name}/{queue}" if queue else recipe.name


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


def closing_row(closing: Closing) -> dict[str, Any]:
    """Return a spent budget as a row of DECISIONS, but for the recipe."""
    return {
        "num_seeds": int(closing.numbers["documents"]),
        "action": "stop",
        "rule": f"budget_{closing.limit}",
        "share": 0.0,
        "followed": closing.followed,
        "numbers": json.dumps({"spent": dict(closing.numbers), "budget": dict(closing.budget)}),
    }


def _kept_key(job: Job, name: str) -> str | None:
    committed = job.lake.partition(f"synthesized/{job.dataset}/completions", job.partition)
    return committed.state.get("objects", {}).get(name) if committed else None


def _read(job: Job, key: str, from_json: Callable[[Any], Kept]) -> list[Kept]:
    try:
        return _parsed(job, key, from_json)
    except _UNREADABLE as error:
        job.report(f"cannot read what was decided, {key}: {error}; it is decided anew", {})
        return []


def _parsed(job: Job, key: str, from_json: Callable[[Any], Kept]) -> list[Kept]:
    value = json.loads(job.lake.store.read(key))
    return [from_json(one) for one in (value if isinstance(value, list) else [value])]


def _committed(job: Job) -> tuple[list[KeptDecision], list[Closing]]:
    """Read what the commit keeps; raises one of _UNREADABLE where that is gone or cut."""
    key, closings = kept_key(job), _kept_key(job, CLOSINGS)
    return (
        [] if key is None else _parsed(job, key, KeptDecision.from_json),
        [] if closings is None else _parsed(job, closings, Closing.from_json),
    )
