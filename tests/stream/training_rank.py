"""One training rank, as its own process: python training_rank.py FOLDER RANK WORLD_SIZE STOP_AFTER PORT.

Goes on from FOLDER/checkpoint.json if there is one. A step's samples count once all ranks have them; then rank 0 writes the
checkpoint. With STOP_AFTER it says "ready" after that many steps, the next batch in hand, and waits to be killed.
"""

import json
import sys
from pathlib import Path

import torch
import torch.distributed as distributed

from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.torch_dataset import MixtureLoader


def main(folder: Path, rank: int, world_size: int, stop_after: int, port: int) -> None:
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world_size)
    settings = LakeSettings(store=StoreSettings(root=str(folder / "lake")))
    loader = MixtureLoader(MixtureStream(settings, "demo", rank=rank, world_size=world_size), batch_size=4)
    checkpoint = folder / "checkpoint.json"
    if checkpoint.exists():
        loader.load_state_dict(json.loads(checkpoint.read_text()))
    for step, batch in enumerate(loader):
        if stop_after and step == stop_after:
            print("ready", flush=True)
            sys.stdin.readline()
        positions = [torch.zeros(4, dtype=torch.int64) for _ in range(world_size)]
        distributed.all_gather(positions, batch["position"])
        together = sorted(torch.cat(positions).tolist())
        assert together == list(range(together[0], together[0] + 4 * world_size)), together
        record(folder / f"trained-{rank}-of-{world_size}.txt", batch)
        distributed.barrier()
        if rank == 0:
            checkpoint.write_text(json.dumps(loader.state_dict()))
        distributed.barrier()
    distributed.destroy_process_group()


def record(path: Path, batch: dict) -> None:
    with path.open("a") as file:
        for position, tokens, document in zip(batch["position"], batch["tokens"], batch["document"], strict=True):
            print(int(position), *tokens[document > 0].tolist(), file=file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
