"""The tuning stage of one model: a table a device, of every trial of engine settings.

It is no part of the whole way and has no schedule: it takes an hour of an engine, and is made when a model, a device or a
version of the engine is new. What it finds for vLLM, the engine of synthesis then loads; what it finds for SGLang is a
command line to start servers by.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.asset import lake_asset
from corpusmill.engines.trials import SGLANG, VLLM
from corpusmill.engines.tuning import EngineTuning
from corpusmill.synthesize.recipe import Recipe
from corpusmill.tune.search import Tier

DEVICES = ("cpu", "cuda")
SERVERS = {"vllm": VLLM, "sglang": SGLANG}
DESCRIPTION = (
    "Every trial of engine settings on real prompts of the recipes; failures are results. Engines of synthesis load the "
    "winner where its gain over the engine's defaults is proven."
)
TIERS = (Tier(requests=24, keep=4), Tier(requests=64, repeats=3))


def tuning_assets(
    model: str,
    *,
    devices: Mapping[str, Sequence[EngineTuning]],
    prompts: Sequence[tuple[str, str, Mapping[str, Recipe]]],
    tiers: Sequence[Tier] = TIERS,
    server: str = "vllm",
) -> list[dg.AssetsDefinition]:
    """Return tuning/<model>/<device> for each device with its candidates; with `server="sglang"`, tuning/<model>/sglang_<device>.

    `prompts` are the (synthesized dataset, curated dataset of its seeds, recipes) whose requests are asked.
    """
    if unknown := sorted(set(devices) - set(DEVICES)):
        raise ValueError(f"engines are tuned for {' and '.join(DEVICES)}, got {', '.join(unknown)}")
    if server not in SERVERS:
        raise ValueError(f"a tuned server is one of {', '.join(SERVERS)}, got {server!r}")
    prefix = "" if server == "vllm" else f"{server}_"
    asked = [
        {"dataset": dataset, "seeds": seeds, "variant": name, "recipe": recipe.to_json()}
        for dataset, seeds, recipes in prompts
        for name, recipe in recipes.items()
    ]
    read = [
        key
        for dataset, seeds, _ in prompts
        for key in (("synthesized", dataset, "requests"), ("curated", seeds, "documents"))
    ]
    return [
        lake_asset(
            ("tuning", model, f"{prefix}{device}"),
            task=f"tune_{prefix}{device}",
            description=DESCRIPTION,
            deps=list(dict.fromkeys(read)),
            partitions_def=None,
            parameters={
                **_parameters(asked, candidates, tiers),
                **({} if server == "vllm" else {"server": SERVERS[server]}),
            },
        )
        for device, candidates in devices.items()
    ]


def _parameters(
    asked: Sequence[Mapping[str, Any]], candidates: Sequence[EngineTuning], tiers: Sequence[Tier]
) -> dict[str, Any]:
    return {
        "prompts": list(asked),
        "candidates": [candidate.to_json() for candidate in candidates],
        "tiers": [tier.to_json() for tier in tiers],
    }
