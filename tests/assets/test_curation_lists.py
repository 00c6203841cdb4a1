"""A dataset that asks for decontamination and URL lists, on its whole way as real Dagster runs of the plain engine."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.curation import curated_assets
from assets.curation_lists import benchmark_assets, url_list_assets
from assets.partitions import snapshots_name
from assets.sourcing import source_assets
from corpusmill.dedup.parameters import FINEWEB
from corpusmill.lake.tables import Lake
from corpusmill.settings import Settings, settings_from_table
from definitions import job_members, source_datasets
from jobs.due import due_partitions
from jobs.run_step import StepFailedError, run_step
from jobs.schedules import nightly_schedules
from jobs.stages import stage_jobs
from jobs.way import Step, job_order, way_steps
from resources.launchers import launcher
from resources.mill import MillResource

ITEM = "Write a function to swap two numbers without a third one in between."
PAGES = [
    ("http://example.com/clean", "A clean page about rivers and the boats that travel on them all day."),
    ("http://bad.com/", "A page of a domain whose owner wants nobody to read what is written there."),
    ("http://example.com/exam", f"An exam for beginners. {ITEM} Send the answer before Friday."),
    ("https://www.example.com/clean?utm_source=mail", "The same page once more, with other words about the boats."),
]
FILES = {
    "pages/2024/a.jsonl": [{"url": url, "text": text} for url, text in PAGES],
    "benchmarks/mbpp.jsonl": [{"text": ITEM}],
    "url_lists/blocked_domains.jsonl": [{"domain": "bad.com"}],
}
JUDGE = {"judge": "stem", "rules": {"languages": [], "min_formulas": 0, "min_words": 1}}
JOBS = ["sources_pages", "curated_benchmarks", "curated_url_lists", "curated_pages"]


def chosen_assets(drops: dict[str, Any] | None = None) -> list[dg.AssetsDefinition]:
    """Return the assets in the order in which the front door finds them: stages, then names of modules."""
    pages = curated_assets(
        "pages",
        extract={"method": "plain"},
        judge=JUDGE,
        dedup=FINEWEB.to_json(),
        max_removed_share=0.9,
        drops=drops,
    )
    return [*source_assets("pages", description="Pages."), *benchmark_assets(), *pages, *url_list_assets()]


ASSETS = chosen_assets({"contamination": {}, "urls": {}})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    for name, rows in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    sources = {
        "pages": {"uri": "pages", "format": "jsonl", "options": {"url_column": "url"}},
        "benchmarks": {"uri": "benchmarks", "format": "jsonl"},
        "url_lists": {"uri": "url_lists", "format": "jsonl"},
    }
    return settings_from_table({"spark": {"engine": "plain"}, "sources": sources}, base=tmp_path)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        made.add_dynamic_partitions(snapshots_name("pages"), ["2024"])
        yield made


@pytest.fixture
def project(settings: Settings) -> dg.Definitions:
    jobs = stage_jobs(ASSETS)
    return dg.Definitions(
        assets=ASSETS,
        jobs=jobs,
        schedules=nightly_schedules([job_members(ASSETS, job.name) for job in jobs]),
        resources={"mill": MillResource.of(settings), "launcher": launcher("in_process")},
    )


def run(project: dg.Definitions, steps: list[Step], instance: dg.DagsterInstance) -> None:
    for step in steps:
        run_step(project, step, instance=instance)


def due(instance: dg.DagsterInstance) -> dict[str, list[str]]:
    found = {name: due_partitions(instance, job_members(ASSETS, name)) for name in JOBS}
    return {name: partitions for name, partitions in found.items() if partitions}


def shown(instance: dg.DagsterInstance, table: str) -> dict[str, Any]:
    """Return the numbers that the asset's page has of its last materialization."""
    event = instance.get_latest_materialization_event(dg.AssetKey(table.split("/")))
    assert event is not None and event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


@pytest.mark.slow
@pytest.mark.dagster
def test_planted_items_and_blocked_urls_are_gone_and_all_is_accounted_for(
    settings: Settings, project: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    steps = way_steps(ASSETS, settings=settings, instance=instance)
    assert [(step.job, step.partition) for step in steps] == list(
        zip(JOBS, ["2024", "all", "all", "2024"], strict=True)
    )
    run(project, steps, instance)
    assert all(step.is_current(instance) for step in steps)

    documents = Lake(settings.lake).read("curated/pages/documents").to_pylist()
    assert [(row["url"], row["text"]) for row in documents] == PAGES[:1]
    numbers = shown(instance, "curated/pages/documents")
    dropped = {name: number for name, number in numbers.items() if name.startswith("drop/")}
    assert dropped == {"drop/contaminated": 1, "drop/url_blocked_domain": 1, "drop/url_duplicate": 1}
    assert numbers["rows_in"] == numbers["rows_kept"] + sum(dropped.values()) + numbers["rows_failed"] == len(PAGES)
    assert numbers["rows_kept"] == 1 and numbers["rows_dropped"] == 3
    assert shown(instance, "curated/pages/contamination")["drop/contaminated"] == 1
    assert shown(instance, "curated/pages/urls")["rows_dropped"] == 2
    assert shown(instance, "curated/benchmarks/items")["rows_kept"] == 1
    assert shown(instance, "curated/url_lists/entries")["blocked_domains"] == 1


@pytest.mark.slow
@pytest.mark.dagster
def test_of_a_page_in_two_snapshots_the_newest_version_stays(
    settings: Settings, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    (tmp_path / "pages" / "2025").mkdir()
    rows = [
        {
            "url": PAGES[0][0],
            "text": "The clean page of a year later, which tells of bridges and of those who built them.",
        }
    ]
    (tmp_path / "pages" / "2025" / "a.jsonl").write_text(json.dumps(rows[0]))
    instance.add_dynamic_partitions(snapshots_name("pages"), ["2025"])
    assets = chosen_assets({"urls": {"versions": "newest"}})
    project = dg.Definitions(
        assets=assets,
        jobs=stage_jobs(assets),
        resources={"mill": MillResource.of(settings), "launcher": launcher("in_process")},
    )
    steps = way_steps(assets, settings=settings, instance=instance)
    wanted = [step for step in steps if step.job != "curated_benchmarks"]
    run(project, wanted, instance)
    # The run of 2024 came before 2025 was judged, and its pages are looked at once more.
    late = [step for step in wanted if not step.is_current(instance)]
    assert [(step.job, step.partition) for step in late] == [("curated_pages", "2024")]
    run(project, late, instance)
    documents = Lake(settings.lake).read("curated/pages/documents").to_pylist()
    found = {row["url"]: row["text"] for row in documents}
    assert found == {PAGES[2][0]: PAGES[2][1], rows[0]["url"]: rows[0]["text"]}
    assert shown(instance, "curated/pages/documents")["drop/url_older_version"] == 2


@pytest.mark.slow
@pytest.mark.dagster
def test_a_new_benchmark_makes_the_datasets_that_ask_for_it_due(
    settings: Settings, project: dg.Definitions, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    assert due(instance) == {"sources_pages": ["2024"], "curated_benchmarks": [""], "curated_url_lists": [""]}
    steps = {step.job: step for step in way_steps(ASSETS, settings=settings, instance=instance)}
    for name in JOBS[:3]:
        assert "curated_pages" not in due(instance), "not all of its inputs are there"
        run(project, [steps[name]], instance)
    assert due(instance) == {"curated_pages": ["2024"]}
    run(project, [steps["curated_pages"]], instance)
    assert due(instance) == {}

    (tmp_path / "benchmarks" / "new.jsonl").write_text(json.dumps({"text": PAGES[0][1]}))
    assert not steps["curated_benchmarks"].is_current(instance)
    run(project, [steps["curated_benchmarks"]], instance)
    assert due(instance) == {"curated_pages": ["2024"]}
    run(project, [steps["curated_pages"]], instance)
    assert shown(instance, "curated/pages/documents")["drop/contaminated"] == 2


@pytest.mark.dagster
def test_the_nightly_run_of_a_job_without_partitions_names_none(
    project: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    schedule = project.resolve_schedule_def("curated_benchmarks_nightly")
    context = dg.build_schedule_context(
        instance=instance,
        repository_def=project.get_repository_def(),
        scheduled_execution_time=datetime(2026, 1, 1, 2, tzinfo=UTC),
    )
    (request,) = schedule.evaluate_tick(context).run_requests or ()
    assert request.partition_key is None


@pytest.mark.slow
@pytest.mark.dagster
def test_a_dataset_without_the_lists_that_it_asks_for_says_what_is_missing(
    settings: Settings, project: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    first, *_, last = way_steps(ASSETS, settings=settings, instance=instance)
    assert not last.is_current(instance)
    run(project, [first], instance)
    with pytest.raises(StepFailedError, match=r"curated/(benchmarks/items|url_lists/entries)"):
        run(project, [last], instance)


def test_lists_are_no_datasets_with_snapshots_and_are_made_before_they_are_read() -> None:
    assert source_datasets(ASSETS) == ["pages"]
    assert job_order(ASSETS) == JOBS
    inputs = {asset.key.path[-1]: {key.path[-1] for key in asset.dependency_keys} for asset in ASSETS}
    assert inputs["contamination"] == {"extracted", "items"}
    assert inputs["urls"] == {"extracted", "verdicts", "entries"}
    assert inputs["signatures"] == {"extracted", "verdicts", "contamination", "urls"}
    assert inputs["documents"] == {"extracted", "verdicts", "duplicates", "contamination", "urls"}


def test_versions_across_snapshots_are_a_table_without_partitions() -> None:
    made = {asset.key.path[-1]: asset for asset in chosen_assets({"urls": {"versions": "oldest"}})}
    assert made["url_versions"].partitions_def is None
    assert {key.path[-1] for key in made["urls"].dependency_keys} == {
        "extracted",
        "verdicts",
        "entries",
        "url_versions",
    }
    assert "url_versions" not in {asset.key.path[-1] for asset in ASSETS}


def test_a_dataset_that_asks_for_nothing_has_no_such_tables() -> None:
    tables = {asset.key.path[-1]: asset for asset in chosen_assets() if asset.key.path[1] == "pages"}
    assert not {"contamination", "urls"} & set(tables)
    assert {key.path[-1] for key in tables["documents"].dependency_keys} == {"extracted", "verdicts", "duplicates"}


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"action": "burn"}, "action must be one of"), ({"rules": {"ngrams": 3}}, "unknown setting ngrams")],
)
def test_a_policy_that_cannot_be_is_refused_when_the_project_loads(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chosen_assets({"contamination": asked})


def test_what_nothing_can_drop_for_is_refused_when_the_project_loads() -> None:
    with pytest.raises(ValueError, match="drops are contamination, urls and repeated_spans, got links"):
        chosen_assets({"links": {}})
    with pytest.raises(ValueError, match="the parameter versions is all, newest, oldest, got 'best'"):
        chosen_assets({"urls": {"versions": "best"}})
