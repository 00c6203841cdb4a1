"""What removing a partition takes away and leaves behind, over a lake of small tables."""

from pathlib import Path

import pyarrow as pa
import pytest

from corpusmill.lake.files import ShardWriter
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from jobs.removal import Node, lines, plan_removal

SCHEMA = pa.schema([pa.field("doc_id", pa.string())])
NODES = {
    "curated/web/documents": Node(
        upstream=["sources/web/records", "curated/web/resolution"], partition_set="web_snapshots"
    ),
    "curated/web/resolution": Node(upstream=["sources/web/records"], partition_set=None),
    "mixed/mixtures/plan": Node(upstream=["tokenized/web/sequences"], partition_set="mixtures"),
    "sources/code/records": Node(upstream=[], partition_set="code_snapshots"),
    "sources/web/records": Node(upstream=[], partition_set="web_snapshots"),
    "synthesized/web/requests": Node(upstream=["curated/web/documents"], partition_set="web_snapshots"),
    "tokenized/web/sequences": Node(upstream=["curated/web/documents"], partition_set="web_snapshots"),
}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    opened = Lake(LakeSettings(store=StoreSettings(root=str(tmp_path / "lake"))))
    for table, partition in [
        ("sources/web/records", "2024"),
        ("sources/web/records", "2025"),
        ("sources/code/records", "2024"),
        ("curated/web/bands", "2024"),
        ("curated/web/bands", "2025"),
        ("curated/code/bands", "2024"),
        ("curated/web/documents", "2024"),
        ("curated/web/resolution", "all"),
        ("synthesized/web/requests", "plain|2024"),
        ("synthesized/web/requests", "rhyme|2025"),
        ("tokenized/web/sequences", "2024"),
    ]:
        attempt = opened.begin(table, partition, SCHEMA)
        with ShardWriter(
            opened.store, directory=attempt.directory, name=attempt.attempt, schema=SCHEMA, partition=partition
        ) as writer:
            writer.write(pa.table({"doc_id": ["a"]}, schema=SCHEMA))
        opened.commit(attempt, writer.files)
    opened.tag("tokenized/web/sequences", "mix-main-1", opened.snapshot_id("tokenized/web/sequences"))
    return opened


def test_a_snapshot_goes_from_every_table_of_its_set_and_no_other(lake: Lake) -> None:
    found = plan_removal(lake, NODES, partition_set="web_snapshots", partition="2024")
    assert {(state.table, state.partition) for state in found.going} == {
        ("sources/web/records", "2024"),
        ("curated/web/bands", "2024"),
        ("curated/web/documents", "2024"),
        ("synthesized/web/requests", "plain|2024"),
        ("tokenized/web/sequences", "2024"),
    }
    assert found.going[-1].table == "sources/web/records", "what others are made from goes last"
    assert found.pinned == {"tokenized/web/sequences": ["mix-main-1"]}
    assert found.seen_by == ["curated/web/resolution"], "no mixture is planned"


def test_what_stays_and_what_to_do_is_told(lake: Lake) -> None:
    found = plan_removal(lake, NODES, partition_set="web_snapshots", partition="2024")
    told = list(lines(found, partition="2024", source="/crawls/2024"))
    assert told[0] == "Goes: the partition 2024, and of the tables' current versions"
    assert told[1].startswith("  sources/web/records 2024: 1 rows,")
    assert told[6:] == [
        "Stays: the snapshot in /crawls/2024; while it lies there, being named, `corpusmill demo` or the sensor for new "
        "snapshots makes it a partition again",
        "Stays: versions of tokenized/web/sequences that are pinned (mix-main-1), with their streams",
        "Was made from it, make it again: corpusmill backfill --assets curated/web/resolution --all",
        "Files are deleted by `corpusmill maintain` once no version names them.",
    ]
