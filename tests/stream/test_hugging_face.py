"""The stream as a Hugging Face dataset: rows and stretches, and the dataset itself where the package is installed."""

import importlib.util

import pytest

from corpusmill.stream import hugging_face
from corpusmill.stream.hugging_face import hugging_face_dataset, rows, stretches
from corpusmill.stream.loader import MixtureStream

IS_INSTALLED = importlib.util.find_spec("datasets") is not None


def as_lists(rows) -> list[dict]:
    return [{name: list(value) if hasattr(value, "__len__") else value for name, value in row.items()} for row in rows]


def wanted(stream: MixtureStream, start: int) -> list[dict]:
    return [
        {
            "input_ids": one.tokens.tolist(),
            "lengths": one.lengths.tolist(),
            "position": one.position,
            "next_position": one.position - stream.rank + stream.world_size,
        }
        for one in stream.read(range(start + stream.rank, stream.num_positions, stream.world_size))
    ]


@pytest.mark.parametrize(("start", "rank", "world_size"), [(0, 0, 1), (7, 1, 3), (60, 2, 3)])
def test_stretches_hold_what_the_rank_has_in_its_order(demo, monkeypatch, start, rank, world_size):
    monkeypatch.setattr(hugging_face, "STRETCH", 5)
    stream = MixtureStream(demo.settings, "demo", rank=rank, world_size=world_size, start=start)
    cut = list(stretches(stream))
    assert cut[0][0] == start and cut[-1][1] == stream.num_positions
    assert all(stop - first == 5 * world_size for first, stop in cut[:-1])
    assert as_lists(rows(stream, cut)) == wanted(stream, start)
    assert as_lists(rows(stream, cut[1:2])) == wanted(stream, start)[5:10]


def test_a_long_stream_has_a_bounded_number_of_stretches(demo, monkeypatch):
    monkeypatch.setattr(hugging_face, "STRETCH", 1)
    monkeypatch.setattr(hugging_face, "MOST_STRETCHES", 8)
    stream = MixtureStream(demo.settings, "demo", world_size=2)
    cut = list(stretches(stream))
    assert len(cut) <= 8 and cut[-1][1] == stream.num_positions
    assert [stop for _, stop in cut[:-1]] == [first for first, _ in cut[1:]]


@pytest.mark.skipif(IS_INSTALLED, reason="datasets is installed")
def test_without_the_package_a_line_says_what_to_install(demo):
    with pytest.raises(ValueError, match="needs the package datasets, which is not installed: pip install datasets"):
        hugging_face_dataset(MixtureStream(demo.settings, "demo"))


@pytest.mark.skipif(not IS_INSTALLED, reason="datasets is not installed; it is optional")
def test_the_dataset_has_the_rows_and_goes_on_from_its_state(demo, monkeypatch):
    monkeypatch.setattr(hugging_face, "STRETCH", 5)
    stream = MixtureStream(demo.settings, "demo", rank=1, world_size=2, start=4)
    dataset, found = hugging_face_dataset(stream), []
    for row in dataset:
        found.append(row)
        if len(found) == 12:
            state = dataset.state_dict()
            break
    again = hugging_face_dataset(stream)
    again.load_state_dict(state)
    assert found + list(again) == wanted(stream, 4)
    other = MixtureStream(demo.settings, "demo", start=found[-1]["next_position"])
    assert next(iter(hugging_face_dataset(other)))["position"] == 4 + 12 * 2
