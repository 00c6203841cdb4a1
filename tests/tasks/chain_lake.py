"""A lake of seed documents with a recipe of several steps, and the tasks of synthesis on it, with a scripted model."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.document import DOCUMENTS, text_hash
from corpusmill.engines.inference import ChatRequest
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.names import data_directory
from corpusmill.lake.tables import Lake
from corpusmill.settings import settings_from_table
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.chain import ChainGenerator, Step
from corpusmill.synthesize.recipe import Recipe, SeedRule
from corpusmill.synthesize.sampling import Sampling
from corpusmill.tasks.task import execute
from tests.engines.toys.waiting import wait_until
from tests.killed.stops import Stop
from tests.killed.way import ROOT, WAIT_SECONDS, is_stopped

CALLS_VARIABLE = "CORPUSMILL_TEST_CHAIN_CALLS"
SCRIPT = "tests.tasks.chain_lake:answer"
REQUESTS, COMPLETIONS, DOCUMENTS_TABLE = (
    f"synthesized/book/{name}" for name in ("requests", "completions", "documents")
)
PARTITION = "plain|1"
_PLACES = ("mill", "inn", "school", "barn", "refused", "tower", "broken", "house")
TEXTS = tuple(f"The {place} of the village is old. It has {number} doors." for number, place in enumerate(_PLACES))
"""A model that is shown the fifth refuses it, and one that is shown the seventh says nothing about its second part."""

RECIPE = Recipe(
    name="book/plain",
    seeds=SeedRule(max_characters=1_000),
    generator=ChainGenerator(
        steps=(
            Step(name="plan", user="$document\nPlan.", sampling=Sampling(max_tokens=32), checks=(check("no_assistant_talk"),)),
            Step(
                name="sections",
                user="$document\n$plan\nSo far: $context\nWrite: $item",
                sampling=Sampling(max_tokens=64),
                for_each="plan",
            ),
            Step(name="title", user="$sections\nTitle.", sampling=Sampling(max_tokens=8)),
        ),
        output=("title", "sections"),
    ),
    verifiers=(check("not_repetitive"),),
)  # fmt: skip
WORKER = """
import json, sys
from corpusmill.tasks.task import execute
from tests.killed.stops import Stop
stop, arguments = json.loads(sys.argv[1])
Stop(**stop).install()
execute("completions", arguments, lambda message, numbers: None)
"""


def answer(request: ChatRequest) -> str | None:
    """Play the model, and note what it was asked."""
    with Path(os.environ[CALLS_VARIABLE]).open("a") as calls:
        calls.write(f"{request.request_id}\n")
    shown = request.messages[-1]["content"]
    if shown.endswith("Plan."):
        return "I'm sorry." if "refused" in shown else "# Walls\n# Doors"
    if shown.endswith("Title."):
        return "About it"
    item, place = shown.rpartition("Write: ")[2], shown.split()[2]
    return None if (item, place) == ("Doors", "broken") else f"The {item.lower()} of the {place} are old."


class ChainLake:
    """The lake in a folder, and what its model was asked so far."""

    def __init__(self, folder: Path, *, recipe: Recipe = RECIPE, wave: int = 3) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        inference = {"engine": "scripted", "script": SCRIPT, "chunk_requests": wave}
        table = {"state_folder": str(folder), "spark": {"engine": "plain"}, "inference": inference}
        self.settings = settings_from_table(table, base=folder)
        self.recipe = recipe
        self.lake = Lake(self.settings.lake)
        self.calls = folder / "calls"
        os.environ[CALLS_VARIABLE] = str(self.calls)

    def put(self, *texts: str) -> None:
        """Commit the curated documents, named by their place."""
        same = {"source": "web", "snapshot": "1", "language": "en"}
        rows = [
            {**same, "doc_id": f"d{place}", "text": text, "text_hash": text_hash(text)}
            for place, text in enumerate(texts)
        ]
        self.commit("curated/web/documents", "1", pa.Table.from_pylist(rows, schema=DOCUMENTS))

    def commit(self, table: str, partition: str, rows: pa.Table) -> None:
        """Commit rows as a partition's new version."""
        attempt = self.lake.begin(table, partition, rows.schema)
        folder = data_directory(table, partition)
        writer = ShardWriter(
            self.lake.store, directory=folder, name=attempt.attempt, schema=rows.schema, partition=partition
        )
        with writer:
            writer.write(rows)
        self.lake.commit(attempt, writer.files, {})

    def run(self, *tasks: str) -> dict[str, Any]:
        """Run tasks, by default all of synthesis, and return the last result."""
        os.environ[CALLS_VARIABLE] = str(self.calls)
        for task in tasks or ("requests", "completions", "accept"):
            result = execute(task, self.arguments(), lambda message, numbers: None)
        return result

    def kill(self, stop: Stop) -> None:
        """Ask in a process of its own, and kill it where it stops as kill -9 does."""
        told = json.dumps([dataclasses.asdict(stop), self.arguments()])
        environment = {**os.environ, CALLS_VARIABLE: str(self.calls)}
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, told], cwd=ROOT, start_new_session=True, env=environment
        )
        try:
            wait_until(lambda: process.poll() is not None or is_stopped(process), seconds=WAIT_SECONDS)
            assert process.returncode is None, "ended before it stopped"
        finally:
            process.kill()
            process.wait()

    def arguments(self) -> dict[str, Any]:
        parameters = {"seeds": "web", "variant": "plain", "recipe": self.recipe.to_json()}
        return {
            "settings": self.settings.to_json(),
            "dataset": "book",
            "partition": PARTITION,
            "parameters": parameters,
        }

    def asked(self) -> list[str]:
        return self.calls.read_text().split() if self.calls.exists() else []

    def contents(self) -> dict[str, str]:
        tables = (REQUESTS, COMPLETIONS, DOCUMENTS_TABLE)
        return {table: self.lake.partition(table, PARTITION).content_hash for table in tables}

    def waves(self) -> list[str]:
        return [item.key for item in self.lake.store.list(f"staging/{COMPLETIONS}/")]

    def verdicts(self) -> dict[str, str | None]:
        rows = self.lake.read(DOCUMENTS_TABLE).to_pylist()
        return {row["parent_ids"][0]: row["reject_reason"] for row in rows}
