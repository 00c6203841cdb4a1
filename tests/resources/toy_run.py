"""A Dagster run in a process of its own, with the multiprocess executor; tests interrupt and kill it."""

import json
import os
import sys
from pathlib import Path

import dagster as dg

from corpusmill.settings import settings_from_table
from resources.launchers import SubprocessLauncher

TASK = "tests.resources.toy_task"


def toy_job() -> dg.JobDefinition:
    folder = Path(os.environ["TOY_FOLDER"])
    return job_of(SubprocessLauncher(grace_seconds=1), folder, json.loads(os.environ["TOY_PARAMETERS"]))


def job_of(launcher, folder, parameters, *, max_retries=0) -> dg.JobDefinition:
    arguments = {
        "settings": settings_from_table({}, base=folder).to_json(),
        "dataset": "web",
        "partition": "2024",
        "parameters": parameters,
    }

    @dg.asset(
        required_resource_keys={"launcher"},
        retry_policy=dg.RetryPolicy(max_retries=max_retries) if max_retries else None,
    )
    def words(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        result = context.resources.launcher.launch(context, TASK, arguments)
        return dg.MaterializeResult(metadata={"dropped": result["counts"]["dropped"]["too_short"]})

    definitions = dg.Definitions(
        assets=[words], jobs=[dg.define_asset_job("toy", [words])], resources={"launcher": launcher}
    )
    return definitions.resolve_job_def("toy")


if __name__ == "__main__":
    with dg.DagsterInstance.local_temp(sys.argv[1]) as instance:
        dg.execute_job(dg.reconstructable(toy_job), instance=instance)
