"""synthesized/<dataset>/requests: what to ask the model, by reference. Seeds are chosen by hash; prompts are not stored."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import REQUESTS
from corpusmill.lake.tables import Attempt
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import ask
from corpusmill.synthesize.seeds import choose_pool, choose_seeds
from corpusmill.tasks.inference import generator
from corpusmill.tasks.seeds import seed_batches, seed_snapshot, seed_table
from corpusmill.tasks.task import Job, Outcome, partition_writer
from corpusmill.tasks.tools import tools_for, versions_for


def table(dataset: str) -> str:
    return f"synthesized/{dataset}/requests"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return REQUESTS


def inputs(job: Job) -> dict[str, Any]:
    who = generator(job.settings)
    return {
        "documents": job.upstream(seed_table(job), seed_snapshot(job)),
        "model": who.model,
        "revision": who.revision,
        "license": who.license,
        **versions_for(job),
    }


def run(job: Job, attempt: Attempt) -> Outcome:
    recipe = Recipe.from_json(job.parameters["recipe"])
    who = generator(job.settings)
    tools = tools_for(job)
    pool = choose_pool(lambda: seed_batches(job), recipe)
    chosen = choose_seeds(seed_batches(job), recipe, pool=pool)
    num_requests = prompt_characters = 0
    with partition_writer(job, attempt, name="requests") as writer:
        for batch in seed_batches(job):
            requests = ask(batch, doc_ids=chosen.doc_ids, recipe=recipe, identity=who, tools=tools, pool=pool)
            writer.write(requests)
            num_requests += len(requests)
            prompt_characters += pc.sum(requests["prompt_characters"]).as_py() or 0
    return Outcome(
        files=writer.files,
        counts=chosen.counts,
        metrics={
            "requests": num_requests,
            "prompt_characters": prompt_characters,
            "recipe": recipe.name,
            "recipe_version": recipe.version,
        },
        tables={"recipe": [{"model": who.model, **prompt} for prompt in _prompts(recipe.to_json()["generator"])]},
    )


def _prompts(value: Any) -> Iterator[dict[str, str]]:
    """Yield the prompts anywhere in a generator's spelling, with the name of the step where there is one."""
    if isinstance(value, Mapping):
        if isinstance(value.get("user"), str):
            yield {name: value[name] for name in ("name", "system", "user") if name in value}
        value = value.values()
    if not isinstance(value, str | int | float | None):
        for item in value:
            yield from _prompts(item)
