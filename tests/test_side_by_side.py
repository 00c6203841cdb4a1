"""Two workers get whole files, in an order that ends them together."""

import random
from pathlib import Path

from tests.side_by_side import SHARES, place, share

ROOT = Path(__file__).parents[1]


def test_what_the_shares_list_is_there() -> None:
    assert [path for places in SHARES for path in places if not (ROOT / path).exists()] == []


def test_a_file_is_in_one_share_and_some_files_are_together() -> None:
    nodes = [
        "tests/live/test_sensors.py::test_a",
        "tests/live/test_browser.py::test_b[x::y]",
        "tests/engines/test_vllm.py::test_c",
        "tests/test_whole_way.py::test_d",
        "tests/mix/test_solve.py::test_e",
        "tests/mix/test_solve.py::TestMore::test_f",
        "tests/mix/test_pack.py::test_g",
    ]
    shares = [share(node) for node in nodes]
    assert [shares.index(name) for name in shares] == [0, 0, 2, 2, 4, 4, 6]


def test_the_longest_come_first_and_what_is_not_listed_last() -> None:
    files = [path if path.endswith(".py") else f"{path}test_any.py" for places in SHARES for path in places]
    unlisted = ["tests/mix/test_pack.py", "tests/curate/test_code.py"]
    collected = [*unlisted, *random.Random(0).sample(files, len(files))]
    assert sorted(collected, key=place) == [*files, *unlisted]
