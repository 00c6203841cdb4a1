"""Rows emptied in place: they keep their place, files keep their layout, all versions tell what they are by then."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.document import LOOKED_UP, PLACE
from corpusmill.lake.catalog import load_table
from corpusmill.lake.errors import StaleAttemptError
from corpusmill.lake.files import ShardWriter
from corpusmill.lake.pages import has_pages
from corpusmill.lake.rewrite import emptied_rows, empty_rows, rows_to_empty
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake

TABLE = "curated/web/documents"
SCHEMA = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("file", pa.string(), nullable=False, metadata=PLACE),
        pa.field("text", pa.large_string(), nullable=False, metadata=LOOKED_UP),
        pa.field("url", pa.string()),
        pa.field("meta", pa.map_(pa.string(), pa.string())),
        pa.field("tokens", pa.list_(pa.int32()), nullable=False),
        pa.field("context", pa.large_binary(), nullable=False),
        pa.field("failure", pa.string()),
    ]
)
EMPTY = {"text": "", "url": None, "meta": None, "tokens": [], "context": b"", "failure": "erased"}


@pytest.fixture
def lake(tmp_path):
    opened = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    yield opened
    opened.close()


def row(doc_id: str) -> dict:
    said = {"text": f"zzz {doc_id} says a lot", "url": f"https://{doc_id}/", "meta": [("key", doc_id)]}
    return {"doc_id": doc_id, "file": "f", **said, "tokens": [1, 2], "context": b"zzz", "failure": None}


def put(lake: Lake, partition: str, *doc_ids: str):
    """Commit rows in row groups of two."""
    attempt = lake.begin(TABLE, partition, SCHEMA)
    writer = ShardWriter(
        lake.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition=partition
    )
    with writer:
        for start in range(0, len(doc_ids), 2):
            writer.write(pa.Table.from_pylist([row(one) for one in doc_ids[start : start + 2]], schema=SCHEMA))
            writer.end_row_group()
    return lake.commit(attempt, writer.files)


def named(*doc_ids: str):
    return lambda rows: np.isin(rows["doc_id"].to_pylist(), doc_ids)


def empty(lake: Lake, path: str, *doc_ids: str) -> int:
    rows = rows_to_empty(lake.store, path, columns=["doc_id"], marks=named(*doc_ids))
    empty_rows(lake.store, path, rows, columns=[*EMPTY][:-1], says={"failure": "erased"})
    return len(rows)


def test_emptied_rows_stay_in_their_place_and_say_nothing(lake):
    put(lake, "p", "a", "b", "c", "d", "e")
    [file] = lake.files(TABLE)
    before = pq.ParquetFile(file.path)
    assert empty(lake, file.path, "b", "e", "unknown") == 2
    after = pq.ParquetFile(file.path)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=False)
    assert [after.metadata.row_group(n).num_rows for n in range(3)] == [2, 2, 1]
    assert has_pages(after, "text") and emptied_rows(after.metadata).tolist() == [1, 4]
    assert [{**one, "partition_key": "p"} for one in after.read().to_pylist()] == [
        {"partition_key": "p", **row(one), **(EMPTY if one in "be" else {})} for one in "abcde"
    ]
    assert b"https://b/" not in lake.store.read(file.path)
    # Again, with one more.
    assert empty(lake, file.path, "a", "b", "e") == 1
    assert emptied_rows(pq.ParquetFile(file.path).metadata).tolist() == [0, 1, 4]


def test_every_version_tells_of_its_files_what_they_are(lake):
    first = put(lake, "p", "a", "b").snapshot_id
    put(lake, "q", "c")
    lake.tag(TABLE, "kept", first)
    put(lake, "p", "n")
    [old] = lake.files(TABLE, ["p"], snapshot_id=first)
    empty(lake, old.path, "a", "b")
    assert lake.restate(TABLE, ["p"]) == 2, "the one that added it, and the one that removed it"
    assert lake.restate(TABLE, ["p"]) == 0
    [told] = lake.files(TABLE, ["p"], snapshot_id=first)
    assert told.num_bytes == lake.store.size(old.path) != old.num_bytes
    loaded = load_table(lake.catalog, TABLE)
    for snapshot in loaded.snapshots():
        for manifest in snapshot.manifests(loaded.io):
            assert manifest.manifest_length == len(loaded.io.new_input(manifest.manifest_path))
            for entry in manifest.fetch_manifest_entry(loaded.io, discard_deleted=False):
                bounds = {
                    *(entry.data_file.lower_bounds or {}).values(),
                    *(entry.data_file.upper_bounds or {}).values(),
                }
                assert any(b"https" in bound for bound in bounds) == (entry.data_file.file_path != old.path)
    assert loaded.scan(snapshot_id=first).to_arrow()["text"].to_pylist() == ["", ""]
    assert lake.read(TABLE, columns=["doc_id"])["doc_id"].to_pylist() == ["n", "c"]
    assert lake.damaged_files(TABLE, "p") == lake.damaged_files(TABLE, "q") == []


def test_work_on_a_partition_is_ended_and_what_it_left_is_deleted_however_young(lake):
    put(lake, "p", "a")
    put(lake, "q", "b")
    attempts = {name: lake.begin(TABLE, name, SCHEMA) for name in ("p", "q")}
    for attempt in attempts.values():
        for key in (
            f"{attempt.directory}/left.parquet",
            f"{attempt.staging}/shard.json",
            f"{attempt.staging}/answers/1",
        ):
            lake.store.write(key, b"said")
    before = {item.key for item in lake.store.list()}
    now = datetime.now(UTC)
    told = {"snapshots_expired": 0, "attempts_ended": 1, "files_deleted": 2, "bytes_deleted": 8}
    assert lake.clear([(TABLE, "p")], now=now, is_dry=True) == told
    assert {item.key for item in lake.store.list()} == before
    assert lake.clear([(TABLE, "p")], now=now) == told
    gone = {key for key in before if "/p/" in key and key.endswith(("left.parquet", "shard.json"))}
    assert {key for key in before if not lake.store.exists(key)} == gone and len(gone) == 2
    with pytest.raises(StaleAttemptError):
        lake.commit(attempts["p"], [])
    lake.commit(attempts["q"], [])
    assert lake.read(TABLE)["doc_id"].to_pylist() == ["a"]
    assert lake.clear([(TABLE, "p")], now=now)["attempts_ended"] == 0


@pytest.mark.s3
def test_on_s3_a_row_is_emptied_and_every_version_told(s3_root, s3_server, tmp_path):
    store = StoreSettings(root=s3_root, endpoint=s3_server.endpoint)
    lake = Lake(LakeSettings(store=store, catalog=f"sqlite:///{tmp_path / 'catalog.db'}"))
    first = put(lake, "p", "a", "b").snapshot_id
    put(lake, "p", "n")
    [old] = lake.files(TABLE, ["p"], snapshot_id=first)
    assert empty(lake, old.path, "a") == 1 and lake.restate(TABLE, ["p"]) == 2
    [told] = lake.files(TABLE, ["p"], snapshot_id=first)
    assert told.num_bytes == lake.store.size(old.path)
    assert lake.read(TABLE, snapshot_id=first)["url"].to_pylist() == [None, "https://b/"]
    assert load_table(lake.catalog, TABLE).scan(snapshot_id=first).to_arrow()["text"].to_pylist()[0] == ""
    lake.close()
