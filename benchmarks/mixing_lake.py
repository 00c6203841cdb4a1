"""A lake with all stages, made by the real tasks from planted texts: two snapshots, rephrased, translated, packed, mixed.

The model is a script, the tokenizer a token a byte; a tenth of the second snapshot are near-duplicates of the first, and its
other documents are under two licences.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.engines.inference import ChatRequest
from corpusmill.lake.tables import Lake
from corpusmill.mix.mixture import Component, Mixture
from corpusmill.settings import Settings, settings_from_table
from corpusmill.synthesize.check import check
from corpusmill.synthesize.generators.prompt import PromptGenerator
from corpusmill.synthesize.recipe import Recipe, SeedRule
from corpusmill.synthesize.sampling import Sampling
from corpusmill.tasks.task import execute

DATASET, MADE = "stem", {"stem_rephrased": "plain", "stem_translated": "de"}
SNAPSHOTS = ("2024", "2025")
MIX = "traced"
SEQUENCE_LENGTH = 512
LICENSES = ("MIT", "CC-BY-4.0")
_RULES = {"languages": [], "min_formulas": 0, "min_words": 1}
_DEDUP = DedupParameters().to_json()


@dataclass(frozen=True)
class StagedLake:
    """The lake in a folder and what was planted in it."""

    settings: Settings
    tokenizer: str
    texts: dict[str, list[str]] = field(default_factory=dict)
    """By snapshot."""
    results: list[dict[str, Any]] = field(default_factory=list)
    """What the tasks returned, in turn."""

    @property
    def lake(self) -> Lake:
        return Lake(self.settings.lake)

    def run(self, task: str, dataset: str, partition: str, **parameters: Any) -> dict[str, Any]:
        arguments = {"settings": self.settings.to_json(), "dataset": dataset, "partition": partition}
        result = execute(task, {**arguments, "parameters": parameters}, lambda message, numbers: None)
        self.results.append(result)
        return result


def answer(request: ChatRequest) -> str:
    """Play the model: the words of the text, turned around."""
    words = request.messages[-1]["content"].split()
    return " ".join(word for word in reversed(words) if not word.endswith("document>"))


def make_lake(folder: Path, *, num_documents: int, num_words: int = 80, files: int = 2) -> StagedLake:
    """Make all stages of two snapshots of so many documents each, and the plan and report of a mix."""
    staged = _planted(folder, num_documents=num_documents, num_words=num_words, files=files)
    run_stages(staged)
    return staged


def run_stages(staged: StagedLake) -> None:
    """Make whatever is not current of all snapshots that were planted, and the plan and report of the mix."""
    for snapshot in staged.texts:
        staged.run("records", DATASET, snapshot)
        staged.run("extract", DATASET, snapshot, method="plain")
        staged.run("judge", DATASET, snapshot, judge="stem", rules=_RULES)
        staged.run("sign", DATASET, snapshot, **_DEDUP)
    staged.run("resolve", DATASET, "all", **_DEDUP)
    for snapshot in staged.texts:
        staged.run("duplicates", DATASET, snapshot, max_removed_share=1.0)
        staged.run("documents", DATASET, snapshot)
        _pack(staged, DATASET, snapshot, documents=f"curated/{DATASET}/documents")
        for dataset, variant in MADE.items():
            _synthesize(staged, dataset, variant, snapshot)
    staged.run("plan", "mixtures", MIX, mixture=mixture().to_json())
    staged.run("report", "mixtures", MIX)


def plant(staged: StagedLake, snapshot: str, pages: Mapping[str, str]) -> None:
    """Put a snapshot of these pages, URL -> text, beside those that were planted."""
    staged.texts[snapshot] = list(pages.values())
    lines = [json.dumps({"text": text, "url": url, "license": LICENSES[0]}) for url, text in pages.items()]
    folder = Path(staged.settings.source(DATASET).uri) / snapshot
    folder.mkdir()
    (folder / "0.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def mixture(**rules: Any) -> Mixture:
    """Return the mix of all three datasets; the curated one is read up to three times."""
    weights = {DATASET: 0.6, **dict.fromkeys(MADE, 0.2)}
    components = tuple(
        Component(name=name, table=f"tokenized/{name}/sequences", weight=weight, max_epochs=3)
        for name, weight in weights.items()
    )
    return Mixture(name=MIX, components=components, sequence_length=SEQUENCE_LENGTH, seed=3, **rules)


def _planted(folder: Path, *, num_documents: int, num_words: int, files: int) -> StagedLake:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(_letters())}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    source = {"uri": "source", "format": "jsonl", "options": {"url_column": "url", "license_column": "license"}}
    settings = settings_from_table(
        {
            "state_folder": str(folder / "state"),
            "spark": {"engine": "plain"},
            "sources": {DATASET: source},
            "inference": {"engine": "scripted", "script": "benchmarks.mixing_lake:answer", "chunk_requests": 1_000},
        },
        base=folder,
    )
    staged = StagedLake(settings, str(folder / "tokenizer.json"))
    random = np.random.default_rng(7)
    first = [_text(random, num_words) for _ in range(num_documents)]
    near = [f"{text.rpartition(' ')[0]} anew" for text in first[:: max(1, num_documents // (num_documents // 10 or 1))]]
    staged.texts[SNAPSHOTS[0]] = first
    staged.texts[SNAPSHOTS[1]] = [*near, *(_text(random, num_words) for _ in range(num_documents - len(near)))]
    for snapshot, texts in staged.texts.items():
        _write(folder / "source" / snapshot, snapshot, texts, files=files)
    return staged


def _letters() -> list[str]:
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _text(random: np.random.Generator, num_words: int) -> str:
    return " ".join(f"w{number}" for number in random.integers(0, 1 << 31, num_words))


def _write(folder: Path, snapshot: str, texts: Sequence[str], *, files: int) -> None:
    folder.mkdir(parents=True)
    for number in range(files):
        lines = [
            json.dumps({"text": text, "url": f"https://{snapshot}.test/{n}", "license": LICENSES[n % len(LICENSES)]})
            for n, text in enumerate(texts)
            if n % files == number
        ]
        (folder / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _synthesize(staged: StagedLake, dataset: str, variant: str, snapshot: str) -> None:
    partition = f"{variant}|{snapshot}"
    recipe = Recipe(
        name=f"{dataset}/{variant}",
        seeds=SeedRule(max_characters=10_000),
        generator=PromptGenerator(
            system=f"Say it anew, as {variant}.", user="$document", sampling=Sampling(max_tokens=1_000)
        ),
        verifiers=(check("no_assistant_talk"),),
    )
    asked = {"seeds": DATASET, "variant": variant, "recipe": recipe.to_json()}
    for task in ("requests", "completions", "accept"):
        staged.run(task, dataset, partition, **asked)
    compared = {"seeds": DATASET, "variant": variant, "dedup": _DEDUP, "seed_threshold": 0.7}
    staged.run("synthesized_duplicates", dataset, partition, **compared)
    tables = {name: f"synthesized/{dataset}/{name}" for name in ("documents", "duplicates")}
    _pack(staged, dataset, partition, **tables)


def _pack(staged: StagedLake, dataset: str, partition: str, **tables: str) -> None:
    packing = {"tokenizer": staged.tokenizer, "sequence_length": SEQUENCE_LENGTH, "seed": 0, "eos_token": "<|end|>"}
    staged.run("sequences", dataset, partition, **packing, **tables)
