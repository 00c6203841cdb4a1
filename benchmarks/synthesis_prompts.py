"""Real documents and the recipe that is asked about them, for measuring engines of synthesis."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.synthesized.web_rephrased import RECIPES
from benchmarks.texts import real_samples
from corpusmill.document import DOCUMENTS, text_hash
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.recipe import Recipe
from corpusmill.tasks.task import execute

MODELS = Path(".corpusmill") / "models"
"""The demo's converted model, used again where it is."""
STYLE = "distilled"
DATASET = "web_rephrased"


def recipe(*, max_tokens: int, most: int = 10_000) -> Recipe:
    """Return the demo's recipe of distilled prose, without its limits on how many documents and for how long."""
    demo = RECIPES[STYLE]
    assert isinstance(demo.generator, PromptGenerator)
    sampling = replace(demo.generator.sampling, max_tokens=max_tokens)
    seeds = replace(demo.seeds, max_documents=most, min_characters=200)
    return replace(demo, seeds=seeds, generator=replace(demo.generator, sampling=sampling))


def parameters(asked: Recipe) -> dict[str, Any]:
    """Return the parameters of the tasks of synthesis."""
    return {"seeds": "web", "variant": STYLE, "recipe": asked.to_json()}


def settings(folder: Path, **inference: Any) -> Settings:
    """Return settings with a lake in `folder`; the demo's model is linked there where it was converted already."""
    state = folder / "state"
    state.mkdir(parents=True, exist_ok=True)
    if MODELS.is_dir() and not (state / "models").exists():
        (state / "models").symlink_to(MODELS.absolute())
    return settings_from_table({"state_folder": str(state), "inference": inference}, base=folder)


def english_texts(most: int) -> list[str]:
    """Return real English documents, each once."""
    return [sample.text for sample in real_samples(("en",)) if sample.source != "help page with menus"][:most]


def put_documents(made: Settings, snapshot: str, texts: list[str]) -> None:
    """Commit curated documents."""
    rows = [
        {
            "doc_id": text_hash(text),
            "source": "web",
            "snapshot": snapshot,
            "language": "en",
            "license": "CC-BY-4.0",
            "text": text,
            "text_hash": text_hash(text),
        }
        for text in texts
    ]
    lake = Lake(made.lake)
    attempt = lake.begin("curated/web/documents", snapshot, DOCUMENTS)
    writer = ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=DOCUMENTS, partition=snapshot
    )
    with writer:
        writer.write(pa.Table.from_pylist(rows, schema=DOCUMENTS))
    lake.commit(attempt, writer.files, {})


def run(made: Settings, task: str, dataset: str, partition: str, given: dict[str, Any]) -> dict[str, Any]:
    """Run one task as its asset does."""
    arguments = {"settings": made.to_json(), "dataset": dataset, "partition": partition, "parameters": given}
    return execute(task, arguments, lambda message, numbers: None)
