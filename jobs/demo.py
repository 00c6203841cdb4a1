"""The demo: the sample's pages, code and STEM text on the whole way to a mixture that streams, in one process.

Every step is a real run in the Dagster instance that `corpusmill dev` shows. Engines start once and are held to the end. A
second demo finds everything current, launches no run and starts no engine.
"""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import dagster as dg

from assets.partitions import MIXTURES as MIXTURE_PARTITIONS
from assets.partitions import snapshots_name
from corpusmill.settings import Settings
from jobs.development import prepare_home
from jobs.interruption import keep_from_log_watchers
from jobs.run_step import PROGRESS, Say, line_logger, run_step
from jobs.sources import told_unread
from jobs.summary import print_summary
from jobs.warm_engines import WarmEngines
from jobs.way import Step, way_steps

WALKED: Mapping[str, Sequence[str]] = {
    "web_rephrased": ("question_answer", "distilled"),
    "code_rephrased": ("documented",),
    "stem_translated": ("es", "fr"),
}
"""The variants of synthesized datasets that the demo makes; of the others its small model gets next to nothing accepted."""


def run(settings: Settings, *, small: bool = False, say: Say = print) -> None:
    """Run the whole way on the sample and print what came of it; raises ValueError or StepFailedError with the reason."""
    from corpusmill.lake.tables import Lake
    from corpusmill.preflight import check_machine
    from corpusmill.sample import build_sample

    started = time.monotonic()
    check_machine(Path(settings.state_folder))
    Lake(settings.lake).check()
    if settings.has_sample_sources:
        build_sample(sample_folder(settings), small=small, on_progress=say)
    downloaded = time.monotonic()
    num_runs = run_way(settings, say=say)
    print_summary(settings, say=say)
    say("")
    if num_runs == 0:
        say("Everything was current: no run was launched and no engine started.")
    say(f"Sample {downloaded - started:.0f} s, way {time.monotonic() - downloaded:.0f} s.")
    say("Open the UI with: make dev")


def sample_folder(settings: Settings) -> Path:
    return Path(settings.state_folder) / "sample"


def run_way(settings: Settings, *, say: Say = print) -> int:
    """Run every step that is not current, in order, and return how many runs that took."""
    import definitions as front_door

    home = prepare_home(settings)
    os.environ["DAGSTER_HOME"] = str(home)
    definitions = dg.Definitions.merge(front_door.build(settings), dg.Definitions(loggers={PROGRESS: line_logger(say)}))
    with dg.DagsterInstance.get() as instance, ExitStack() as stack:
        keep_from_log_watchers(instance)
        everything = front_door.way_assets()
        if line := told_unread(settings, {asset.key.path[1] for asset in everything}):
            say(line)
        register_partitions(settings, instance, front_door.source_datasets(everything))
        say("Left out, for larger models: every other synthesis (corpusmill materialize makes it).")
        synthesized = {asset.key.path[1] for asset in everything if asset.key.path[0] == "synthesized"}
        steps = way_steps(everything, settings=settings, instance=instance)
        walked = [step for step in steps if is_walked(step, synthesized)]
        engines = stack.enter_context(WarmEngines(settings, say=say))
        return run_steps(walked, definitions=definitions, instance=instance, engines=engines, say=say)


def is_walked(step: Step, synthesized: Collection[str]) -> bool:
    """Return whether the demo makes a step: all of them, but of the synthesized datasets only what `WALKED` names."""
    datasets = {work.key.path[1] for work in step.work} & set(synthesized)
    wanted = {variant for dataset in datasets for variant in WALKED.get(dataset, ())}
    return not datasets or not wanted.isdisjoint(step.partition.split("|"))


def register_partitions(settings: Settings, instance: dg.DagsterInstance, datasets: Sequence[str]) -> None:
    """Add a partition for every snapshot of every source that is set, and for every mixture."""
    from assets.mixed.mixtures import MIXTURES
    from corpusmill.read.folders import snapshot_names

    for dataset in datasets:
        if dataset in settings.sources:
            instance.add_dynamic_partitions(snapshots_name(dataset), snapshot_names(settings.source_store(dataset)))
    instance.add_dynamic_partitions(str(MIXTURE_PARTITIONS.name), list(MIXTURES))


def run_steps(
    steps: Sequence[Step], *, definitions: dg.Definitions, instance: dg.DagsterInstance, engines: WarmEngines, say: Say
) -> int:
    """Run the steps that are not current, one after the other; return how many ran."""
    num_runs = 0
    for number, step in enumerate(steps, start=1):
        label = f"[{number:2d}/{len(steps)}] {step.job} {step.partition}"
        if step.is_current(instance):
            say(f"{label}: current")
            continue
        say(f"{label} ...")
        engines.hold_for(step)
        started = time.monotonic()
        run_step(definitions, step, instance=instance)
        num_runs += 1
        say(f"{label}: done in {time.monotonic() - started:.1f} s")
    return num_runs
