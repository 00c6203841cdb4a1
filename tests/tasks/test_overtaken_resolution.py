"""Signatures that change while they are resolved: the resolution is that of the later ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusmill.dedup.evidence import rank_snapshots
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.document import RESOLUTION
from corpusmill.tasks.evidence import find_evidence
from corpusmill.tasks.known_links import Known
from corpusmill.tasks.task import Job, execute
from tests.dedup.planted import edited
from tests.tasks.dedup_lake import DATASET, DedupLake
from tests.tasks.signed_lake import put_signatures, resolve_at_once

PARAMETERS = DedupParameters(num_bands=20, rows_per_band=4)
PAGE, NEAR = edited(1, 60, 0), edited(1, 60, 2)


def test_a_snapshot_that_changes_meanwhile_is_resolved_again(tmp_path: Path) -> None:
    lake = DedupLake(tmp_path, PARAMETERS.to_json())
    put_signatures(lake, "1", [PAGE], PARAMETERS)
    put_signatures(lake, "2", [NEAR], PARAMETERS)
    waiting = [[edited(7, 60, 0)]]

    def change_once(message: str, numbers: Mapping[str, Any]) -> None:
        if waiting and "bands: committed" in message:
            put_signatures(lake, "1", waiting.pop(), PARAMETERS)

    arguments = {"settings": lake.settings.to_json(), "dataset": DATASET, "partition": "all"}
    execute("resolve", {**arguments, "parameters": lake.parameters}, change_once)
    assert not waiting
    assert lake.resolution().num_rows == 0
    put_signatures(lake, "1", [PAGE], PARAMETERS)
    lake.resolve()
    assert lake.resolution().equals(resolve_at_once(lake, PARAMETERS).table)
    assert lake.resolution().num_rows == 1


def test_a_snapshot_that_arrives_meanwhile_is_left_to_the_next_resolution(tmp_path: Path) -> None:
    lake = DedupLake(tmp_path, PARAMETERS.to_json())
    put_signatures(lake, "1", [PAGE, NEAR], PARAMETERS)
    lake.resolve()
    put_signatures(lake, "2", [PAGE, NEAR], PARAMETERS)
    attempt = lake.lake.begin(f"curated/{DATASET}/resolution", "all", RESOLUTION)
    job = Job(
        settings=lake.settings,
        lake=lake.lake,
        dataset=DATASET,
        partition="all",
        parameters=lake.parameters,
        schema=RESOLUTION,
        report=lambda message, numbers: None,
    )
    found = find_evidence(
        job,
        attempt,
        ranking=rank_snapshots(["1"], parameters=PARAMETERS, order=None),
        signatures={"1": "any"},
        before=Known(),
    )
    assert (found.evidence.exact.num_rows, found.evidence.edges.num_rows) == (0, 1)
