"""Backfills of the real web assets over three snapshots, one of them broken, against real servers: one story, in order.

Through GraphQL as the UI does it, through the command, and after mending through the command with --failed.
"""

import subprocess

import pytest

from corpusmill.settings import load_settings
from jobs.backfill import ENDED
from jobs.backfill_command import backfill
from tests.jobs.live_instance import LiveInstance, wait_for
from tests.live.questions import check_partitions, made, metadata, runs_of
from tests.live.web_pages import PAGES, write_snapshot

pytestmark = [pytest.mark.dagster, pytest.mark.slow]

WEB = ("sources/web/records", *(f"curated/web/{table}" for table in ("extracted", "verdicts", "signatures")))
AFTER_RESOLUTION = ("curated/web/duplicates", "curated/web/documents")
LAUNCH = """
mutation Launch($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on Error { message }
} }
"""
BACKFILL = (
    "query Status($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill { status } } }"
)


def test_a_backfill_through_graphql_makes_what_the_broken_snapshot_does_not_touch(live: LiveInstance) -> None:
    assets = [*WEB, "curated/web/resolution", *AFTER_RESOLUTION]
    params = {"assetSelection": [{"path": key.split("/")} for key in assets], "allPartitions": True}
    launched = live.instance.change(
        LAUNCH, field="launchPartitionBackfill", success="LaunchBackfillSuccess", params=params
    )

    def status() -> str:
        answer = live.instance.ask(BACKFILL, id=launched["backfillId"])
        return str(answer["partitionBackfillOrError"]["status"])

    wait_for(lambda: status() in ENDED, seconds=600)
    assert status() == "COMPLETED_FAILED"
    assert made(live.instance, *WEB) == {key: {"2024-10", "2025-10"} for key in WEB}
    assert runs_of(live.instance, "broken")[0]["status"] == "FAILURE"


def test_the_command_makes_everything_else_and_names_the_cause(
    live: LiveInstance, backfilled: subprocess.CompletedProcess[str]
) -> None:
    said = backfilled.stdout + backfilled.stderr
    assert backfilled.returncode == 1, said
    assert "failed sources/web/records broken: " in said
    assert "has the column text; its columns are body, url. Name the right one" in said
    assert "and so not run: curated/web/extracted, curated/web/verdicts, curated/web/signatures" in said
    assert "with --failed in place of" in said
    assert "Traceback" not in said and "Failure:" not in said
    both = {"2024-10", "2025-10"}
    assert made(live.instance, *WEB, *AFTER_RESOLUTION) == dict.fromkeys((*WEB, *AFTER_RESOLUTION), both)


def test_numbers_and_checks_are_recorded_for_each_partition(
    live: LiveInstance, backfilled: subprocess.CompletedProcess[str]
) -> None:
    numbers = metadata(live.instance, "curated/web/documents", "2025-10")
    assert numbers["rows_in"] == 30
    assert numbers["rows_in"] == numbers["rows_kept"] + numbers["rows_dropped"] + numbers["rows_failed"]
    # 25 of its pages were in the snapshot before; about a third of those fall to a rule first.
    assert 15 <= numbers["drop/exact_duplicate"] <= 25
    assert metadata(live.instance, "curated/web/documents", "2024-10")["rows_kept"] >= 20
    checks = check_partitions(live.instance, "curated/web/documents")
    assert set(checks) == {"rows_accounted_for", "gates"}
    for partitions in checks.values():
        assert set(partitions["succeededPartitions"]) == {"2024-10", "2025-10"}
        assert (partitions["failedPartitions"], partitions["skippedPartitions"]) == ([], [])


def test_failed_makes_the_mended_snapshot_and_what_waited_for_it(
    live: LiveInstance, backfilled: subprocess.CompletedProcess[str]
) -> None:
    write_snapshot(live.folder / "pages", "broken", PAGES[35:45])
    done = live.corpusmill("backfill", "--assets", "sources/web,curated/web", "--failed")
    assert done.returncode == 0, done.stdout + done.stderr
    every = {"2024-10", "2025-10", "broken"}
    assert made(live.instance, *WEB, *AFTER_RESOLUTION) == dict.fromkeys((*WEB, *AFTER_RESOLUTION), every)
    assert metadata(live.instance, "curated/web/documents", "broken")["rows_in"] == 10
    rows = live.corpusmill("sql", "--format", "csv", "select distinct snapshot from curated.web.documents order by 1")
    assert rows.stdout.replace('"', "").split() == ["snapshot", "2024-10", "2025-10", "broken"], rows.stderr


def test_a_dry_run_says_that_nothing_is_left_to_make(
    live: LiveInstance, backfilled: subprocess.CompletedProcess[str], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(live.folder / "corpusmill.toml")
    asked = {"assets": ["sources/web", "curated/web"], "partitions": None, "failed": False, "dry_run": True}
    assert backfill(settings, **asked, url=live.instance.url)
    told = capsys.readouterr().out
    assert f"Current in {settings.lake.store.root}, so skipped: " in told and "Would run: 0.\n" in told
    assert "Not looked at" not in told
