"""A lake of planted snapshots, and the tasks of deduplication on it, as their assets run them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.lake.tables import Lake
from corpusmill.settings import settings_from_table
from corpusmill.tasks.task import execute

DATASET = "stem"
RULES = {"languages": [], "min_formulas": 0, "min_words": 1}
LARGE = {"max_removed_share": 1.0}


class DedupLake:
    """A lake in a folder. `parameters` are those of deduplication."""

    def __init__(self, folder: Path, parameters: dict[str, Any], *, engine: str = "plain") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.parameters = parameters
        spark = {"engine": engine, "master": "local[2]", "driver_memory": "1g", "linger_seconds": 60}
        sources = {DATASET: {"uri": "source", "format": "jsonl"}}
        self.settings = settings_from_table(
            {"state_folder": str(folder / "state"), "spark": spark, "sources": sources}, base=folder
        )
        self.lake = Lake(self.settings.lake)

    def write(self, snapshot: str, texts: Sequence[str], *, files: int = 1) -> None:
        """Write the texts of a snapshot as the documents of its source."""
        folder = self.folder / "source" / snapshot
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(files):
            lines = [json.dumps({"text": text}) for text in texts[number::files]]
            (folder / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def run(self, task: str, partition: str, **parameters: Any) -> dict[str, Any]:
        arguments = {"settings": self.settings.to_json(), "dataset": DATASET, "partition": partition}
        return execute(task, {**arguments, "parameters": parameters}, lambda message, numbers: None)

    def sign(self, snapshot: str) -> dict[str, Any]:
        """Read, extract, judge and sign a snapshot."""
        self.run("records", snapshot)
        self.run("extract", snapshot, method="plain")
        self.run("judge", snapshot, judge="stem", rules=RULES)
        return self.run("sign", snapshot, **self.parameters)

    def add(self, snapshot: str, texts: Sequence[str], *, files: int = 1) -> None:
        self.write(snapshot, texts, files=files)
        self.sign(snapshot)

    def resolve(self) -> dict[str, Any]:
        return self.run("resolve", "all", **self.parameters)

    def finish(self, snapshot: str) -> dict[str, Any]:
        """Make what follows the resolution of a snapshot."""
        self.run("duplicates", snapshot, **LARGE)
        return self.run("documents", snapshot)

    def resolution(self) -> pa.Table:
        return self.lake.read(f"curated/{DATASET}/resolution").drop_columns("partition_key").sort_by("doc_id")

    def texts(self, snapshot: str) -> list[str]:
        """Return the texts of the documents of a snapshot that are left."""
        return self.lake.read(f"curated/{DATASET}/documents", partitions=[snapshot])["text"].to_pylist()

    def doc_ids(self, snapshot: str) -> dict[str, str]:
        """Return the doc_id of each text of a snapshot."""
        rows = self.lake.read(f"curated/{DATASET}/extracted", partitions=[snapshot])
        return dict(zip(rows["text"].to_pylist(), rows["doc_id"].to_pylist(), strict=True))
