"""synthesized/<dataset>/documents: what parsed and passed every verifier; the others stay, with their reason.

One shard a file of requests. Code is run in a sandbox before and after its rewriting. With the parameter `contamination`
(under `rules`, fields of ContaminationRules) an answer that holds a benchmark item is rejected, and its `meta` names it.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.counts import Counts
from corpusmill.curate.contamination_policy import reject_contaminated
from corpusmill.document import SYNTHESIZED
from corpusmill.engines.inference import EngineIdentity
from corpusmill.engines.shard import ShardContext
from corpusmill.engines.shards import ShardOutcome, total
from corpusmill.lake.reading import read_batches, read_rows
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.accept import Instruments, accept, acceptance_counts
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.store import AnswerStore
from corpusmill.tasks import completions, requests
from corpusmill.tasks.behaviour import check_behaviour
from corpusmill.tasks.contamination import found_table, note_found
from corpusmill.tasks.engine import outcome_of, run_on_shards
from corpusmill.tasks.inference import generator
from corpusmill.tasks.seeds import SeedReader, seed_snapshot, seed_table
from corpusmill.tasks.side_by_side import side_by_side
from corpusmill.tasks.stored_index import index_parameters, items_version, stored_index
from corpusmill.tasks.synthesis_costs import acceptance_costs, cost_rows
from corpusmill.tasks.task import Job, Outcome
from corpusmill.tasks.tools import ToolVersion, versions_for

SEEDS_OF_REQUESTS = ("doc_id", "seed_file", "second_ids", "second_files")
BATCH_ROWS = 512
"""Requests that are judged together, and whose programs are run together; all chunks of a seed are among one batch."""
READ_ROWS = 8_192
"""Answers that are read at once."""


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/documents"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return SYNTHESIZED


def inputs(job: Job) -> dict[str, Any]:
    items = {"items": items_version(job)} if "contamination" in job.parameters else {}
    return {
        "requests": job.upstream(requests.table(job.dataset)),
        "completions": job.upstream(completions.table(job.dataset)),
        "documents": job.upstream(seed_table(job), seed_snapshot(job)),
        **items,
        **versions_for(job),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    answers = [file.path for file in job.lake.files(completions.table(job.dataset), [job.partition])]
    shards = run_on_shards(
        "corpusmill.tasks.accept:accept_shard",
        job=job,
        attempt=attempt,
        inputs=[
            {"request_file": job.lake.store.key(file.path), "completion_files": list(map(job.lake.store.key, answers))}
            for file in job.lake.files(requests.table(job.dataset), [job.partition])
        ],
        parameters={
            "recipe": job.parameters["recipe"],
            "identity": generator(job.settings).to_json(),
            **versions_for(job),
            **_index_parameters(job),
        },
    )
    counts = outcome_of(shards).counts
    reasons = [{"reason": name, "documents": number} for name, number in counts.dropped.items()]
    rate = round(counts.kept / counts.rows_in, 6) if counts.rows_in else 0.0
    costs = _costs(job, shards)
    tables = {
        "accept_funnel": funnel_rows(counts),
        "reject_reasons": reasons,
        "found": found_table(shards),
        "costs": cost_rows(costs, job.settings.prices),
    }
    return outcome_of(
        shards, metrics={"recipe": job.parameters["recipe"]["name"], "accept_rate": rate, **costs}, tables=tables
    )


def accept_shard(inputs: Mapping[str, Any], parameters: Mapping[str, Any], context: ShardContext) -> Iterator[pa.Table]:
    """Yield one SYNTHESIZED row for every seed that one request file asks about, some hundred seeds at a time.

    Memory: an entry for each answer of the partition, whose texts are mapped from a local file, and the seeds of one file.
    """
    with tempfile.TemporaryDirectory(prefix="corpusmill-answers-") as folder:
        answers = _answers(inputs["completion_files"], context, folder=Path(folder))
        yield from _accept_with(answers, inputs["request_file"], parameters, context)


def _accept_with(
    answers: AnswerStore, request_file: str, parameters: Mapping[str, Any], context: ShardContext
) -> Iterator[pa.Table]:
    recipe = Recipe.from_json(parameters["recipe"])
    tools = {name: ToolVersion(version) for name, version in parameters.get("tools", {}).items()}
    instruments = Instruments(check_code=check_behaviour, tools=tools)
    index = stored_index(context.store, **parameters["contamination"]) if "contamination" in parameters else None
    reader = SeedReader(context.store, read_rows(context.store, request_file, columns=SEEDS_OF_REQUESTS))
    for asked in whole_seeds(read_batches(context.store, request_file, batch_rows=BATCH_ROWS)):
        seeds = reader.seeds(asked)
        judged = accept(
            asked,
            answers,
            seeds,
            recipe=recipe,
            identity=EngineIdentity(**parameters["identity"]),
            instruments=instruments,
        )
        if index is not None:
            judged, found = reject_contaminated(judged, index)
            note_found(found, context)
        _tell(judged, context)
        for row in side_by_side(judged, asked, seeds, num_rows=2):
            context.sample(row)
        yield judged


def whole_seeds(batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of requests in pieces that end where a seed's chunks do."""
    held: pa.Table | None = None
    for batch in batches:
        rows = batch if held is None else pa.concat_tables([held, batch])
        last = rows["doc_id"][-1]
        end = pc.index(rows["doc_id"], last).as_py()
        if end:
            yield rows.slice(0, end)
        held = rows.slice(end)
    if held is not None:
        yield held


def funnel_rows(counts: Counts) -> list[dict[str, Any]]:
    """Return how many seeds are left after each reason, those that took most first: asked, answered, ..., accepted."""
    left = counts.rows_in
    rows = [{"stage": "asked", "left": left, "lost": 0}]
    losses = {"not answered": counts.num_failed, **dict(sorted(counts.dropped.items(), key=lambda it: (-it[1], it[0])))}
    for reason, number in losses.items():
        left -= number
        rows.append({"stage": f"after {reason}", "left": left, "lost": number})
    return [*rows, {"stage": "accepted", "left": counts.kept, "lost": 0}]


def _tell(judged: pa.Table, context: ShardContext) -> None:
    """Add the rows to the shard's ledger and its notes."""
    context.add_counts(acceptance_counts(judged))
    kept = judged.filter(pc.is_null(judged["reject_reason"]))
    context.note("text_bytes", pc.sum(pc.binary_length(kept["text"])).as_py() or 0)
    context.note("accepted_tokens", pc.sum(kept["completion_tokens"]).as_py() or 0)


def _costs(job: Job, shards: Sequence[ShardOutcome]) -> dict[str, float]:
    columns = ["prompt_tokens", "completion_tokens", "device_seconds"]
    answers = job.lake.read(completions.table(job.dataset), partitions=[job.partition], columns=columns)
    accepted = int(total(shards).notes.get("accepted_tokens", 0))
    return acceptance_costs(answers, accepted_tokens=accepted, prices=job.settings.prices)


def _index_parameters(job: Job) -> dict[str, Any]:
    """Return what a shard searches with, where the dataset asks for it."""
    asked = job.parameters.get("contamination")
    return {} if asked is None else {"contamination": index_parameters(job, asked.get("rules", {}))}


def _answers(files: list[str], context: ShardContext, *, folder: Path) -> AnswerStore:
    """Return the completions of the partition: what a program asks later is known only when it is replayed."""
    waves = (batch for file in files for batch in read_batches(context.store, file, batch_rows=READ_ROWS))
    return AnswerStore(waves, folder=folder)
