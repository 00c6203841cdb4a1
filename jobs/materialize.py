"""Making assets in this process: one run, recorded in the instance that the UI shows, its progress as lines."""

import importlib
import os
from collections.abc import Collection, Mapping, Sequence

import dagster as dg

from assets.asset import AGAIN
from assets.mixed.mixtures import MIXTURES
from assets.partitions import MIXTURES as MIXTURE_PARTITIONS
from assets.partitions import dynamic_set, snapshots_name
from corpusmill.read.folders import snapshot_names
from corpusmill.settings import Settings
from jobs.asset_graph import near, select_assets
from jobs.development import prepare_home
from jobs.interruption import keep_from_log_watchers
from jobs.run_step import PROGRESS, Say, check_success, line_logger
from jobs.sources import told_unread


def materialize(
    settings: Settings, *, assets: Sequence[str], partition: str | None, again: bool, definitions: str, say: Say
) -> None:
    """Make `assets` for one partition; raises StepFailedError with the reason when the run fails.

    What is current is not made, unless `again` asks for it.
    """
    os.environ["DAGSTER_HOME"] = str(prepare_home(settings))
    loaded = dg.Definitions.merge(load_definitions(definitions), dg.Definitions(loggers={PROGRESS: line_logger(say)}))
    job = loaded.resolve_implicit_global_asset_job_def()
    graph = loaded.resolve_asset_graph()
    known = {key.to_user_string(): key for key in sorted(graph.materializable_asset_keys)}
    keys = [known[name] for name in select_assets(known, assets)]
    if line := told_unread(settings, {key.path[1] for key in known.values()}):
        say(line)
    with dg.DagsterInstance.get() as instance:
        keep_from_log_watchers(instance)
        sets = {dynamic_set(graph.get(key).partitions_def) for key in keys}
        _add_partition(settings, instance, partition, sets)
        for key in keys:
            _check_partition(key, partition, graph.get(key).partitions_def, instance)
        _check_one_set({key: graph.get(key).partitions_def for key in keys}, partition)
        say(f"{', '.join(assets)} {partition or ''} ...")
        result = job.execute_in_process(
            run_config={"loggers": {PROGRESS: {}}},
            asset_selection=keys,
            partition_key=partition,
            instance=instance,
            tags={AGAIN: "true"} if again else {},
            raise_on_error=False,
        )
    check_success(result, what=f"{', '.join(assets)} failed on {partition or 'its one partition'}")
    say(f"done: run {result.run_id}")


def _add_partition(
    settings: Settings, instance: dg.DagsterInstance, partition: str | None, sets: Collection[str | None]
) -> None:
    """Make a partition of the mixture that is named, or of the snapshot, for the sources of `sets` that have such a folder."""
    if partition in MIXTURES:
        instance.add_dynamic_partitions(str(MIXTURE_PARTITIONS.name), [str(partition)])
    for dataset in settings.sources:
        name = snapshots_name(dataset)
        # A partition may be a variant and a snapshot, as in `encyclopedic|2024-10`.
        named = (partition or "").split("|")
        if partition and name in sets and not set(named) & set(instance.get_dynamic_partitions(name)):
            found = sorted(set(named) & set(_snapshots(settings, dataset)))
            instance.add_dynamic_partitions(name, found)


def _snapshots(settings: Settings, dataset: str) -> list[str]:
    """Return the snapshots that lie in a source; raises ValueError where the source that a person set cannot be listed."""
    at = f"the source of {dataset}, {settings.source(dataset).uri} (uri in [sources.{dataset}])"
    try:
        return snapshot_names(settings.source_store(dataset))
    except FileNotFoundError:
        if settings.has_sample_sources:
            return []
        raise ValueError(f"{at}, is not there: it must be a folder with one folder a snapshot below it") from None
    except OSError as error:
        raise ValueError(f"{at}, cannot be listed: {error}") from error


def load_definitions(module: str) -> dg.Definitions:
    """Return the Definitions that a module has under the name `defs`, as value or as function."""
    try:
        found = getattr(importlib.import_module(module), "defs", None)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ValueError(
            f"there is no module {module!r} to load definitions from; run this in the project's folder"
        ) from error
    value = found() if callable(found) else found
    if not isinstance(value, dg.Definitions):
        raise ValueError(f"the module {module!r} must have Definitions named defs, got {type(value).__name__}")
    return value


def _check_one_set(definitions: Mapping[dg.AssetKey, dg.PartitionsDefinition | None], partition: str | None) -> None:
    sets = {definition for definition in definitions.values() if definition is not None}
    names = ", ".join(key.to_user_string() for key in definitions)
    if partition is not None and not sets:
        raise ValueError(f"{names} has no partitions: leave --partition out")
    if len(sets) > 1:
        raise ValueError(f"{names} are partitioned in different ways: make those of each way by a command of their own")


def _check_partition(
    key: dg.AssetKey, partition: str | None, definition: dg.PartitionsDefinition | None, instance: dg.DagsterInstance
) -> None:
    if definition is None:
        return
    known = definition.get_partition_keys(dynamic_partitions_store=instance)
    if partition is None:
        raise ValueError(f"{key.to_user_string()} is made one partition at a time: add --partition ({near('', known)})")
    if partition not in known:
        raise ValueError(f"{key.to_user_string()} has no partition {partition!r}; {near(partition, known)}")
