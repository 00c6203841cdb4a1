"""Toy rules, shards and services that engines' own processes can import too."""

import os
import sys
from pathlib import Path

import pytest

from corpusmill.engines.engine_folder import EngineFolder
from corpusmill.engines.processes import end_host_processes

TOYS = Path(__file__).parent / "toys"
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(TOYS))


@pytest.fixture(autouse=True, scope="session")
def toys_in_other_processes():
    """Let every process that a test starts import the toys, as the tests themselves do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TOYS), str(ROOT), os.environ.get("PYTHONPATH", "")]))
        yield


@pytest.fixture(scope="session")
def engine_state(tmp_path_factory):
    """A state folder for engines that several tests may share; all of them are ended at the end."""
    state = tmp_path_factory.mktemp("state")
    yield state
    end_engines(state)


@pytest.fixture
def state(tmp_path):
    """A state folder of one test, whose engines are all ended at its end, whatever it did."""
    yield tmp_path
    end_engines(tmp_path)


def end_engines(state: Path) -> None:
    for file in state.glob("engines/*/host.json"):
        record = EngineFolder(file.parent).record()
        assert record is not None
        end_host_processes(record.host_id, record.process)
