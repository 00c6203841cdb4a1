"""Files that a resolution reads and that are gone or garbled are named, with what to do; and that works."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corpusmill.dedup.parameters import DedupParameters
from corpusmill.tasks.task import execute
from tests.dedup.planted import edited
from tests.tasks.dedup_lake import DATASET, DedupLake
from tests.tasks.signed_lake import put_signatures, resolve_at_once

PARAMETERS = DedupParameters(num_bands=20, rows_per_band=4)


def band_file(lake: DedupLake) -> str:
    return lake.lake.files(f"curated/{DATASET}/bands", ["1"])[0].path


def members(lake: DedupLake) -> str:
    state = lake.lake.partition(f"curated/{DATASET}/bands", "1")
    assert state is not None
    return str(state.state["objects"]["members"])


def links(lake: DedupLake) -> str:
    state = lake.lake.partition(f"curated/{DATASET}/resolution", "all")
    assert state is not None
    return str(state.state["objects"]["links/1"])


def ledger(lake: DedupLake) -> str:
    state = lake.lake.partition(f"curated/{DATASET}/resolution", "all")
    assert state is not None
    return str(state.state["objects"]["ledger"])


def resolution(lake: DedupLake) -> str:
    return lake.lake.files(f"curated/{DATASET}/resolution")[0].path


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def garble(file: Path) -> None:
    """Change every byte of the pages; the footer stays."""
    data = file.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    file.write_bytes(data[:4] + bytes(value ^ 0x55 for value in data[4:end]) + data[end:])


def two_snapshots_of_three(folder: Path) -> DedupLake:
    """Return a lake that resolved two snapshots and has the signatures of a third."""
    lake = DedupLake(folder, PARAMETERS.to_json())
    put_signatures(lake, "1", [edited(base, 60, replaced) for base in range(6) for replaced in (0, 2)], PARAMETERS)
    put_signatures(lake, "2", [edited(base, 60, 5) for base in range(3)], PARAMETERS)
    lake.resolve()
    put_signatures(lake, "3", [edited(base, 60, 3) for base in range(6)], PARAMETERS)
    return lake


def resolve_anew(lake: DedupLake) -> None:
    arguments = {"settings": lake.settings.to_json(), "dataset": DATASET, "partition": "all", "again": True}
    execute("resolve", {**arguments, "parameters": lake.parameters}, lambda message, numbers: None)


@pytest.mark.parametrize("damage", [Path.unlink, cut, garble])
@pytest.mark.parametrize("damaged", [band_file, members, links, ledger])
def test_what_is_damaged_is_named_and_made_again(
    tmp_path: Path, damaged: Callable[[DedupLake], str], damage: Callable[[Path], None]
) -> None:
    lake = two_snapshots_of_three(tmp_path)
    name = damaged(lake)
    damage(Path(lake.lake.store.uri(name)))
    with pytest.raises(ValueError, match=rf"(?s){Path(name).name}.*materialize --again"):
        lake.resolve()
    resolve_anew(lake)
    assert lake.resolution().equals(resolve_at_once(lake, PARAMETERS).table)


@pytest.mark.parametrize("damage", [Path.unlink, cut, garble])
def test_a_damaged_resolution_does_not_stand_in_its_own_way(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    lake = two_snapshots_of_three(tmp_path)
    damage(Path(resolution(lake)))
    resolve_anew(lake)
    assert lake.resolution().equals(resolve_at_once(lake, PARAMETERS).table)
