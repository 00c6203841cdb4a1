"""Toy rules, shards and services that engines' own processes can import too."""

import os
import sys
from pathlib import Path

import pytest

TOYS = Path(__file__).parent / "toys"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, scope="session")
def toys_on_path():
    """Put the toys where this process and every process started by it can import them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOYS))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(TOYS), str(ROOT), os.environ.get("PYTHONPATH", "")]))
        yield
    assert str(TOYS) not in sys.path
