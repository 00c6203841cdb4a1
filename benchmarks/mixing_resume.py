"""Resume: 1,000 random positions with 1, 2, 4 and 8 ranks and 0 to 4 workers, DataLoaders, and a trainer killed with -9.

    python -m benchmarks.mixing_resume                   all of it
    python -m benchmarks.mixing_resume train FOLDER      the trainer that is killed

The reference is the uninterrupted stream of one rank. Every trial reads some steps with some ranks and workers, takes the
checkpoint, and goes on from it with others; workers are played in this process as a DataLoader takes turns, and true
DataLoaders with workers do the same for some. What differs by one byte counts.
"""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.mixing_packed import MIX, make_lake
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.torch_dataset import MixtureLoader, worker_batches

LENGTH = 128
SIZES = {"web": 12_000, "code": 5_000, "stem": 3_000}
TRIALS = 1_000
WORLDS, WORKERS, BATCHES = (1, 2, 4, 8), (0, 1, 2, 3, 4), (1, 2, 3)
LOADERS = ((1, 2), (2, 1), (1, 4), (2, 2))
"""World size and workers of the legs with true DataLoaders, each going on from the one before."""
KILLS = 3


def measures() -> list[Measure]:
    """Return how many trials and legs were not the uninterrupted stream."""
    with tempfile.TemporaryDirectory() as folder:
        settings = make_lake(Path(folder), SIZES, sequence_length=LENGTH)
        stream = MixtureStream(settings, MIX)
        whole = [(one.position, one.tokens.tobytes()) for one in stream.read(range(stream.num_positions))]
        different, positions = _trials(stream, whole)
        return [
            Measure(measure="positions resumed at", ours=positions, bar=at_least(0.95 * TRIALS)),
            Measure(measure="of them not byte-identical", ours=different, bar=at_most(0)),
            Measure(measure="legs of DataLoaders with workers", ours=len(LOADERS)),
            Measure(measure="of them not byte-identical", ours=_loaders(settings, whole), bar=at_most(0)),
            Measure(measure="trainers with two workers killed with -9", ours=KILLS),
            Measure(measure="samples that they lost or changed", ours=_killed(Path(folder), whole), bar=at_most(0)),
        ]


def _trials(stream: MixtureStream, whole: list[tuple[int, bytes]]) -> tuple[int, int]:
    """Return how many trials differ, and at how many distinct positions they resumed."""
    random = np.random.default_rng(3)
    different, positions = 0, set()
    for start in random.integers(0, len(whole) - 300, TRIALS).tolist():
        stream.seek(start)
        state, taken = stream.state_dict(), []
        for _ in range(2):
            world_size, num_workers, batch_size = (int(random.choice(of)) for of in (WORLDS, WORKERS, BATCHES))
            ranks = [stream.for_rank(rank, world_size) for rank in range(world_size)]
            for one in ranks:
                one.load_state_dict(state)
            steps = int(random.integers(1, 5))
            taken += _together([islice(_batches(one, batch_size, num_workers), steps) for one in ranks])
            states = [one.state_dict() for one in ranks]
            different += states != [states[0]] * world_size
            state = states[0]
            positions.add(state["position"])
        different += taken != whole[start : start + len(taken)] or state["position"] != start + len(taken)
    return different, len(positions)


def _batches(stream: MixtureStream, batch_size: int, num_workers: int) -> Iterator[dict[str, Any]]:
    """Take batches in turn from as many workers as DataLoader would, each with the stream as it was at the start."""
    workers = max(1, num_workers)
    held = [
        worker_batches(
            stream.for_rank(stream.rank, stream.world_size), batch_size=batch_size, worker=number, num_workers=workers
        )
        for number in range(workers)
    ]
    for turn in range(sys.maxsize):
        batch = next(held[turn % workers], None)
        if batch is None:
            return
        stream.seek(batch["next_position"])
        yield batch


def _together(ranks: list[Iterator[dict[str, Any]]]) -> list[tuple[int, bytes]]:
    """Return what all ranks were given, in global order."""
    return sorted(row for rank in ranks for batch in rank for row in _rows(batch))


def _rows(batch: dict[str, Any]) -> list[tuple[int, bytes]]:
    return [
        (int(position), tokens[document > 0].numpy().tobytes())
        for position, tokens, document in zip(batch["position"], batch["tokens"], batch["document"], strict=True)
    ]


def _loaders(settings: LakeSettings, whole: list[tuple[int, bytes]]) -> int:
    different, state = 0, {**MixtureStream(settings, MIX).state_dict(), "position": 777}
    for world_size, num_workers in LOADERS:
        loaders = [
            MixtureLoader(
                MixtureStream(settings, MIX, rank=rank, world_size=world_size), batch_size=4, num_workers=num_workers
            )
            for rank in range(world_size)
        ]
        for one in loaders:
            one.load_state_dict(state)
        taken = _together([islice(one, 7) for one in loaders])
        start, state = state["position"], loaders[0].state_dict()
        different += taken != whole[start : start + 28 * world_size] or state["position"] != start + 28 * world_size
    return different


def _killed(folder: Path, whole: list[tuple[int, bytes]]) -> int:
    """Kill a trainer `KILLS` times; return how many samples before its checkpoint were lost or changed."""
    for number in range(KILLS):
        command = [sys.executable, "-m", "benchmarks.mixing_resume", "train", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trainer:
            assert trainer.stdout is not None
            for _ in range(3 + 5 * number):
                trainer.stdout.readline()
            trainer.send_signal(signal.SIGKILL)
    trained = [json.loads(line) for line in (folder / "trained.jsonl").read_text().splitlines()]
    done = json.loads((folder / "checkpoint.json").read_text())["position"]
    kept = {position: bytes.fromhex(tokens) for position, tokens in trained}
    return sum(kept.get(position) != tokens for position, tokens in whole[:done]) + (done == 0)


def train(folder: Path) -> None:
    """Train from the checkpoint: each step's samples are written down, then the checkpoint is replaced."""
    loader = MixtureLoader(
        MixtureStream(LakeSettings(store=StoreSettings(root=str(folder / "lake"))), MIX), batch_size=8, num_workers=2
    )
    checkpoint = folder / "checkpoint.json"
    if checkpoint.exists():
        loader.load_state_dict(json.loads(checkpoint.read_text()))
    for step, batch in enumerate(loader):
        with (folder / "trained.jsonl").open("a") as file:
            file.writelines(f"{json.dumps([position, tokens.hex()])}\n" for position, tokens in _rows(batch))
        (folder / "next.json").write_text(json.dumps(loader.state_dict()))
        (folder / "next.json").replace(checkpoint)
        print(step, flush=True)


if __name__ == "__main__":
    train(Path(sys.argv[2])) if sys.argv[1:2] == ["train"] else print_measures(measures())
