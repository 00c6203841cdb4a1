"""The front door: the only place where rooms are joined. `build(settings)` gives Dagster all of Corpusmill.

Every module of a stage folder below `assets/` that has a list `ASSETS` is part of it: a new dataset is a new module.
"""

import importlib
import importlib.util
import pkgutil
import traceback
from collections.abc import Sequence
from types import ModuleType

import dagster as dg

import assets
from assets.mixed.mixtures import MIXTURES, mixture_inputs
from corpusmill.meant import did_you_mean
from corpusmill.settings import Settings, load_settings
from jobs.asset_graph import BESIDE_THE_WAY
from jobs.due import JobAssets, job_assets
from jobs.retention import retention_job, retention_schedule
from jobs.schedules import nightly_schedules
from jobs.stages import job_name, stage_jobs
from jobs.step_processes import step_processes
from resources.launchers import launcher
from resources.mill import MillResource
from sensors.failed_partitions import failed_partitions
from sensors.idle_engines import idle_engines
from sensors.mix_inputs import mix_inputs
from sensors.new_snapshots import new_snapshots

STAGES = ("sources", "curated", "synthesized", "tokenized", "mixed", "trained", "tuning")


def build(settings: Settings) -> dg.Definitions:
    """Return everything: assets, jobs, schedules, sensors and the resources that `settings` chooses."""
    everything = all_assets()
    jobs = stage_jobs(everything)
    members = [job_members(everything, job.name) for job in jobs if job.name.split("_")[0] not in BESIDE_THE_WAY]
    sensors = [
        *(new_snapshots(dataset) for dataset in source_datasets(everything)),
        failed_partitions(),
        idle_engines(),
        mix_inputs("mixed_mixtures", {name: mixture_inputs(name) for name in MIXTURES}, PLAN),
    ]
    return dg.Definitions(
        assets=everything,
        jobs=[*jobs, retention_job],
        schedules=[*nightly_schedules(members), retention_schedule],
        sensors=sensors,
        resources={"mill": MillResource.of(settings), "launcher": launcher(settings.launcher)},
        executor=step_processes([__name__, *(module.__name__ for stage in STAGES for module in stage_modules(stage))]),
    )


PLAN = dg.AssetKey(["mixed", "mixtures", "plan"])


def all_assets() -> list[dg.AssetsDefinition]:
    """Return the assets of every stage, in the order of the stages and of their modules' names."""
    everything = [asset for stage in STAGES for module in stage_modules(stage) for asset in module.ASSETS]
    check_reads(everything)
    return everything


def check_reads(everything: Sequence[dg.AssetsDefinition]) -> None:
    """Raise ValueError for an asset that reads what none of them is."""
    made = [asset.key.to_user_string() for asset in everything]
    for asset in everything:
        for read in sorted({key.to_user_string() for key in asset.dependency_keys} - set(made)):
            raise ValueError(
                f"{asset.key.to_user_string()} reads {read}, which no module makes{did_you_mean(read, made)}"
            )


def way_assets() -> list[dg.AssetsDefinition]:
    """Return the assets that the whole way makes."""
    return [asset for asset in all_assets() if asset.key.path[0] not in BESIDE_THE_WAY]


def stage_modules(stage: str) -> list[ModuleType]:
    """Return the dataset modules of a stage folder."""
    package = importlib.import_module(f"{assets.__name__}.{stage}")
    return [dataset_module(f"{package.__name__}.{item.name}") for item in pkgutil.iter_modules(package.__path__)]


def dataset_module(name: str) -> ModuleType:
    """Import a dataset's module. People write these: what one gets wrong is a ValueError that says in which line."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        spec = importlib.util.find_spec(name)
        file = str(spec.origin) if spec else name
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        where = f"{file}, line {frames[-1].lineno}" if frames else file
        told = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{where}: {told}") from error


def job_members(everything: Sequence[dg.AssetsDefinition], name: str) -> JobAssets:
    return job_assets(everything, name, [asset.key for asset in everything if job_name(asset.key) == name])


def source_datasets(everything: Sequence[dg.AssetsDefinition]) -> list[str]:
    """Return the datasets that have a records asset."""
    return [asset.key.path[1] for asset in everything if asset.key.path[0] == "sources"]


@dg.definitions
def defs() -> dg.Definitions:
    return build(load_settings())
