"""synthesized/<dataset>/completions: what the engine answered, once a request.

Answers are put into the lake chunk by chunk while they come, so that a killed run loses at most one chunk. The next run
asks only what is missing: what the table already holds and what earlier attempts left as chunks stands.
"""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.counts import Counts, count_reasons
from corpusmill.document import COMPLETIONS
from corpusmill.engines.inference import ChatRequest, Completion, InferenceEngine
from corpusmill.lake.names import staging_directory
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import render
from corpusmill.synthesize.sampling import Sampling
from corpusmill.synthesize.store import RequestChunk, RetryPolicy, merge, missing, plan_chunks, settled
from corpusmill.tasks import requests as requests_task
from corpusmill.tasks.inference import inference_engine
from corpusmill.tasks.seeds import SeedReader
from corpusmill.tasks.task import Job, Outcome, partition_writer, truncate_sample


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/completions"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return COMPLETIONS


def inputs(job: Job) -> dict[str, Any]:
    return {"requests": job.upstream(requests_task.table(job.dataset))}


def run(job: Job, attempt: Attempt) -> Outcome:
    requests = job.lake.read(requests_task.table(job.dataset), partitions=[job.partition])
    answered = [*committed_answers(job), *staged_answers(job)]
    todo = missing(requests, settled(answered, policy=RetryPolicy()))
    started = time.monotonic()
    if len(todo):
        answered += _ask(job, attempt, requests, todo)
    seconds = time.monotonic() - started
    completions = merge(answered, requests=requests)
    with partition_writer(job, attempt, name="completions") as writer:
        writer.write(completions)
    return Outcome(
        files=writer.files,
        counts=_counts(completions, num_requests=pc.count_distinct(requests["request_id"]).as_py()),
        metrics=_metrics(
            completions,
            num_asked=len(todo),
            device_seconds=seconds * job.settings.inference.num_engines if len(todo) else 0.0,
        ),
        samples=truncate_sample(completions, columns=["request_id", "answer", "finish_reason", "failure"]),
    )


def committed_answers(job: Job) -> Iterator[pa.Table]:
    """Yield the answers that the partition's committed version holds."""
    if job.lake.partition(table(job.dataset), job.partition):
        yield job.lake.read(table(job.dataset), partitions=[job.partition]).select(COMPLETIONS.names)


def staged_answers(job: Job) -> Iterator[pa.Table]:
    """Yield the chunks of attempts after the committed one, in the order in which attempts and chunks began.

    What earlier attempts left is in the committed table.
    """
    committed = job.lake.partition(table(job.dataset), job.partition)
    for item in job.lake.store.list(f"{_chunk_folder(job)}/"):
        if committed and _chunk_fence(item.key) <= committed.fence:
            continue
        yield pq.read_table(io.BytesIO(job.lake.store.read(item.key))).cast(COMPLETIONS)


def _ask(job: Job, attempt: Attempt, requests: pa.Table, todo: pa.Table) -> list[pa.Table]:
    """Ask what is missing, one chunk after the other, and return the chunks; each is in the lake before the next begins."""
    recipe = Recipe.from_json(job.parameters["recipe"])
    reader = SeedReader(job.lake.store, requests)
    chunks = plan_chunks(todo, size=job.settings.inference.chunk_requests)
    answers = []
    with inference_engine(job.settings) as engine:
        for number, chunk in enumerate(chunks):
            started = time.monotonic()
            rows = _ask_chunk(engine, chunk, todo, recipe, reader)
            _keep_chunk(job, attempt, number, chunk, rows)
            answers.append(rows)
            tokens = pc.sum(rows["completion_tokens"]).as_py() or 0
            job.report(
                f"answers: chunk {number + 1} of {len(chunks)}",
                {
                    "requests": len(rows),
                    "tokens": tokens,
                    "tokens_per_second": round(tokens / (time.monotonic() - started), 1),
                },
            )
    return answers


def _ask_chunk(
    engine: InferenceEngine, chunk: RequestChunk, todo: pa.Table, recipe: Recipe, reader: SeedReader
) -> pa.Table:
    ids = pa.array(chunk.request_ids, pa.string())
    ours = todo.filter(pc.is_in(todo["request_id"], value_set=ids))
    prompts = [
        ChatRequest(request_id=prompt["request_id"], messages=tuple(prompt["messages"]))
        for prompt in render(ours, reader.seeds(ours), recipe)
    ]
    sampling = Sampling.from_json(recipe.generator.sampling.to_json())
    return _rows(engine.generate(prompts, sampling), engine.identity.name)


def _rows(completions: Sequence[Completion], engine: str) -> pa.Table:
    rows = [{name: getattr(item, name) for name in COMPLETIONS.names if name != "engine"} for item in completions]
    return pa.Table.from_pylist([row | {"engine": engine} for row in rows], schema=COMPLETIONS)


def _keep_chunk(job: Job, attempt: Attempt, number: int, chunk: RequestChunk, rows: pa.Table) -> None:
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, compression="zstd")
    key = f"{_chunk_folder(job)}/{attempt.fence:08d}-{number:06d}-{chunk.name}.parquet"
    job.lake.store.create(key, buffer.getvalue())


def _chunk_folder(job: Job) -> str:
    return f"{staging_directory(table(job.dataset), job.partition)}/answers"


def _chunk_fence(key: str) -> int:
    return int(key.rpartition("/")[2].partition("-")[0])


def _counts(completions: pa.Table, *, num_requests: int) -> Counts:
    failed = count_reasons(completions["failure"])
    if num_requests > len(completions):
        failed["not_answered"] = num_requests - len(completions)
    return Counts(rows_in=num_requests, kept=num_requests - sum(failed.values()), failed=failed)


def _metrics(completions: pa.Table, *, num_asked: int, device_seconds: float) -> dict[str, float | int | str]:
    tokens = pc.sum(completions["completion_tokens"]).as_py() or 0
    return {
        "requests_asked": num_asked,
        "requests_reused": len(completions) - num_asked,
        "prompt_tokens": pc.sum(completions["prompt_tokens"]).as_py() or 0,
        "completion_tokens": tokens,
        "device_seconds": round(device_seconds, 3),
    }
