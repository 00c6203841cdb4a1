"""Which settings an engine gets: the winner of tuning/<model>/<device>, what the settings file says, or the untuned ones."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpusmill.engines.device import computes_bfloat16, device_name
from corpusmill.engines.inference_service import InferenceSettings as InferenceService
from corpusmill.engines.model import Model
from corpusmill.engines.tuning import UNTUNED, EngineTuning
from corpusmill.lake.partitions import PartitionState
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings
from corpusmill.tasks.task import UNPARTITIONED
from corpusmill.tasks.tokenizer import PACKAGED

_SPECULATION = ("speculative", "speculative_tokens", "ngram_max")


@dataclass(frozen=True, kw_only=True)
class ChosenTuning:
    """Settings of an engine, and who chose them."""

    tuning: EngineTuning
    source: str
    """A tuning table, `settings file`, both joined by `+`, or `untuned`."""

    @property
    def label(self) -> str:
        return f"{self.source}: {self.tuning.label}"


def tuning_dataset(settings: Settings) -> str:
    """Return the name of the set model in tuning/<model>/<device>: the packaged one's, or its folder's in plain letters."""
    name = settings.inference.model
    if name == PACKAGED:
        return PACKAGED
    plain = re.sub(r"[^a-z0-9]+", "_", Path(name).resolve().name.lower()).strip("_")
    return plain if plain[:1].isalpha() else f"model_{plain}"


def chosen_tuning(settings: Settings, model: Model) -> ChosenTuning:
    """Return what the engines of `settings` get. A setting of the file stands, whatever a tuning table says."""
    own = settings.inference.tuning
    table, found = _winner(settings, model) if settings.inference.tuned else ("", None)
    sources = [*([table] if found else []), *(["settings file"] if own else [])]
    return ChosenTuning(
        tuning=_merge(found or untuned(settings.inference.device), own), source=" + ".join(sources) or "untuned"
    )


def untuned(device: str) -> EngineTuning:
    """Return what an engine gets where nobody chose: float32, in twice the memory, where bfloat16 is slow."""
    return UNTUNED if computes_bfloat16(device) else replace(UNTUNED, dtype="float32")


def measured_device(settings: Settings, model: Model) -> str:
    """Return the name of what the engines of `settings` run on."""
    chosen = settings.inference
    service = InferenceService(
        model=model, num_engines=chosen.num_engines, threads_per_engine=chosen.threads_per_engine
    )
    return device_name(chosen.device, threads=service.threads)


def _winner(settings: Settings, model: Model) -> tuple[str, EngineTuning | None]:
    table = f"tuning/{tuning_dataset(settings)}/{settings.inference.device}"
    committed = _committed(settings, table)
    if committed is None or not committed.state.get("winner") or committed.state.get("gate_failures"):
        return table, None
    measured = (committed.state["model_revision"], committed.state["device"])
    if measured != (model.revision, measured_device(settings, model)):
        return table, None
    return table, EngineTuning.from_json(committed.state["winner"])


def _committed(settings: Settings, table: str) -> PartitionState | None:
    lake = Lake(settings.lake)
    try:
        return lake.partition(table, UNPARTITIONED) if lake.exists else None
    finally:
        lake.close()


def _merge(base: EngineTuning, own: Mapping[str, Any]) -> EngineTuning:
    """Return `base` with the file's settings in place of its own; another way to speculate replaces all of it."""
    kept = {
        name: value for name, value in base.to_json().items() if "speculative" not in own or name not in _SPECULATION
    }
    return EngineTuning.from_json({**kept, **own})
