"""A resolution that knows earlier snapshots finds what one over all of them finds, and nothing else is done for it."""

import random
from pathlib import Path

import pytest

from corpusmill.dedup.parameters import DedupParameters
from tests.dedup.planted import edited, words
from tests.tasks.dedup_lake import DedupLake

TIGHT = DedupParameters(max_bucket=4, num_representatives=2, max_comparisons=5)
HISTORY = ("fresh_snapshots", "returned_documents", "changed_decisions", "snapshots_to_materialize")


def snapshots() -> dict[str, list[str]]:
    """Return clusters of exact and near copies over five snapshots, one of them large, and documents of their own."""
    texts = [edited(base, 60, replaced) for base in range(8) for replaced in (0, 0, 2, 5, 9)]
    texts += [edited(50, 120, replaced % 12) for replaced in range(45)]
    texts += [words(900_000 + 100 * number, 40) for number in range(20)]
    texts += ["too short"] * 3
    mixed = random.Random(3).sample(texts, len(texts))
    return {f"s{number}": mixed[number::5] for number in range(5)}


def numbers(result: dict) -> dict:
    return {name: value for name, value in result["metrics"].items() if name not in HISTORY}


def at_once(folder: Path, parameters: DedupParameters) -> tuple[DedupLake, dict]:
    lake = DedupLake(folder, parameters.to_json())
    for name, texts in snapshots().items():
        lake.add(name, texts, files=3)
    return lake, lake.resolve()


@pytest.mark.parametrize("parameters", [DedupParameters(), TIGHT], ids=["plain", "hot"])
def test_five_increments_give_what_one_resolution_gives(tmp_path, parameters):
    whole, expected = at_once(tmp_path / "once", parameters)
    assert whole.resolution().num_rows > 40
    steps = DedupLake(tmp_path / "five", parameters.to_json())
    result = {}
    for name, texts in snapshots().items():
        steps.add(name, texts, files=3)
        result = steps.resolve()
        assert result["metrics"]["fresh_snapshots"] == 1
    assert steps.resolution().equals(whole.resolution())
    assert numbers(result) == numbers(expected)
    assert result["tables"] == expected["tables"]
    if parameters == TIGHT:
        assert min(result["metrics"][name] for name in ("skipped_in_hot_buckets", "skipped_over_limit")) > 0
        assert result["metrics"]["hot_buckets"] > 10


def test_snapshots_come_in_groups_and_a_validation_split_ranks_first(tmp_path):
    parameters = DedupParameters(validation_share=0.3, scope="all")
    whole, expected = at_once(tmp_path / "once", parameters)
    assert expected["counts"]["dropped"]["validation_duplicate"] > 0
    steps = DedupLake(tmp_path / "groups", parameters.to_json())
    result = {}
    for number, (name, texts) in enumerate(snapshots().items()):
        steps.add(name, texts, files=3)
        if number != 2:
            result = steps.resolve()
    assert result["metrics"]["fresh_snapshots"] == 1
    assert steps.resolution().equals(whole.resolution())
    assert numbers(result) == numbers(expected)


@pytest.mark.spark
@pytest.mark.slow
def test_increments_on_spark_give_what_one_resolution_gives(tmp_path):
    whole, expected = at_once(tmp_path / "once", TIGHT)
    lake = DedupLake(tmp_path / "spark", TIGHT.to_json(), engine="spark")
    result = {}
    for number, (name, texts) in enumerate(snapshots().items()):
        lake.add(name, texts, files=3)
        if number in (2, 4):
            result = lake.resolve()
            assert result["metrics"]["fresh_snapshots"] == (3 if number == 2 else 2)
    assert lake.resolution().equals(whole.resolution())
    assert numbers(result) == numbers(expected)
