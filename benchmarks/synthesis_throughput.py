"""Throughput through the whole path beside bare `vllm.LLM.generate`, on the same prompts, model and engine settings.

Ours is the task of synthesized/*/completions as its asset runs it: prompts rendered from the lake, asked of a leased, warm
inference server (Ray, one vLLM engine), answers kept wave by wave and committed. Bare vLLM gets the finished prompts, all
at once, and keeps nothing; it runs in one process, as our engine does, since the two processes that `LLM` makes by itself
wait for one another at the cost of the cores that they share with the model. Runs alternate, each pair on documents of its
own, so that no run finds its prompts in a cache.
"""

import statistics
import tempfile
import time
from pathlib import Path
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

PAIRS = 3
DOCUMENTS = 160
MAX_TOKENS = 64
BAR = 0.95


def measures() -> list[Measure]:
    """Return output tokens a second of both, medians over the pairs."""
    recipe = synthesis_prompts.recipe(max_tokens=MAX_TOKENS)
    with tempfile.TemporaryDirectory(prefix="corpusmill-throughput-", ignore_cleanup_errors=True) as folder:
        settings = synthesis_prompts.settings(Path(folder))
        snapshots = _prepare(settings, recipe)
        pairs = _measured(settings, recipe, snapshots)
    ours, theirs = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
    measure = Measure(
        measure=f"completions of {DOCUMENTS} documents, whole path, engine warm (output tokens/s)",
        ours=ours,
        other=theirs,
        other_name="vllm.LLM.generate",
        bar=at_least(BAR, of="ratio"),
    )
    return [measure]


def _prepare(settings: Settings, recipe: Recipe) -> list[str]:
    """Put documents and requests into the lake, a snapshot a pair, and return the snapshots."""
    texts = synthesis_prompts.english_texts(PAIRS * DOCUMENTS)
    snapshots = [f"part-{number}" for number in range(PAIRS)]
    for number, snapshot in enumerate(snapshots):
        synthesis_prompts.put_documents(settings, snapshot, texts[number::PAIRS])
        _run(settings, "requests", snapshot, recipe)
    return snapshots


def _run(settings: Settings, task: str, snapshot: str, recipe: Recipe) -> dict[str, Any]:
    partition = f"{snapshot}|{synthesis_prompts.STYLE}"
    given = synthesis_prompts.parameters(recipe)
    return synthesis_prompts.run(settings, task, synthesis_prompts.DATASET, partition, given)


def _measured(settings: Settings, recipe: Recipe, snapshots: list[str]) -> list[tuple[float, float]]:
    """Return tokens a second of ours and of bare vLLM, pair by pair; who goes first alternates."""
    engine = inference_engine_settings(settings)
    service = InferenceSettings.from_json(engine.service)
    found = []
    with (
        lease("inference", engine, state_folder=Path(settings.state_folder)),
        bare_vllm(engine_args(service), engine_environment(service)) as bare,
    ):
        for number, snapshot in enumerate(snapshots):
            prompts = _prompts(settings, snapshot, recipe)
            sides = [lambda: _ours(settings, snapshot, recipe), lambda: _theirs(bare, prompts)]  # noqa: B023
            speeds = [side() for side in (sides if number % 2 == 0 else sides[::-1])]
            ours, theirs = speeds if number % 2 == 0 else speeds[::-1]
            print(f"{snapshot}: {len(prompts)} prompts, ours {ours:.1f}, bare {theirs:.1f} tokens/s", flush=True)
            found.append((ours, theirs))
    return found


def _ours(settings: Settings, snapshot: str, recipe: Recipe) -> float:
    started = time.monotonic()
    result = _run(settings, "completions", snapshot, recipe)
    seconds = time.monotonic() - started
    assert not result["counts"]["failed"], result["counts"]
    return float(result["metrics"]["completion_tokens"] / seconds)


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
