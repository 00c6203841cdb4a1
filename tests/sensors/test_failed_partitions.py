"""Failed partitions run again under a cap, whoever ran them and whatever their runs spanned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun, DagsterRunStatus

from corpusmill.settings import settings_from_table
from definitions import build

RECORDS = AssetKey(["sources", "web", "records"])
EXTRACTED = AssetKey(["curated", "web", "extracted"])
RESOLUTION = AssetKey(["curated", "web", "resolution"])
FAILURE, SUCCESS = DagsterRunStatus.FAILURE, DagsterRunStatus.SUCCESS


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as made:
        made.add_dynamic_partitions("web_snapshots", ["2024"])
        made.add_dynamic_partitions("stem_snapshots", ["2024"])
        yield made


def add_run(instance: DagsterInstance, job: str, status: DagsterRunStatus, *assets: AssetKey, **tags: str) -> str:
    chosen = frozenset(assets) or None
    named = {"dagster/partition": "2024", **{name.replace("__", "/"): value for name, value in tags.items()}}
    named = {name: value for name, value in named.items() if value}
    return instance.add_run(DagsterRun(job_name=job, status=status, asset_selection=chosen, tags=named)).run_id


def look(instance: DagsterInstance, tmp_path: Path) -> Any:
    definitions = build(settings_from_table({}, base=tmp_path))
    context = dg.build_sensor_context(instance_ref=instance.get_ref(), definitions=definitions)
    return definitions.resolve_sensor_def("failed_partitions").evaluate_tick(context)


def asked(result: Any) -> list[tuple[str, set[AssetKey]]]:
    return [(request.tags["corpusmill/retry_of"], set(request.asset_selection)) for request in result.run_requests]


def test_a_failed_backfill_run_over_two_jobs_runs_again_with_the_same_assets(instance, tmp_path):
    run = add_run(instance, "__ASSET_JOB", FAILURE, RECORDS, EXTRACTED)
    result = look(instance, tmp_path)
    assert asked(result) == [(run, {RECORDS, EXTRACTED})]
    assert result.run_requests[0].partition_key == "2024"


def test_a_failed_job_runs_again_with_all_its_assets(instance, tmp_path):
    run = add_run(instance, "sources_web", FAILURE)
    assert asked(look(instance, tmp_path)) == [(run, {RECORDS})]


def test_a_variant_of_a_snapshot_runs_again(instance, tmp_path):
    run = add_run(instance, "synthesized_stem_translated", FAILURE, dagster__partition="fr|2024")
    (one,) = look(instance, tmp_path).run_requests
    assert (one.tags["corpusmill/retry_of"], one.partition_key) == (run, "fr|2024")


def test_the_third_failure_since_the_last_success_is_left_to_people(instance, tmp_path):
    for status in (FAILURE, SUCCESS, FAILURE, FAILURE):
        add_run(instance, "sources_web", status)
    assert len(asked(look(instance, tmp_path))) == 1
    add_run(instance, "__ASSET_JOB", FAILURE, RECORDS, EXTRACTED)
    assert asked(look(instance, tmp_path)) == []


@pytest.mark.parametrize("newer", [SUCCESS, DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED])
def test_what_ran_or_runs_since_is_left_alone(instance, tmp_path, newer):
    add_run(instance, "sources_web", FAILURE)
    add_run(instance, "sources_web", newer)
    assert asked(look(instance, tmp_path)) == []


def test_the_same_partition_of_another_dataset_does_not_count(instance, tmp_path):
    run = add_run(instance, "sources_web", FAILURE)
    add_run(instance, "sources_stem", SUCCESS)
    assert asked(look(instance, tmp_path)) == [(run, {RECORDS})]


def test_what_dagster_retries_by_itself_and_jobs_that_are_gone_are_left_alone(instance, tmp_path):
    add_run(instance, "sources_web", FAILURE, dagster__will_retry="true")
    add_run(instance, "sources_gone", FAILURE)
    assert asked(look(instance, tmp_path)) == []


def test_an_asset_without_partitions_runs_again_under_the_same_cap(instance, tmp_path):
    whole = {"dagster__partition": ""}
    add_run(instance, "__ASSET_JOB", FAILURE, RESOLUTION, **whole)
    add_run(instance, "sources_web", SUCCESS)
    run = add_run(instance, "__ASSET_JOB", FAILURE, RESOLUTION, **whole)
    result = look(instance, tmp_path)
    assert asked(result) == [(run, {RESOLUTION})]
    assert result.run_requests[0].partition_key is None
    add_run(instance, "__ASSET_JOB", FAILURE, RESOLUTION, **whole)
    assert asked(look(instance, tmp_path)) == []


def test_a_run_that_names_no_partition_of_an_asset_that_has_some_is_left_to_people(instance, tmp_path):
    add_run(instance, "__ASSET_JOB", FAILURE, RESOLUTION, EXTRACTED, dagster__partition="")
    assert asked(look(instance, tmp_path)) == []
