"""Throughput through the whole path beside bare `vllm.LLM.generate`, on the same prompts, model and engine settings.

Ours is the task of synthesized/*/completions as its asset runs it: prompts rendered from the lake, asked of a leased, warm
inference server (Ray, one vLLM engine), answers kept wave by wave and committed. Bare vLLM gets the finished prompts, all
at once, and keeps nothing; it runs in one process, as our engine does, since the two processes that `LLM` makes by itself
wait for one another at the cost of the cores that they share with the model. Runs alternate, each pair on documents of its
own, so that no run finds its prompts in a cache. Numbers are of 32 bits, which every processor computes itself.
"""

import random
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import synthesis_prompts
from benchmarks.bare_vllm import BareVllm, Messages, bare_vllm
from benchmarks.harness import Measure, at_least, print_measures
from corpusmill.engines.inference_service import InferenceSettings, engine_args, engine_environment
from corpusmill.engines.lease import lease
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from corpusmill.synthesize.recipe import Recipe
from corpusmill.synthesize.requests import render
from corpusmill.tasks.inference import inference_engine_settings
from corpusmill.tasks.seeds import SeedReader

SIZES = ((160, 3), (320, 1))
"""Documents of a task, and pairs of runs of that size."""
MAX_TOKENS = 64
BAR = 0.95


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One task, and bare vLLM on its prompts."""

    documents: int
    prompts: int
    ours: float
    """Output tokens a second."""
    theirs: float
    outside: float
    """Seconds of the task before its first question and after its last answer was kept."""


def measures() -> list[Measure]:
    """Return output tokens a second of both, and what a task takes around its questions: medians over the pairs."""
    recipe = synthesis_prompts.recipe(max_tokens=MAX_TOKENS)
    with tempfile.TemporaryDirectory(prefix="corpusmill-throughput-", ignore_cleanup_errors=True) as folder:
        settings = synthesis_prompts.settings(Path(folder), tuning={"dtype": "float32"})
        pairs = _measured(settings, recipe, _prepare(settings, recipe))
    return [one for documents, _ in SIZES for one in _of_size([pair for pair in pairs if pair.documents == documents])]


def _of_size(pairs: list[Pair]) -> list[Measure]:
    about = f"{median(pair.prompts for pair in pairs):.0f} prompts of {pairs[0].documents} documents, engine warm"
    return [
        Measure(
            measure=f"{about}: whole path (output tokens/s)",
            ours=median(pair.ours for pair in pairs),
            other=median(pair.theirs for pair in pairs),
            other_name="vllm.LLM.generate",
            bar=at_least(BAR, of="ratio"),
        ),
        Measure(
            measure=f"{about}: the task before its first question and after its last answer (s)",
            ours=median(pair.outside for pair in pairs),
        ),
    ]


def _prepare(settings: Settings, recipe: Recipe) -> dict[str, int]:
    """Put documents and requests into the lake, a snapshot a pair, and return the documents of each snapshot."""
    sizes = [documents for documents, pairs in SIZES for _ in range(pairs)]
    texts = synthesis_prompts.english_texts(sum(sizes))
    if len(texts) < sum(sizes):
        raise RuntimeError(f"{sum(sizes)} English texts are wanted, got {len(texts)}: is the folder shared/data there?")
    shuffled = iter(random.Random(0).sample(texts, k=len(texts)))
    snapshots = {f"part-{number}": documents for number, documents in enumerate(sizes)}
    for snapshot, documents in snapshots.items():
        synthesis_prompts.put_documents(settings, snapshot, list(islice(shuffled, documents)))
        _run(settings, "requests", snapshot, recipe)
    return snapshots


def _run(settings: Settings, task: str, snapshot: str, recipe: Recipe) -> dict[str, Any]:
    partition = f"{snapshot}|{synthesis_prompts.STYLE}"
    given = synthesis_prompts.parameters(recipe)
    return synthesis_prompts.run(settings, task, synthesis_prompts.DATASET, partition, given)


def _measured(settings: Settings, recipe: Recipe, snapshots: dict[str, int]) -> list[Pair]:
    """Run each pair; who goes first alternates."""
    engine = inference_engine_settings(settings)
    service = InferenceSettings.from_json(engine.service)
    found = []
    with (
        lease("inference", engine, state_folder=Path(settings.state_folder)),
        bare_vllm(engine_args(service), engine_environment(service)) as bare,
    ):
        for number, (snapshot, documents) in enumerate(snapshots.items()):
            prompts = _prompts(settings, snapshot, recipe)
            if number % 2 == 0:
                ours, outside = _ours(settings, snapshot, recipe)
                theirs = _theirs(bare, prompts)
            else:
                theirs = _theirs(bare, prompts)
                ours, outside = _ours(settings, snapshot, recipe)
            print(f"{snapshot}: {len(prompts)} prompts, ours {ours:.1f}, bare {theirs:.1f} tokens/s", flush=True)
            pair = Pair(documents=documents, prompts=len(prompts), ours=ours, theirs=theirs, outside=outside)
            found.append(pair)
    return found


def _ours(settings: Settings, snapshot: str, recipe: Recipe) -> tuple[float, float]:
    """Return tokens a second of the whole task, and its seconds around the questions."""
    started = time.monotonic()
    result = _run(settings, "completions", snapshot, recipe)
    seconds = time.monotonic() - started
    assert not result["counts"]["failed"], result["counts"]
    metrics = result["metrics"]
    return metrics["completion_tokens"] / seconds, seconds - metrics["device_seconds"]


def _theirs(bare: BareVllm, prompts: list[Messages]) -> float:
    told = bare.generate(prompts, max_tokens=MAX_TOKENS, stop=["\n\n"])
    return float(told["tokens"] / told["seconds"])


def _prompts(settings: Settings, snapshot: str, recipe: Recipe) -> list[Messages]:
    lake = Lake(settings.lake)
    table = f"synthesized/{synthesis_prompts.DATASET}/requests"
    requests = lake.read(table, partitions=[f"{snapshot}|{synthesis_prompts.STYLE}"])
    seeds = SeedReader(lake.store, requests).seeds(requests)
    return [prompt["messages"] for prompt in render(requests, seeds, recipe)]


if __name__ == "__main__":
    print_measures(measures())
