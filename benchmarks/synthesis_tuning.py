"""Tuning on this machine's processor with the small model: is the ranking of settings stable, and is the winner's gain proven?

The task of tuning/<model>/cpu runs as its asset does, on real prompts: every candidate once on a small sample, then the
fastest and vLLM's defaults in three paired repeats, each trial in a process of its own.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import synthesis_prompts
from benchmarks.harness import Measure, at_least, print_measures

REQUESTS = 24
MAX_TOKENS = 48
CANDIDATES: tuple[dict[str, Any], ...] = (
    {"dtype": "float32"},
    {"dtype": "float32", "max_num_seqs": 4},
    {"max_num_seqs": 4},
    {"speculative": "suffix"},
)
TIERS = ({"requests": 12, "keep": 2}, {"requests": REQUESTS, "repeats": 3})
MIN_TAU = 0.6
SNAPSHOT = "help"


def measures() -> list[Measure]:
    """Return how stable the ranking was, and the winner's gain with its interval."""
    recipe = synthesis_prompts.recipe(max_tokens=MAX_TOKENS)
    given = synthesis_prompts.parameters(recipe)
    with tempfile.TemporaryDirectory(prefix="corpusmill-tuning-", ignore_cleanup_errors=True) as folder:
        settings = synthesis_prompts.settings(Path(folder))
        synthesis_prompts.put_documents(settings, SNAPSHOT, synthesis_prompts.english_texts(4 * REQUESTS))
        partition = f"{SNAPSHOT}|{synthesis_prompts.STYLE}"
        synthesis_prompts.run(settings, "requests", synthesis_prompts.DATASET, partition, given)
        asked = {"dataset": synthesis_prompts.DATASET, **given}
        tuning = {"prompts": [asked], "candidates": list(CANDIDATES), "tiers": list(TIERS)}
        result = synthesis_prompts.run(settings, "tune_cpu", settings.inference.model, "all", tuning)
    for row in result["listings"]["whole_grid"]:
        print(" | ".join(str(value) for value in row.values()), flush=True)
    return _measures(result["metrics"])


def _measures(found: dict[str, Any]) -> list[Measure]:
    if not {"kendall_tau", "gain"} <= found.keys():
        raise RuntimeError(
            "vLLM's defaults and one other must answer in the last tier; the grid above says what failed"
        )
    name = found["fastest"]
    return [
        Measure(
            measure="ranking of settings over 3 repeats (Kendall's tau, mean over pairs)",
            ours=found["kendall_tau"],
            bar=at_least(MIN_TAU),
        ),
        Measure(measure=f"gain of {name} over vLLM's defaults", ours=found["gain"]),
        Measure(measure="gain, lower end of the 95 % interval", ours=found["gain_low"]),
        Measure(measure="gain, upper end of the 95 % interval", ours=found["gain_high"]),
    ]


if __name__ == "__main__":
    print_measures(measures())
