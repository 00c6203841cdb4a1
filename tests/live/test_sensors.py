"""Sensors and a schedule of the real definitions, ticked by the running daemon: a new snapshot finds its way by itself.

Two folders appear: one becomes a partition, is listed and curated; the records of the other one fail, are run again under
the cap, and are then left to people.
"""

import pytest

from sensors.failed_partitions import MAX_ATTEMPTS
from tests.jobs.live_instance import LiveInstance, wait_for
from tests.live.questions import made, runs_of, sensor_ticks, start_schedule, start_sensor, statuses
from tests.live.web_pages import PAGES, write_snapshot

pytestmark = [pytest.mark.dagster, pytest.mark.slow]


def test_a_new_snapshot_becomes_a_partition_that_is_listed_and_curated(live: LiveInstance) -> None:
    write_snapshot(live.folder / "pages", "2026-10", PAGES[45:55])
    write_snapshot(live.folder / "pages", "damaged", PAGES[55:60], column="body")
    start_sensor(live.instance, "new_snapshots_web")
    wait_for(lambda: statuses(live.instance, "2026-10") == ["SUCCESS"], seconds=400)
    assert made(live.instance, "sources/web/records")["sources/web/records"] >= {"2026-10"}
    (run,) = runs_of(live.instance, "2026-10")
    assert (run["jobName"], run["tags"]["dagster/sensor_name"]) == ("sources_web", "new_snapshots_web")
    start_schedule(live.instance, "curated_web_nightly")
    start_sensor(live.instance, "failed_partitions")  # looks while the schedule waits for its minute
    documents = "curated/web/documents"
    wait_for(lambda: "2026-10" in made(live.instance, documents)[documents], seconds=400)
    scheduled = runs_of(live.instance, "2026-10")[0]
    assert (scheduled["jobName"], scheduled["tags"]["dagster/schedule_name"]) == ("curated_web", "curated_web_nightly")


def test_a_failed_partition_is_run_again_under_the_cap_and_then_left(live: LiveInstance) -> None:
    failed = ["FAILURE"] * MAX_ATTEMPTS
    wait_for(lambda: statuses(live.instance, "damaged") == failed, seconds=400)
    newest, second, first = runs_of(live.instance, "damaged")
    assert [run["tags"].get("corpusmill/retry_of") for run in (newest, second)] == [second["id"], first["id"]]

    def has_looked_since() -> bool:
        ticks = [tick for tick in sensor_ticks(live.instance, "failed_partitions") if tick["endTimestamp"]]
        assert [tick["error"] for tick in ticks if tick["error"]] == []
        return sum(tick["timestamp"] > newest["endTime"] for tick in ticks) >= 2

    wait_for(has_looked_since, seconds=120)
    assert statuses(live.instance, "damaged") == failed
