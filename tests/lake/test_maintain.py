"""Retention removes what nothing needs, and nothing else."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.lake.errors import StaleAttemptError, TableMissingError
from corpusmill.lake.files import ShardWriter, WrittenFile
from corpusmill.lake.names import report_directory
from corpusmill.lake.partitions import Attempt
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from tests.servers.seaweedfs import S3Server

TABLE = "curated/web/documents"
SCHEMA = pa.schema([pa.field("doc_id", pa.string(), nullable=False)])


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    opened = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    yield opened
    opened.close()


def write(lake: Lake, attempt: Attempt, doc_id: str) -> list[WrittenFile]:
    with ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition=attempt.partition
    ) as writer:
        writer.write(pa.table({"doc_id": [doc_id]}))
    return writer.files


def put(lake: Lake, partition: str, doc_id: str) -> int:
    attempt = lake.begin(TABLE, partition, SCHEMA)
    return lake.commit(attempt, write(lake, attempt, doc_id), {}).snapshot_id


def doc_ids(lake: Lake, snapshot_id: int | None = None) -> list[str]:
    return sorted(lake.read(TABLE, columns=["doc_id"], snapshot_id=snapshot_id).column("doc_id").to_pylist())


def age(lake: Lake, *keys: str, days: float) -> None:
    then = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for key in keys:
        os.utime(lake.store.uri(key), (then, then))


def data_keys(lake: Lake) -> set[str]:
    return {item.key for item in lake.store.list("data/")}


def maintain(lake: Lake, *, days_later: float = 0, keep_days: float = 30, orphan_days: float = 7) -> dict[str, int]:
    now = datetime.now(UTC) + timedelta(days=days_later)
    return lake.maintain(keep_snapshots_days=keep_days, orphan_age_days=orphan_days, now=now)


def test_old_versions_go_with_their_files_and_the_current_one_stays(lake: Lake) -> None:
    first = put(lake, "p", "old")
    put(lake, "q", "kept")
    put(lake, "p", "new")
    report = maintain(lake, days_later=31)
    assert report["snapshots_expired"] == 2
    assert doc_ids(lake) == ["kept", "new"]
    assert len(data_keys(lake)) == 2
    with pytest.raises(TableMissingError, match=f"has no version {first}"):
        doc_ids(lake, first)


def test_a_tagged_version_stays_readable(lake: Lake) -> None:
    first = put(lake, "p", "tagged")
    put(lake, "p", "between")
    put(lake, "p", "new")
    lake.tag(TABLE, "mix v1", first)
    assert maintain(lake, days_later=400)["snapshots_expired"] == 1
    assert doc_ids(lake, first) == ["tagged"]
    assert doc_ids(lake) == ["new"]
    assert len(data_keys(lake)) == 2


def test_young_versions_and_young_files_stay(lake: Lake) -> None:
    first = put(lake, "p", "old")
    put(lake, "p", "new")
    attempt = lake.begin(TABLE, "p", SCHEMA)
    write(lake, attempt, "in flight")
    lake.store.write(f"{attempt.staging}/checkpoint.json", b"{}")
    before = {item.key for item in lake.store.list()}
    report = maintain(lake)
    assert report == {"snapshots_expired": 0, "attempts_ended": 0, "files_deleted": 0, "bytes_deleted": 0}
    assert {item.key for item in lake.store.list()} == before
    assert doc_ids(lake, first) == ["old"]


def test_what_dead_attempts_left_goes(lake: Lake) -> None:
    put(lake, "p", "kept")
    dead = lake.begin(TABLE, "p", SCHEMA)
    (orphan,) = write(lake, dead, "never committed")
    lake.store.write(f"{dead.staging}/checkpoint.json", b"{}")
    pending = lake.store.open_output("data/x")
    report = maintain(lake, days_later=8)
    pending.stream.close()
    assert report["attempts_ended"] == 1
    assert not lake.store.exists(orphan.path)
    assert not list(lake.store.list("staging/"))
    assert not list(lake.store.list(".tmp/"))
    assert doc_ids(lake) == ["kept"]


def test_only_the_report_of_what_is_committed_stays(lake: Lake) -> None:
    reports = [f"{report_directory(TABLE, 'p')}/{name}.json" for name in ("dead", "replaced", "committed")]
    for report in reports:
        lake.store.write(report, b"{}")
    for report in reports[1:]:
        attempt = lake.begin(TABLE, "p", SCHEMA)
        lake.commit(attempt, write(lake, attempt, report), {"report": report})
    maintain(lake, days_later=8)
    assert {item.key for item in lake.store.list("reports/")} == {reports[2]}


def test_an_attempt_that_sleeps_through_maintenance_cannot_commit_deleted_files(lake: Lake) -> None:
    put(lake, "p", "kept")
    asleep = lake.begin(TABLE, "p", SCHEMA)
    files = write(lake, asleep, "late")
    maintain(lake, days_later=8)
    with pytest.raises(StaleAttemptError, match="maintenance"):
        lake.commit(asleep, files, {})
    put(lake, "p", "again")
    assert doc_ids(lake) == ["again"]


def test_a_young_attempt_may_reuse_old_files(lake: Lake) -> None:
    """A resumed attempt commits what an older one wrote; maintenance in between leaves its partition alone."""
    put(lake, "p", "kept")
    dead = lake.begin(TABLE, "p", SCHEMA)
    files = write(lake, dead, "checkpointed")
    lake.store.write(f"{dead.staging}/checkpoint.json", b"{}")
    age(lake, *(file.path for file in files), f"{dead.staging}/checkpoint.json", days=20)
    resumed = lake.begin(TABLE, "p", SCHEMA)
    report = maintain(lake)
    assert report["files_deleted"] == 0
    assert lake.store.exists(f"{resumed.staging}/checkpoint.json")
    lake.commit(resumed, files, {})
    assert doc_ids(lake) == ["checkpointed"]


def test_maintenance_repeats_without_finding_more(lake: Lake) -> None:
    for number in range(3):
        put(lake, "p", str(number))
    maintain(lake, days_later=31)
    assert maintain(lake, days_later=31)["files_deleted"] <= 2
    assert maintain(lake, days_later=31)["files_deleted"] == 0
    assert doc_ids(lake) == ["2"]


@pytest.mark.parametrize(
    ("keep_days", "orphan_days"), [(-1.0, 7.0), (30.0, 0.0), (30.0, -1.0), (30.0, 0.01), (30.0, float("nan"))]
)
def test_ages_that_would_delete_work_in_progress_are_refused(lake: Lake, keep_days: float, orphan_days: float) -> None:
    with pytest.raises(
        ValueError, match=r"orphan_age_days of 0\.042 \(an hour\) or more.* give an orphan age above the longest run"
    ):
        maintain(lake, keep_days=keep_days, orphan_days=orphan_days)


@pytest.mark.s3
@pytest.mark.postgres
def test_on_s3_and_postgres_a_tag_spares_a_version(s3_root: str, s3_server: S3Server, postgres_url: str) -> None:
    store = StoreSettings(root=s3_root, endpoint=s3_server.endpoint)
    lake = Lake(LakeSettings(store=store, catalog=postgres_url))
    first = put(lake, "p", "tagged")
    put(lake, "p", "between")
    put(lake, "p", "new")
    lake.tag(TABLE, "mix v1", first)
    assert maintain(lake, days_later=400)["snapshots_expired"] == 1
    assert (doc_ids(lake, first), doc_ids(lake), len(data_keys(lake))) == (["tagged"], ["new"], 2)
    lake.close()
