"""Compiles the kernels of curation once, at set-up, so that the first pages of every worker need not wait for it.

Judges three small datasets in a temporary lake and signs a text; numba keeps what it compiled beside the sources.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import sign
from corpusmill.settings import Settings, settings_from_table
from corpusmill.tasks.task import execute

DATASETS = ("web", "code", "stem")
TEXT = (
    "Ask Ann at ann@mill.org or call +44 20 7946 0018.\n"
    + "The mills of $x^2$ grind slowly, and all of it by hand. " * 20
)


def main() -> None:
    """Compile everything that judging and signing texts uses."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-kernels-") as folder:
        sources = {name: {"uri": name, "format": "jsonl"} for name in DATASETS}
        settings = settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=Path(folder))
        for dataset in DATASETS:
            page = Path(folder) / dataset / "2024" / "page.jsonl"
            page.parent.mkdir(parents=True)
            page.write_text(json.dumps({"text": TEXT}), encoding="utf-8")
            _judge(settings, dataset)
    for shingle in ("word", "code"):
        sign(_text(), DedupParameters(shingle=shingle).to_json())


def _judge(settings: Settings, dataset: str) -> None:
    steps: dict[str, dict[str, Any]] = {"records": {}, "extract": {"method": "plain"}, "judge": {"judge": dataset}}
    for task, parameters in steps.items():
        arguments = {"settings": settings.to_json(), "dataset": dataset, "partition": "2024", "parameters": parameters}
        execute(task, arguments, lambda message, numbers: None)


def _text() -> pa.Table:
    names = ("doc_id", "source", "snapshot", "text_file", "text_hash")
    return pa.table({**{name: ["one"] for name in names}, "text": pa.array([TEXT], pa.large_string())})


if __name__ == "__main__":
    main()
