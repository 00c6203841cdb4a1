"""curated/<dataset>/contamination: which benchmark items stand in which documents, and where. One shard a text file.

Searched is the extracted text of every document, whatever the rules say about it. Parameters name the partition of
curated/benchmarks/items implicitly (it has one) and may change `rules`, fields of ContaminationRules.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.curate.contamination import CONTAMINATION, find_contamination
from corpusmill.curate.contamination_policy import REASON
from corpusmill.engines.shard import ShardContext, ShardOutcome
from corpusmill.lake.reading import read_batches
from corpusmill.lake.tables import Attempt
from corpusmill.tasks import extract
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.stored_index import index_parameters, items_version, stored_index
from corpusmill.tasks.task import Job, Outcome

_TEXT_COLUMNS = ("doc_id", "locator", "text", "failure")
_FOUND = "found/"


def table(dataset: str) -> str:
    return f"curated/{dataset}/contamination"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return CONTAMINATION


def inputs(job: Job) -> dict[str, Any]:
    return {"extracted": job.upstream(extract.table(job.dataset)), "items": items_version(job)}


def run(job: Job, attempt: Attempt) -> Outcome:
    shards = run_on_shards(
        "corpusmill.tasks.contamination:contamination_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {"text_file": job.lake.store.key(file.path)}
            for file in job.lake.files(extract.table(job.dataset), [job.partition])
        ],
        parameters=index_parameters(job, job.parameters.get("rules", {})),
    )
    return outcome_of(shards, tables={"found": found_table(shards)})


def contamination_shard(
    inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    """Yield the CONTAMINATION of one text file."""
    index = stored_index(context.store, parameters["item_files"], parameters["rules"])
    for batch in read_batches(context.store, inputs["text_file"], columns=_TEXT_COLUMNS):
        texts = batch.filter(pc.is_null(batch["failure"]))
        found = find_contamination(texts, index)
        num_hit = pc.count_distinct(found["doc_id"]).as_py()
        dropped = {REASON: num_hit} if num_hit else {}
        context.add_counts(Counts(rows_in=len(texts), kept=len(texts) - num_hit, dropped=dropped))
        note_found(found, context)
        for row in _samples(texts, found):
            context.sample(row)
        yield found


def note_found(found: pa.Table, context: ShardContext) -> None:
    """Count the rows of CONTAMINATION by benchmark, for `found_table`."""
    for row in pc.value_counts(found["benchmark"]).to_pylist():
        context.note(f"{_FOUND}{row['values']}", row["counts"])


def found_table(shards: Sequence[ShardOutcome]) -> list[dict[str, Any]]:
    """Return how many matches all shards have of each benchmark, most first."""
    notes = [item for item in outcome_of(shards).metrics.items() if item[0].startswith(_FOUND)]
    ordered = sorted(notes, key=lambda item: (-float(item[1]), item[0]))
    return [{"benchmark": name.removeprefix(_FOUND), "matches": int(number)} for name, number in ordered]


def _samples(texts: pa.Table, found: pa.Table) -> list[dict[str, Any]]:
    """Return the first matches of a batch with the words that matched."""
    rows = found.slice(0, 3).to_pylist()
    places = pc.index_in(found["doc_id"].slice(0, 3), value_set=texts["doc_id"].combine_chunks()).to_pylist()
    return [
        {
            "benchmark": row["benchmark"],
            "item": row["item"],
            "kind": row["kind"],
            "share": round(row["share"], 3),
            "locator": texts["locator"][place].as_py(),
            "text": texts["text"][place].as_py()[row["start"] : row["end"]][:200],
        }
        for row, place in zip(rows, places, strict=True)
    ]
