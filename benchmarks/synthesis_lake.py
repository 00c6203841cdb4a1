"""A lake of seed documents and the tasks of synthesis on it, against servers; as a process of its own, to be killed.

python -m benchmarks.synthesis_lake FOLDER URL [URL ...]      requests, completions, documents; prints the counts
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.document import DOCUMENTS, text_hash
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.names import data_directory
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.recipe import Recipe, SeedRule
from corpusmill.synthesize.requests import render
from corpusmill.synthesize.sampling import Sampling
from corpusmill.tasks import accept, completions, requests
from corpusmill.tasks.seeds import SeedReader
from corpusmill.tasks.task import execute

DATASET, SEEDS, SNAPSHOT, PARTITION = "said_anew", "web", "1", "plain|1"
REQUEST_SECONDS = 3.0
"""Of a hang, until the request is tried again."""
CHUNK_REQUESTS = 100
MAX_CONCURRENCY = 32
RECIPE = Recipe(
    name="said_anew/plain",
    seeds=SeedRule(max_characters=10_000),
    generator=PromptGenerator(system="Say it anew.", user="$document", sampling=Sampling(max_tokens=200)),
    verifiers=(check("no_assistant_talk"),),
)
_WORDS = ("river", "boat", "village", "summer", "market", "bridge", "winter", "road", "school", "garden", "letter")


def settings_in(folder: Path, servers: Sequence[str]) -> Settings:
    """Return the settings of a lake in a folder and of the servers that answer."""
    inference = {
        "engine": "servers",
        "servers": list(servers),
        "model": "toy",
        "model_revision": "1",
        "chunk_requests": CHUNK_REQUESTS,
        "request_seconds": REQUEST_SECONDS,
        "max_concurrency": MAX_CONCURRENCY,
        "startup_seconds": 60,
    }
    table = {"state_folder": str(folder), "spark": {"engine": "plain"}, "inference": inference}
    return settings_from_table(table, base=folder)


def add_seeds(settings: Settings, number: int) -> None:
    """Commit so many curated documents, all different."""
    rows = [
        {
            "doc_id": f"d{place:05d}",
            "source": SEEDS,
            "snapshot": SNAPSHOT,
            "language": "en",
            "license": "MIT",
            "text": (text := _text(place)),
            "text_hash": text_hash(text),
        }
        for place in range(number)
    ]
    lake = Lake(settings.lake)
    table = f"curated/{SEEDS}/documents"
    attempt = lake.begin(table, SNAPSHOT, DOCUMENTS)
    writer = ShardWriter(
        lake.store,
        directory=data_directory(table, SNAPSHOT),
        name=attempt.attempt,
        schema=DOCUMENTS,
        partition=SNAPSHOT,
    )
    with writer:
        writer.write(pa.Table.from_pylist(rows, schema=DOCUMENTS))
    lake.commit(attempt, writer.files, {})
    lake.close()


def run_task(settings: Settings, task: str) -> dict[str, Any]:
    """Run one task of synthesis as its asset does."""
    parameters = {"seeds": SEEDS, "variant": "plain", "recipe": RECIPE.to_json()}
    arguments = {"settings": settings.to_json(), "dataset": DATASET, "partition": PARTITION, "parameters": parameters}
    return execute(task, arguments, lambda message, numbers: print(message, numbers, file=sys.stderr, flush=True))


def prompts(settings: Settings) -> dict[str, str]:
    """Return document -> what the model is shown of it; the table of requests must be made."""
    lake = Lake(settings.lake)
    asked = lake.read(requests.table(DATASET), partitions=[PARTITION])
    shown = {
        item["request_id"]: item["messages"]
        for item in render(asked, SeedReader(lake.store, asked).seeds(asked), RECIPE)
    }
    lake.close()
    pairs = zip(asked["doc_id"].to_pylist(), asked["request_id"].to_pylist(), strict=True)
    return {doc_id: shown[request_id][-1]["content"] for doc_id, request_id in pairs}


def documents(settings: Settings) -> list[dict[str, Any]]:
    """Return the rows of the synthesized documents: each seed, the reason why it gave none, if so."""
    lake = Lake(settings.lake)
    rows = lake.read(accept.table(DATASET), partitions=[PARTITION]).select(["parent_ids", "reject_reason"]).to_pylist()
    lake.close()
    return rows


def num_completions(settings: Settings) -> int:
    """Return the rows of the table of completions."""
    lake = Lake(settings.lake)
    number = lake.read(completions.table(DATASET), partitions=[PARTITION]).num_rows
    lake.close()
    return number


def _text(place: int) -> str:
    """Return four sentences that no other place has."""
    draws = hashlib.sha256(str(place).encode()).digest()
    words = [_WORDS[draw % len(_WORDS)] for draw in draws]
    sentences = [" ".join(words[start : start + 8]).capitalize() for start in range(0, 32, 8)]
    return f"Page {place} is new. {'. '.join(sentences)}."


def main(folder: Path, servers: Sequence[str]) -> None:
    """Run the three tasks, one after the other; what is committed already is not made again."""
    settings = settings_in(folder, servers)
    results = {task: run_task(settings, task) for task in ("requests", "completions", "accept")}
    told = {"counts": results["accept"]["counts"], "metrics": results["completions"]["metrics"]}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
