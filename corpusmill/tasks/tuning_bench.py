"""Measures the candidates of a tuning task, and remembers in the lake what was measured: one file a trial."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from corpusmill.engines.device import vllm_version
from corpusmill.engines.inference_service import InferenceSettings
from corpusmill.engines.sglang_server import sglang_command, sglang_version
from corpusmill.engines.trials import SGLANG, VLLM, Budget, run_trial
from corpusmill.engines.tuning import EngineTuning
from corpusmill.fingerprint import fingerprint
from corpusmill.lake.names import staging_directory
from corpusmill.tasks.inference import inference_service, local_model
from corpusmill.tasks.recipe_prompts import RecipePrompts, sampled_groups
from corpusmill.tasks.task import Job
from corpusmill.tasks.tuned import measured_device
from corpusmill.tune.search import Tier
from corpusmill.tune.trial import WRONG_ANSWERS, Trial

BASELINE = EngineTuning()
"""The engine's own defaults, but for a model on a CPU, which vLLM does not compile then."""
RUN_SECONDS = 900.0
_MEASURED = (
    "answered",
    "prompt_tokens",
    "output_tokens",
    "seconds",
    "start_seconds",
    "failure",
    "message",
    "beginnings",
)


class Bench:
    """The candidates of one job, and what is known of them."""

    def __init__(self, job: Job, table: str) -> None:
        self.num_reused = 0
        self.candidates: dict[str, EngineTuning] = {
            tuning.label: tuning
            for tuning in (BASELINE, *(EngineTuning.from_json(value) for value in job.parameters["candidates"]))
        }
        self.tiers = [Tier.from_json(tier) for tier in job.parameters["tiers"]]
        self.place = place(job)
        self._job = job
        self._table = table
        self._services = {label: _service(job, tuning) for label, tuning in self.candidates.items()}
        self._groups: dict[int, list[dict[str, Any]]] = {}
        self._names: dict[tuple[str, int, int], str] = {}
        self._known = {} if job.again else _committed_trials(job, table)

    def measure(self, candidate: str, tier: int, repeat: int) -> Trial:
        """Return the trial, from the lake where it was measured before."""
        groups = self._sample(self.tiers[tier].requests)
        name = self._name(candidate, groups, repeat)
        self._names[candidate, tier, repeat] = name
        measured = self._known.get(name) or self._kept(name)
        self.num_reused += measured is not None
        if measured is None:
            measured = self._run(candidate, groups)
            self._job.lake.store.write(self._key(name), json.dumps(measured).encode())
        num_requests = sum(len(group["requests"]) for group in groups)
        trial = Trial(candidate=candidate, tier=tier, repeat=repeat, requests=num_requests, **measured)
        speed = {"tokens_per_second": round(trial.tokens_per_second, 1)}
        self._job.report(
            f"tier {tier + 1}, repeat {repeat + 1}: {candidate}",
            {"failure": f"{trial.failure}: {trial.message}"} if trial.failure else speed,
        )
        return trial

    def row(self, trial: Trial) -> dict[str, Any]:
        """Return a trial as a row of TUNING."""
        return {
            **trial.to_json(),
            "trial": self._names[trial.candidate, trial.tier, trial.repeat],
            "settings": json.dumps(self.candidates[trial.candidate].to_json(), sort_keys=True),
            "tokens_per_second": trial.tokens_per_second,
            **{name: self.place[name] for name in ("device", "engine", "model", "model_revision")},
        }

    def command(self, candidate: str) -> str:
        """Return the command line of a server with these settings."""
        return shlex.join(sglang_command(self._services[candidate], self._job.settings.inference.sglang_python))

    def _sample(self, num_requests: int) -> list[dict[str, Any]]:
        if num_requests not in self._groups:
            self._groups[num_requests] = sampled_groups(self._job, prompts(self._job), num_requests=num_requests)
        return self._groups[num_requests]

    def _name(self, candidate: str, groups: Sequence[Mapping[str, Any]], repeat: int) -> str:
        settings = self.candidates[candidate].to_json()
        return fingerprint({"place": self.place, "settings": settings, "asked": list(groups), "repeat": repeat})

    def _run(self, candidate: str, groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        parameters, inference = self._job.parameters, self._job.settings.inference
        budget = Budget(
            start_seconds=inference.startup_seconds, run_seconds=float(parameters.get("run_seconds", RUN_SECONDS))
        )
        service = self._services[candidate].to_json()
        own = {"sglang_python": inference.sglang_python} if is_sglang(self._job) else {}
        return run_trial(parameters.get("server", VLLM), service | own, groups, budget=budget)

    def _kept(self, name: str) -> dict[str, Any] | None:
        store = self._job.lake.store
        if self._job.again or not store.exists(self._key(name)):
            return None
        return dict(json.loads(store.read(self._key(name))))

    def _key(self, name: str) -> str:
        return f"{staging_directory(self._table, self._job.partition)}/trials/{name}.json"


def prompts(job: Job) -> list[RecipePrompts]:
    return [RecipePrompts.from_json(value) for value in job.parameters["prompts"]]


def is_sglang(job: Job) -> bool:
    return bool(job.parameters.get("server") == SGLANG)


def place(job: Job) -> dict[str, Any]:
    """Return all but the settings and the prompts that decides how fast an engine is."""
    model = local_model(job.settings)
    chosen = job.settings.inference
    return {
        "device": measured_device(job.settings, model),
        "engine": _engine(job),
        "model": model.name,
        "model_revision": model.revision,
        "server": job.parameters.get("server", VLLM),
        "max_model_len": chosen.max_model_len,
        "kv_cache_gib": chosen.kv_cache_gib,
        "threads": chosen.threads_per_engine,
    }


def _engine(job: Job) -> str:
    return (
        f"sglang {sglang_version(job.settings.inference.sglang_python)}" if is_sglang(job) else f"vllm {vllm_version()}"
    )


def _service(job: Job, tuning: EngineTuning) -> InferenceSettings:
    try:
        return inference_service(job.settings, model=local_model(job.settings), tuning=tuning)
    except ValueError as error:
        raise ValueError(f"the candidate {tuning.label} cannot be tried: {error}") from error


def _committed_trials(job: Job, table: str) -> dict[str, dict[str, Any]]:
    """Return what the committed table knows, by the names of its trials; wrong answers are judged anew."""
    if not job.lake.partition(table, job.partition):
        return {}
    rows = job.lake.read(table, partitions=[job.partition], columns=["trial", *_MEASURED]).to_pylist()
    return {row.pop("trial"): _as_measured(row) for row in rows}


def _as_measured(row: dict[str, Any]) -> dict[str, Any]:
    return row | ({"failure": None, "message": ""} if row["failure"] == WRONG_ANSWERS else {})
