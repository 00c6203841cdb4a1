"""The state of a mixture's inputs: plans a mixture again when all its components are there and one of them is newer."""

import dagster as dg
from dagster import DagsterInstance

from assets.partitions import MIXTURES


def mix_inputs(job_name: str, inputs: dict[str, list[dg.AssetKey]], plan: dg.AssetKey) -> dg.SensorDefinition:
    """Return the sensor over `inputs`: the tokenized assets of each mixture's components. `plan` is the mixtures' plan."""

    @dg.sensor(
        name="mix_inputs",
        job_name=job_name,
        minimum_interval_seconds=60,
        description="Plans a mixture when every component has sequences and one of them is newer than its plan.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        known = set(context.instance.get_dynamic_partitions("mixtures"))
        states = {name: input_state(context.instance, name, keys, plan) for name, keys in sorted(inputs.items())}
        due = [name for name, (state, _) in states.items() if state == "newer"]
        return dg.SensorResult(
            dynamic_partitions_requests=[MIXTURES.build_add_request(sorted(set(due) - known))]
            if set(due) - known
            else [],
            run_requests=[
                dg.RunRequest(run_key=f"{name}:{states[name][1]}", partition_key=name, job_name=job_name)
                for name in due
            ],
            skip_reason=None if due else "; ".join(f"{name}: {state}" for name, (state, _) in states.items()),
        )

    return sensor


def input_state(
    instance: DagsterInstance, mixture: str, inputs: list[dg.AssetKey], plan: dg.AssetKey
) -> tuple[str, int]:
    """Return (`waits for ...` | `newer` | `planned`, storage id of the newest input) of one mixture."""
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION
    newest = 0
    for key in inputs:
        made = instance.get_latest_storage_id_by_partition(key, kind)
        if not made:
            return f"waits for {key.to_user_string()}", 0
        newest = max(newest, *made.values())
    planned = instance.get_latest_storage_id_by_partition(plan, kind).get(mixture, 0)
    return ("newer", newest) if newest > planned else ("planned", newest)
