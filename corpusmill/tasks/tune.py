"""tuning/<model>/<device>: every trial of engine settings on real prompts, and the settings that won.

The task of one device is a module of its own beside this one (`tune_cpu`, `tune_cuda`), and for SGLang's servers on it
another (`tune_sglang_cpu`, `tune_sglang_cuda`): their winner is a command line for who starts servers. Parameters:

    prompts      what to ask: [{"dataset": "web_rephrased", "seeds": "web", "variant": "distilled", "recipe": {...}}, ...];
                 of each a sample of its requests, the newest snapshot first
    candidates   settings to try, fields of EngineTuning; the engine's defaults are always tried
    tiers        fields of Tier, the last one decides
    run_seconds  what one trial gets to answer (900); to start it gets `startup_seconds` of [inference]
    server       how an engine is started, `module:function` (vLLM's; see `corpusmill.engines.trials`)

A trial that was measured is not run again: by the next attempt after a kill, or when a candidate is added. The winner is
written for production's engines only where the whole interval of its gain over the engine's defaults lies above 1.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pyarrow as pa

from corpusmill.counts import Counts
from corpusmill.document import TUNING
from corpusmill.lake.files import WrittenFile
from corpusmill.lake.tables import Attempt
from corpusmill.tasks.task import Gate, Job, Outcome, partition_writer
from corpusmill.tasks.tuned import tuning_dataset
from corpusmill.tasks.tuning_bench import BASELINE, Bench, is_sglang, place, prompts
from corpusmill.tune.ranking import Verdict, verdict
from corpusmill.tune.search import search
from corpusmill.tune.trial import Trial


def table(dataset: str, device: str) -> str:
    return f"tuning/{dataset}/{device}"


def schema(parameters: Mapping[str, Any]) -> pa.Schema:
    return TUNING


def inputs(job: Job, device: str) -> dict[str, Any]:
    _check(job, device)
    return {"place": place(job), **{asked.name: asked.version(job) for asked in prompts(job)}}


def run(job: Job, attempt: Attempt, device: str) -> Outcome:
    bench = Bench(job, table(job.dataset, device))
    trials = search(list(bench.candidates), baseline=BASELINE.label, tiers=bench.tiers, measure=bench.measure)
    found = verdict(trials, baseline=BASELINE.label)
    with partition_writer(job, attempt, name="trials") as writer:
        writer.write(pa.Table.from_pylist([bench.row(trial) for trial in trials], schema=TUNING))
    return _outcome(job, bench, trials, found, files=writer.files)


def _check(job: Job, device: str) -> None:
    """Raise ValueError where the set engine is not the one that the table is about."""
    chosen = job.settings.inference
    if chosen.engine != "ray_vllm":
        raise ValueError(f"there is nothing to tune on the engine {chosen.engine!r}; set inference.engine to ray_vllm")
    prefix = "sglang_" if is_sglang(job) else ""
    asked, here = f"{job.dataset}/{device}", f"{tuning_dataset(job.settings)}/{prefix}{chosen.device}"
    if asked != here:
        raise ValueError(
            f"tuning/{asked} measures another engine than the settings choose, which is {here}: set inference.model and "
            f"inference.device, or materialize tuning/{here}"
        )


def _outcome(
    job: Job, bench: Bench, trials: Sequence[Trial], found: Verdict, *, files: Sequence[WrittenFile]
) -> Outcome:
    rows = grid_rows(trials)
    failed = {name: sum(trial.failure == name for trial in trials) for name in _failures(trials)}
    winner = bench.candidates[found.winner].to_json() if found.winner and found.is_proven else None
    command = _command(bench, found) if is_sglang(job) else {}
    measured = {name: bench.place[name] for name in ("device", "engine", "model_revision")}
    return Outcome(
        files=files,
        counts=Counts(rows_in=len(trials), kept=len(trials) - sum(failed.values()), failed=failed),
        metrics=_metrics(bench, trials, found) | command,
        tables={"speeds": speed_rows(trials), "grid": rows[:10]},
        listings={"whole_grid": rows},
        gates={"winner": _gate(found)},
        state={"winner": winner, **measured, **command},
    )


def _command(bench: Bench, found: Verdict) -> dict[str, str]:
    """Return how servers should be started: as the proven winner was, else by the defaults; nothing where none answered."""
    if found.winner is None:
        return {}
    return {"server_command": bench.command(found.winner if found.is_proven else BASELINE.label)}


def _failures(trials: Sequence[Trial]) -> list[str]:
    return sorted({trial.failure for trial in trials if trial.failure})


def _metrics(bench: Bench, trials: Sequence[Trial], found: Verdict) -> dict[str, float | int | str]:
    gain = found.gain
    return {
        "candidates": len(bench.candidates),
        "trials_reused": bench.num_reused,
        "device_seconds": round(sum(trial.seconds + trial.start_seconds for trial in trials), 1),
        "device": bench.place["device"],
        "fastest": found.winner or "none",
        "engine_settings": _told_settings(found),
        **({"kendall_tau": round(found.tau, 3)} if found.tau is not None else {}),
        **({f"gain{end}": round(getattr(gain, name), 4) for end, name in _GAIN.items()} if gain else {}),
    }


_GAIN = {"": "ratio", "_low": "low", "_high": "high"}


def _told_settings(found: Verdict) -> str:
    if found.winner is None:
        return "none: nothing answered"
    if not found.is_proven:
        return "not changed: nothing is proven faster than the engine's defaults"
    return found.winner


def _gate(found: Verdict) -> Gate:
    return Gate(
        passed=found.winner is not None,
        message=f"{found.winner} is the fastest" if found.winner else "no candidate of the last tier answered",
    )


def grid_rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return a row for every candidate and tier, in the order in which they ran."""
    places = dict.fromkeys((trial.candidate, trial.tier) for trial in trials)
    return [_grid_row([trial for trial in trials if (trial.candidate, trial.tier) == where]) for where in places]


def _grid_row(trials: Sequence[Trial]) -> dict[str, Any]:
    first = trials[0]
    failed = next((trial for trial in trials if trial.failure), None)
    speeds = sorted(trial.tokens_per_second for trial in trials)
    return {
        "settings": first.candidate,
        "tier": first.tier + 1,
        "requests": first.requests,
        "repeats": len(trials),
        "tokens_per_second": "" if failed else f"{median(speeds):.1f} ({speeds[0]:.1f} to {speeds[-1]:.1f})",
        "start_seconds": round(median(trial.start_seconds for trial in trials), 1),
        "agreement": "" if first.agreement is None else f"{first.agreement:.0%}",
        "failure": f"{failed.failure}: {failed.message}" if failed else "",
    }


def speed_rows(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the speeds of every candidate in the last tier that it reached, the last tiers and the fastest first."""
    reached = {trial.candidate: trial.tier for trial in trials}
    rows = []
    for name, tier in reached.items():
        speeds = sorted(trial.tokens_per_second for trial in trials if (trial.candidate, trial.tier) == (name, tier))
        row = {"settings": name, "tier": tier + 1, "low": speeds[0], "median": median(speeds), "high": speeds[-1]}
        rows.append({key: round(value, 1) if isinstance(value, float) else value for key, value in row.items()})
    return sorted(rows, key=lambda row: (-row["tier"], -row["median"]))
