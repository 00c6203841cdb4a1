"""The stream in a DataLoader: whole batches, any number of workers, and two real ranks that are killed and resumed by one."""

import os
import socket
import subprocess
import sys
from itertools import islice
from multiprocessing import forkserver
from pathlib import Path

import pytest

from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.torch_dataset import MixtureLoader, torch_dataset, torch_map_dataset
from tests.stream.conftest import SmallLake, sequence_row

pytest.importorskip("torch", reason="torch is not installed: the cpu extra brings it")

WEB = "tokenized/web/sequences"
RANK = Path(__file__).with_name("training_rank.py")


def batches_of(stream: MixtureStream, **settings) -> list[dict]:
    return [as_lists(batch) for batch in MixtureLoader(stream, **settings)]


def as_lists(batch: dict) -> dict:
    return {name: value if isinstance(value, int) else value.tolist() for name, value in batch.items()}


def test_a_batch_written_out(demo):
    stream = MixtureStream(demo.settings, "demo")
    first, second = stream.read([0, 1])
    batch = as_lists(next(iter(MixtureLoader(stream, batch_size=2))))
    assert batch == {
        "tokens": [one.tokens.tolist() + [0] * (8 - len(one.tokens)) for one in (first, second)],
        "document": [[1, 1] + [2] * (len(one.tokens) - 2) + [0] * (8 - len(one.tokens)) for one in (first, second)],
        "position": [0, 1],
        "next_position": 2,
    }


def test_only_whole_global_batches_are_given(demo):
    """129 positions, batches of 4 on 2 ranks: 16 global batches of 8, and one position is left."""
    loaders = [
        MixtureLoader(MixtureStream(demo.settings, "demo", rank=rank, world_size=2), batch_size=4) for rank in (0, 1)
    ]
    assert [len(loader) for loader in loaders] == [16, 16]
    given = [as_lists(batch) for loader in loaders for batch in loader]
    assert len(given) == 32
    assert sorted(position for batch in given for position in batch["position"]) == list(range(128))


def test_positions_in_any_order_are_those_of_the_stream(demo):
    """A map-style dataset: a position is a row, a list of them is a batch."""
    from torch.utils.data import BatchSampler, DataLoader

    dataset = torch_map_dataset(MixtureStream(demo.settings, "demo", rank=1, world_size=2))
    rows = {
        row: batch
        for batch in batches_of(MixtureStream(demo.settings, "demo"), batch_size=1)
        for row in batch["position"]
    }
    assert len(dataset) == 129
    asked = [77, 3, 3, 128, 0, 64]
    loader = DataLoader(dataset, batch_size=None, sampler=BatchSampler(asked, 4, drop_last=False))
    for batch, positions in zip(loader, (asked[:4], asked[4:]), strict=True):
        assert batch["position"].tolist() == positions
        for name in ("tokens", "document"):
            assert batch[name].tolist() == [rows[position][name][0] for position in positions]
    one = dataset[3]
    assert (one["tokens"].tolist(), int(one["position"])) == (rows[3]["tokens"][0], 3)
    with pytest.raises(ValueError, match="has positions 0 to 128, got 129"):
        dataset[129]


@pytest.mark.slow
def test_batches_of_workers_stay_as_they_were_given(demo):
    """Workers write into memory that is used again: what was handed out must not be in it."""
    kept = list(MixtureLoader(MixtureStream(demo.settings, "demo"), batch_size=2, num_workers=1))
    assert [as_lists(batch) for batch in kept] == batches_of(MixtureStream(demo.settings, "demo"), batch_size=2)


@pytest.mark.slow
def test_case_25_workers_change_nothing_and_prefetched_batches_do_not_count(demo):
    whole = batches_of(MixtureStream(demo.settings, "demo"), batch_size=4)
    loader = MixtureLoader(MixtureStream(demo.settings, "demo"), batch_size=4, num_workers=2)
    begun = [as_lists(batch) for batch in islice(loader, 5)]
    state = loader.state_dict()
    assert state["position"] == 20
    resumed = MixtureLoader(MixtureStream(demo.settings, "demo"), batch_size=4, num_workers=1)
    resumed.load_state_dict(state)
    assert begun + [as_lists(batch) for batch in resumed] == whole


@pytest.mark.s3
@pytest.mark.slow
def test_workers_read_from_s3(s3_server, s3_root, tmp_path):
    """The same code with other settings; connections are opened by each worker."""
    # Workers are forked by a server that keeps the environment it was started in, which an earlier test may have done.
    forkserver._forkserver._stop()
    store = StoreSettings(root=s3_root, endpoint=s3_server.endpoint)
    remote = SmallLake(tmp_path, LakeSettings(store=store, catalog=f"sqlite:///{tmp_path / 'catalog.db'}"))
    remote.commit_sequences(WEB, "s1", [[sequence_row(1, number, number) for number in range(24)]])
    remote.plan({"web": 1}, seed=2)
    remote.lake.close()
    alone = batches_of(MixtureStream(remote.settings, "demo"), batch_size=4)
    assert len(alone) == 18
    assert batches_of(MixtureStream(remote.settings, "demo"), batch_size=4, num_workers=2) == alone


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"batch_size": "8"}, r"batch_size must be an int, got '8'; a number from the environment needs int\(...\)"),
        ({"batch_size": 2, "num_workers": -1}, "num_workers must be at least 0, got -1"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(demo, settings, told):
    with pytest.raises(ValueError, match=told):
        MixtureLoader(MixtureStream(demo.settings, "demo"), **settings)


def test_it_is_an_iterable_dataset(demo):
    from torch.utils.data import IterableDataset

    assert isinstance(torch_dataset(MixtureStream(demo.settings, "demo"), batch_size=1), IterableDataset)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ranks(folder, *, world_size: int, stop_after: int | None) -> list[subprocess.Popen]:
    """Start training ranks that agree over gloo; each writes the positions and tokens that it trained on."""
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, str(RANK), str(folder), str(rank), str(world_size), str(stop_after or 0), str(port)],
            cwd=RANK.parents[2],
            env={**os.environ, "PYTHONPATH": str(RANK.parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world_size)
    ]


@pytest.mark.slow
def test_case_25_two_ranks_give_the_global_order_and_one_goes_on_after_they_were_killed(demo, tmp_path):
    """Both ranks checkpoint after every step and are killed in the middle of the sixth; one rank goes on."""
    folder = Path(demo.settings.store.root).parent
    pair = start_ranks(folder, world_size=2, stop_after=5)
    said = [one.stdout.readline() for one in pair]
    for one in pair:
        one.kill()
    errors = [one.communicate()[1] for one in pair]
    assert said == ["ready\n", "ready\n"], errors
    [last] = start_ranks(folder, world_size=1, stop_after=None)
    errors = last.communicate()[1]
    assert last.returncode == 0, errors
    whole = [
        f"{one.position} {' '.join(map(str, one.tokens.tolist()))}"
        for one in MixtureStream(demo.settings, "demo").read(range(128))
    ]
    two = [(folder / f"trained-{rank}-of-2.txt").read_text().splitlines() for rank in (0, 1)]
    rest = (folder / "trained-0-of-1.txt").read_text().splitlines()
    assert len(two[0]) == len(two[1]) == 20 and len(rest) == 88
    assert [line for pair in zip(*two, strict=True) for line in pair] == whole[:40]
    assert rest == whole[40:]
