"""Schedules and sensors decide from what Dagster has recorded: which partitions are due, failed, new, or ready to be mixed."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, DagsterInstance

from corpusmill.settings import Settings, settings_from_table
from definitions import build

RECORDS = AssetKey(["sources", "web", "records"])
CURATED = ["extracted", "verdicts", "signatures", "duplicates", "documents", "validation"]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    home = tmp_path / "dagster"
    home.mkdir()
    with DagsterInstance.local_temp(str(home)) as made:
        yield made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_from_table({"sources": {"web": {"uri": "web", "format": "warc"}}}, base=tmp_path)


def materialize(instance: DagsterInstance, key: AssetKey, partition: str) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(asset_key=key, partition=partition))


def curate(instance: DagsterInstance, partition: str) -> None:
    for table in CURATED:
        materialize(instance, AssetKey(["curated", "web", table]), partition)


def tick(settings: Settings, instance: DagsterInstance, name: str) -> list[str]:
    definitions = build(settings)
    schedule = definitions.resolve_schedule_def(name)
    context = dg.build_schedule_context(
        instance=instance,
        repository_def=definitions.get_repository_def(),
        scheduled_execution_time=datetime(2026, 1, 1, 2, tzinfo=UTC),
    )
    return [str(request.partition_key) for request in schedule.evaluate_tick(context).run_requests or ()]


def sensor_context(
    definitions: dg.Definitions, instance: DagsterInstance, *, cursor: str | None = None
) -> dg.SensorEvaluationContext:
    return dg.build_sensor_context(
        instance_ref=instance.get_ref(), cursor=cursor, definitions=definitions, resources=definitions.resources
    )


def test_a_partition_is_due_when_its_input_is_there_or_newer(settings: Settings, instance: DagsterInstance) -> None:
    instance.add_dynamic_partitions("web_snapshots", ["2024", "2025", "2026"])
    materialize(instance, RECORDS, "2024")
    materialize(instance, RECORDS, "2025")
    curate(instance, "2024")
    assert tick(settings, instance, "curated_web_nightly") == ["2025"]
    curate(instance, "2025")
    assert tick(settings, instance, "curated_web_nightly") == []
    materialize(instance, RECORDS, "2024")
    assert tick(settings, instance, "curated_web_nightly") == ["2024"]


def test_every_variant_of_a_snapshot_is_due(settings: Settings, instance: DagsterInstance) -> None:
    instance.add_dynamic_partitions("stem_snapshots", ["2024"])
    materialize(instance, AssetKey(["curated", "stem", "documents"]), "2024")
    due = tick(settings, instance, "synthesized_stem_translated_nightly")
    assert due and all(key.endswith("|2024") for key in due)


def test_a_new_snapshot_is_added_once_its_files_have_settled(
    settings: Settings, instance: DagsterInstance, tmp_path: Path
) -> None:
    definitions = build(settings)
    sensor = definitions.resolve_sensor_def("new_snapshots_web")
    folder = tmp_path / "web" / "2024"
    folder.mkdir(parents=True)
    (folder / "a.warc").write_bytes(b"one")

    def look(cursor: str | None) -> Any:
        return sensor.evaluate_tick(sensor_context(definitions, instance, cursor=cursor))

    first = look(None)
    assert not first.run_requests
    (folder / "b.warc").write_bytes(b"two")
    second = look(first.cursor)
    assert not second.run_requests, "files still arrive"
    third = look(second.cursor)
    assert [request.partition_key for request in third.run_requests] == ["2024"]
    assert [request.partition_keys for request in third.dynamic_partitions_requests] == [["2024"]]
    instance.add_dynamic_partitions("web_snapshots", ["2024"])
    assert not look(third.cursor).run_requests


def test_a_source_that_vanished_is_named_and_nothing_is_removed(settings: Settings, instance: DagsterInstance) -> None:
    definitions = build(settings)
    instance.add_dynamic_partitions("web_snapshots", ["2024"])
    sensor = definitions.resolve_sensor_def("new_snapshots_web")
    result = sensor.evaluate_tick(sensor_context(definitions, instance))
    assert "cannot be listed" in (result.skip_message or "")
    assert instance.get_dynamic_partitions("web_snapshots") == ["2024"]


def test_a_mixture_is_planned_when_all_inputs_are_there_and_one_is_newer(
    settings: Settings, instance: DagsterInstance
) -> None:
    from assets.mixed.mixtures import mixture_inputs
    from definitions import PLAN

    definitions = build(settings)
    sensor = definitions.resolve_sensor_def("mix_inputs")

    def due() -> list[str]:
        result = sensor.evaluate_tick(sensor_context(definitions, instance))
        return [str(request.partition_key) for request in result.run_requests or ()]

    *first, last = mixture_inputs("main")
    for key in first:
        materialize(instance, key, "2024")
    assert due() == []
    materialize(instance, last, "2024")
    assert due() == ["main"]
    materialize(instance, PLAN, "main")
    assert due() == []
    materialize(instance, last, "2025")
    assert due() == ["main"]
