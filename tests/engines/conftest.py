"""Toy rules, shards and services that engines' own processes can import too."""

import os
import sys
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"
ROOT = Path(__file__).parents[2]


sys.path.insert(0, str(TOYS))


@pytest.fixture(autouse=True, scope="session")
def toys_in_other_processes():
    """Let every process that a test starts import the toys, as the tests themselves do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TOYS), str(ROOT), os.environ.get("PYTHONPATH", "")]))
        yield
