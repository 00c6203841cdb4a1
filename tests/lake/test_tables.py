"""The lake's tables, on a local folder with a SQLite catalog, and on a real S3 server with real Postgres
and REST catalogs.
"""

import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from corpusmill.document import PLACE
from corpusmill.lake.errors import (
    DataFileError,
    GateFailedError,
    PartitionMissingError,
    SchemaMismatchError,
    StaleAttemptError,
    TableMissingError,
    UnsuitableStoreError,
)
from corpusmill.lake.files import ShardWriter, WrittenFile
from corpusmill.lake.partitions import Attempt, PartitionState
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Commit, Lake

TABLE = "curated/web/documents"
SCHEMA = pa.schema([pa.field("doc_id", pa.string(), nullable=False), pa.field("words", pa.int64())])


@pytest.fixture
def local_lake(tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    yield lake
    lake.close()


@pytest.fixture(
    params=[
        "local",
        pytest.param("postgres", marks=[pytest.mark.s3, pytest.mark.postgres]),
        pytest.param("rest", marks=[pytest.mark.s3]),
    ]
)
def lake(request: pytest.FixtureRequest) -> Iterator[Lake]:
    if request.param == "local":
        yield request.getfixturevalue("local_lake")
        return
    server = request.getfixturevalue("s3_server")
    store = StoreSettings(root=request.getfixturevalue("s3_root"), endpoint=server.endpoint)
    catalog = request.getfixturevalue("rest_url" if request.param == "rest" else "postgres_url")
    remote = Lake(LakeSettings(store=store, catalog=catalog))
    yield remote
    remote.close()


def rows(*doc_ids: str, **more: list[Any]) -> pa.Table:
    return pa.table(
        {
            "doc_id": pa.array(doc_ids, pa.string()),
            "words": pa.array([len(item) for item in doc_ids], pa.int64()),
            **more,
        }
    )


def write(lake: Lake, attempt: Attempt, table: pa.Table, *, schema: pa.Schema = SCHEMA) -> list[WrittenFile]:
    name = f"{attempt.attempt}-0"
    with ShardWriter(
        lake.store, directory=attempt.directory, name=name, schema=schema, partition=attempt.partition
    ) as writer:
        writer.write(table)
    return writer.files


def put(lake: Lake, partition: str, table: pa.Table, *, schema: pa.Schema = SCHEMA, **state: Any) -> PartitionState:
    attempt = lake.begin(TABLE, partition, schema)
    return lake.commit(attempt, write(lake, attempt, table, schema=schema), state)


def doc_ids(lake: Lake, **options: Any) -> list[str]:
    return lake.read(TABLE, columns=["doc_id"], **options).column("doc_id").to_pylist()


def test_a_partition_is_replaced_and_the_others_stay(lake: Lake) -> None:
    put(lake, "2024-01", rows("a", "b"))
    put(lake, "2024-02", rows("c"))
    put(lake, "2024-01", rows("d"))
    assert sorted(doc_ids(lake)) == ["c", "d"]
    assert doc_ids(lake, partitions=["2024-01"]) == ["d"]


def test_an_old_version_stays_readable(lake: Lake) -> None:
    put(lake, "2024-01", rows("a", "b"))
    first = lake.snapshot_id(TABLE)
    put(lake, "2024-01", rows("d"))
    assert doc_ids(lake, snapshot_id=first) == ["a", "b"]


def test_a_removed_partition_is_gone_and_what_a_tag_names_keeps_it(lake: Lake) -> None:
    put(lake, "2024-01", rows("a", "b"))
    put(lake, "2024-02", rows("c"))
    lake.tag(TABLE, "mix-main-1", lake.snapshot_id(TABLE))
    lake.remove(TABLE, "2024-01")
    assert (doc_ids(lake), list(lake.partitions(TABLE))) == (["c"], ["2024-02"])
    with pytest.raises(PartitionMissingError, match="it has 2024-02"):
        lake.files(TABLE, ["2024-01"])
    pinned = lake.tags(TABLE)["mix-main-1"]
    assert doc_ids(lake, snapshot_id=pinned, partitions=["2024-01"]) == ["a", "b"]
    version = lake.snapshot_id(TABLE)
    lake.remove(TABLE, "2024-01")
    assert lake.snapshot_id(TABLE) == version, "removed already"


def test_a_run_at_work_cannot_put_a_removed_partition_back(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    at_work = lake.begin(TABLE, "2024-01", SCHEMA)
    lake.remove(TABLE, "2024-01")
    with pytest.raises(StaleAttemptError):
        lake.commit(at_work, write(lake, at_work, rows("late")))
    assert put(lake, "2024-01", rows("new")).num_rows == 1
    assert doc_ids(lake) == ["new"]


def test_a_state_says_what_was_committed(lake: Lake) -> None:
    committed = put(lake, "2024-01", rows("a", "b"), tokens=7)
    assert lake.partition(TABLE, "2024-01") == committed
    assert (committed.num_rows, committed.fence, committed.state) == (2, 1, {"tokens": 7})
    assert committed.num_bytes == sum(file.num_bytes for file in lake.files(TABLE))
    assert lake.partition(TABLE, "2024-02") is None
    assert lake.partitions("curated/code/documents") == {}


def test_equal_rows_give_equal_content_hashes_in_any_order_and_file_split(lake: Lake) -> None:
    together = put(lake, "2024-01", rows("a", "b", "c"))
    attempt = lake.begin(TABLE, "2024-02", SCHEMA)
    files = []
    for shard, table in enumerate((rows("c"), rows("b", "a"))):
        with ShardWriter(
            lake.store, directory=attempt.directory, name=f"s{shard}", schema=SCHEMA, partition="2024-02"
        ) as writer:
            writer.write(table)
        files += writer.files
    assert lake.commit(attempt, files).content_hash == together.content_hash
    assert put(lake, "2024-03", rows("a", "b")).content_hash != together.content_hash


def test_an_empty_partition_is_committed_and_reads_as_no_rows(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    put(lake, "2024-01", rows())
    assert lake.files(TABLE, ["2024-01"]) == []
    assert lake.read(TABLE, partitions=["2024-01"]).num_rows == 0


def test_a_paused_older_attempt_is_refused(lake: Lake) -> None:
    paused = lake.begin(TABLE, "2024-01", SCHEMA)
    files = write(lake, paused, rows("old"))
    put(lake, "2024-01", rows("new"))
    with pytest.raises(StaleAttemptError, match="fence 1 at curated/web/documents '2024-01' may not commit"):
        lake.commit(paused, files)
    assert doc_ids(lake) == ["new"]


def test_an_older_attempt_is_refused_as_soon_as_a_newer_one_has_begun(lake: Lake) -> None:
    older = lake.begin(TABLE, "2024-01", SCHEMA)
    lake.begin(TABLE, "2024-01", SCHEMA)
    with pytest.raises(StaleAttemptError):
        lake.commit(older, write(lake, older, rows("old")))


def test_committing_the_same_files_again_changes_nothing_a_reader_sees(lake: Lake) -> None:
    attempt = lake.begin(TABLE, "2024-01", SCHEMA)
    files = write(lake, attempt, rows("a", "b"))
    first = lake.commit(attempt, files)
    again = lake.commit(attempt, files)
    resumed = lake.begin(TABLE, "2024-01", SCHEMA)
    lake.commit(resumed, files)
    assert again.content_hash == first.content_hash
    assert doc_ids(lake) == ["a", "b"]
    assert len(lake.files(TABLE)) == 1


def test_equal_content_keeps_the_files_that_others_name(lake: Lake) -> None:
    first = put(lake, "2024-01", rows("a", "b"), work="one")
    files = lake.files(TABLE)
    again = put(lake, "2024-01", rows("b", "a"), work="two")
    assert lake.files(TABLE) == files
    assert (again.content_hash, again.num_bytes) == (first.content_hash, first.num_bytes)
    assert lake.partition(TABLE, "2024-01") == again and again.state["work"] == "two"


def test_equal_content_that_lies_elsewhere_lands(local_lake: Lake) -> None:
    placed = pa.schema([*SCHEMA, pa.field("file", pa.string(), metadata=PLACE)])
    first = put(local_lake, "2024-01", rows("a", file=["old.warc"]), schema=placed)
    moved = put(local_lake, "2024-01", rows("a", file=["new.warc"]), schema=placed)
    assert moved.content_hash == first.content_hash
    assert local_lake.read(TABLE)["file"].to_pylist() == ["new.warc"]


def test_equal_content_lands_where_it_is_asked_to(local_lake: Lake) -> None:
    put(local_lake, "2024-01", rows("a"))
    (damaged,) = local_lake.files(TABLE)
    attempt = local_lake.begin(TABLE, "2024-01", SCHEMA)
    local_lake.commit(attempt, write(local_lake, attempt, rows("a")), replaces_equal=True)
    (whole,) = local_lake.files(TABLE)
    assert whole.path != damaged.path


def test_files_that_are_gone_or_cut_are_named(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    assert lake.damaged_files(TABLE, "2024-01") == []
    (file,) = lake.files(TABLE)
    lake.store.write(lake.store.key(file.path), b"PAR1")
    assert lake.damaged_files(TABLE, "2024-01") == [file.path]
    lake.store.delete([lake.store.key(file.path)])
    assert lake.damaged_files(TABLE, "2024-01") == [file.path]


def test_a_batch_lands_in_one_version_or_not_at_all(lake: Lake) -> None:
    attempts = [lake.begin(TABLE, f"2024-{month:02d}", SCHEMA) for month in (1, 2, 3)]
    commits = [
        Commit(attempt=item, files=write(lake, item, rows(item.partition)), state={"gate_failures": []})
        for item in attempts
    ]
    lake.begin(TABLE, "2024-02", SCHEMA)
    with pytest.raises(StaleAttemptError):
        lake.commit_many(commits)
    with pytest.raises(TableMissingError, match="nothing has been committed"):
        lake.read(TABLE)
    states = lake.commit_many([commits[0], commits[2]])
    assert len({state.snapshot_id for state in states}) == 1
    assert sorted(doc_ids(lake)) == ["2024-01", "2024-03"]


def test_a_column_can_be_added_to_a_table_that_has_data(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    wider = SCHEMA.append(pa.field("language", pa.string(), nullable=False))
    put(lake, "2024-02", rows("b", language=["es"]), schema=wider)
    found = lake.read(TABLE).sort_by("doc_id").to_pylist()
    assert found == [
        {"partition_key": "2024-01", "doc_id": "a", "words": 1, "language": None},
        {"partition_key": "2024-02", "doc_id": "b", "words": 1, "language": "es"},
    ]
    put(lake, "2024-03", rows("c"))
    assert lake.read(TABLE, partitions=["2024-03"], columns=["language"]).to_pylist() == [{"language": None}]


def test_a_changed_type_is_refused(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    changed = pa.schema([SCHEMA.field("doc_id"), pa.field("words", pa.string())])
    with pytest.raises(SchemaMismatchError, match="words is int64, wanted string"):
        lake.begin(TABLE, "2024-02", changed)


def test_a_missing_partition_is_named(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    with pytest.raises(PartitionMissingError, match="curated/web/documents has no partition '2024-09'; it has 2024-01"):
        lake.files(TABLE, ["2024-01", "2024-09"])
    making = "corpusmill materialize --assets"
    with pytest.raises(
        TableMissingError, match=f"no table sources/code/a in .*; make it first: {making} sources/code/a"
    ):
        lake.scan("sources/code/a")
    with pytest.raises(TableMissingError, match=r"did you mean curated/web/documents\? Else make it first"):
        lake.scan("curated/wbe/documents")


def test_a_partition_whose_gate_failed_is_refused(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    put(lake, "2024-02", rows("b"), gate_failures=["retention"])
    with pytest.raises(GateFailedError, match=r"'2024-02' \(retention\)"):
        lake.read(TABLE)
    assert doc_ids(lake, partitions=["2024-01"]) == ["a"]
    assert doc_ids(lake, partitions=["2024-02"], allow_failed_gate=True) == ["b"]


@pytest.mark.parametrize(
    "partition", ["es|2024-01", "a b", "../../etc", "..", "/", "C:\\x", "crème·日本", "~7C", "%2F", "a#b?c=d&e"]
)
def test_any_partition_name_stays_inside_its_folder(lake: Lake, partition: str) -> None:
    put(lake, "plain", rows("other"))
    put(lake, partition, rows("mine"))
    (file,) = lake.files(TABLE, [partition])
    folder, segment, _ = lake.store.key(file.path).rsplit("/", 2)
    assert folder == f"data/{TABLE}"
    assert segment not in ("", ".", "..")
    assert lake.store.exists(file.path)
    assert doc_ids(lake, partitions=[partition]) == ["mine"]
    assert sorted(lake.partitions(TABLE)) == sorted(["plain", partition])


@pytest.mark.parametrize("partition", ["", "a\nb", "a\x00b", "x" * 81, "\ud800"])
def test_an_unusable_partition_name_is_refused(local_lake: Lake, partition: str) -> None:
    with pytest.raises(ValueError, match="a partition's name has 1 to 80 bytes"):
        local_lake.begin(TABLE, partition, SCHEMA)


@pytest.mark.parametrize(
    "table", ["", "documents", "../x/y", "curated/../web", "/curated/web", "Curated/web/x", "a/b.c/d", "a//b"]
)
def test_an_unusable_table_name_is_refused(local_lake: Lake, table: str) -> None:
    with pytest.raises(ValueError, match="a table is named stage/dataset/table"):
        local_lake.begin(table, "2024-01", SCHEMA)


def test_a_tag_names_one_version_for_ever(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    first = lake.snapshot_id(TABLE)
    put(lake, "2024-01", rows("b"))
    lake.tag(TABLE, "mix web v1", first)
    lake.tag(TABLE, "mix web v1", first)
    assert lake.tags(TABLE) == {"mix web v1": first}
    with pytest.raises(ValueError, match=f"already names version {first}"):
        lake.tag(TABLE, "mix web v1", lake.snapshot_id(TABLE))
    with pytest.raises(TableMissingError, match="has no version 17"):
        lake.tag(TABLE, "other", 17)


def test_a_lake_and_its_settings_travel(lake: Lake) -> None:
    put(lake, "2024-01", rows("a"))
    assert doc_ids(pickle.loads(pickle.dumps(lake))) == ["a"]
    assert LakeSettings.from_json(lake.settings.to_json()) == lake.settings


def test_a_lake_on_s3_needs_a_catalog() -> None:
    with pytest.raises(ValueError, match="names no catalog"):
        LakeSettings(store=StoreSettings(root="s3://bucket/lake"))


@pytest.mark.slow
def test_many_small_commits_keep_the_table_whole(local_lake: Lake) -> None:
    """More commits than manifests are kept apart, so that merging them is part of it."""
    lake = local_lake
    for number in range(105):
        put(lake, f"p{number % 104:03d}", rows(f"d{number:03d}"))
    expected = sorted(f"d{number:03d}" for number in range(1, 105))
    assert sorted(doc_ids(lake)) == expected
    table = lake.catalog.load_table(("curated", "web", "documents"))
    manifests = table.current_snapshot().manifests(table.io)
    assert len(manifests) < 20
    assert sorted(table.scan(selected_fields=("doc_id",)).to_arrow().column("doc_id").to_pylist()) == expected


def test_old_metadata_is_forgotten_while_versions_stay(local_lake: Lake) -> None:
    put(local_lake, "p", rows("first"))
    first = local_lake.snapshot_id(TABLE)
    for _ in range(60):
        local_lake.begin(TABLE, "q", SCHEMA)
        local_lake.begin(TABLE, "p", SCHEMA)
    put(local_lake, "p", rows("last"))
    metadata = [item.key for item in local_lake.store.list("tables/") if item.key.endswith(".metadata.json")]
    assert len(metadata) <= 102
    assert doc_ids(local_lake, snapshot_id=first) == ["first"]


def test_files_of_another_partition_are_refused(local_lake: Lake) -> None:
    one, other = local_lake.begin(TABLE, "one", SCHEMA), local_lake.begin(TABLE, "other", SCHEMA)
    files = write(local_lake, one, rows("a"))
    with pytest.raises(ValueError, match="was written for 'one', not for 'other'"):
        local_lake.commit(other, files)
    with pytest.raises(ValueError, match="a file can be committed once"):
        local_lake.commit(one, files * 2)


def test_case_4_a_garbled_file_is_refused_by_name(local_lake: Lake) -> None:
    """CASES 4: pages carry checksums; the other partitions stay readable."""
    put(local_lake, "good", rows("a"))
    put(local_lake, "bad", rows(*(f"document {number}" for number in range(50))))
    (file,) = local_lake.files(TABLE, ["bad"])
    first = pq.read_metadata(file.path).row_group(0).column(0)
    garbled = bytearray(Path(file.path).read_bytes())
    garbled[first.dictionary_page_offset + first.total_compressed_size - 1] ^= 0xFF
    Path(file.path).write_bytes(garbled)
    with pytest.raises(
        DataFileError, match=r"(?s)of partition 'bad' cannot be read.*anew: corpusmill materialize --again"
    ):
        local_lake.read(TABLE)
    assert doc_ids(local_lake, partitions=["good"]) == ["a"]


def test_case_4_a_garbled_footer_never_changes_what_is_read(local_lake: Lake) -> None:
    """CASES 4: no checksum covers a footer."""
    put(local_lake, "bad", rows(*(f"document {number}" for number in range(50))))
    (file,) = local_lake.files(TABLE)
    whole, wanted = Path(file.path).read_bytes(), local_lake.read(TABLE)
    for place in range(len(whole) - pq.read_metadata(file.path).serialized_size - 8, len(whole), 3):
        Path(file.path).write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with suppress(DataFileError):
            assert local_lake.read(TABLE).equals(wanted), place


def test_case_9_a_missing_file_is_refused_by_name(local_lake: Lake) -> None:
    """CASES 9: an input that is gone never reads as no rows."""
    put(local_lake, "p", rows("a"))
    (file,) = local_lake.files(TABLE)
    local_lake.store.delete([file.path])
    with pytest.raises(DataFileError, match=r"\.parquet of partition 'p' cannot be read"):
        local_lake.read(TABLE)


GARBLED = {
    "cut": lambda data: data[: len(data) // 2],
    "overwritten": lambda data: data[: len(data) // 2] + bytes(200) + data[len(data) // 2 + 200 :],
    "gone": lambda data: None,
}
METADATA = {
    "*-m0.avro": r"the manifest .*-m0\.avro",
    "snap-*.avro": r"the list of manifests .*snap-.*\.avro",
    "*.metadata.json": f"the newest metadata of {TABLE}",
}


@pytest.mark.parametrize(
    ("how", "kind"),
    # Metadata that is gone may have been followed by newer ones, so that is told elsewhere.
    [(how, kind) for how in GARBLED for kind in METADATA if (how, kind) != ("gone", "*.metadata.json")],
)
def test_garbled_metadata_is_named_to_readers_and_writers(local_lake: Lake, how: str, kind: str) -> None:
    put(local_lake, "p", rows("a"))
    attempt = local_lake.begin(TABLE, "p", SCHEMA)
    files = write(local_lake, attempt, rows("b"))
    for path in Path(local_lake.settings.store.root, "tables").rglob(kind):
        garbled = GARBLED[how](path.read_bytes())
        path.unlink()
        if garbled is not None:
            path.write_bytes(garbled)
    for use in (lambda: local_lake.read(TABLE), lambda: local_lake.commit(attempt, files)):
        with pytest.raises(
            DataFileError, match=rf"{METADATA[kind]}.* cannot be read \(.*\); put that file back from a copy"
        ):
            use()


@pytest.mark.parametrize(
    "catalog", ["mysql://nobody", "postgresql+psycopg2://nobody@127.0.0.1:1/none", "http://127.0.0.1:1"]
)
def test_a_catalog_that_does_not_answer_is_refused_at_start(tmp_path: Path, catalog: str) -> None:
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path)), catalog=catalog))
    with pytest.raises(UnsuitableStoreError, match="the catalog"):
        lake.check()


def test_case_33_an_unusable_folder_is_refused_by_the_first_use(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    lake = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "file" / "lake"))))
    with pytest.raises(UnsuitableStoreError, match="cannot keep a lake"):
        lake.begin(TABLE, "p", SCHEMA)
    with pytest.raises(UnsuitableStoreError, match="cannot keep a lake"):
        lake.check()
