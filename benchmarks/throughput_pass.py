"""One pass over packed sequences with one tool, started with the python of its environment: tokens a second.

    python throughput_pass.py write-mosaicml TOKENS.npy FOLDER        the tokens in the tool's own format
    python throughput_pass.py write-litdata TOKENS.npy FOLDER
    python throughput_pass.py pass-ours|pass-mosaicml|pass-litdata '{...}'

A pass is over all batches of a torch DataLoader. The clock runs from the start, with workers from the first batch: what starts
the processes does not count, and what they had loaded by then counts as if it took no time. The last line of output is JSON.
"""

import json
import os
import sys
import time
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

LENGTH = 2048
CHUNK_BYTES = 64 << 20
_TORCHVISION = ("datasets", "transforms", "transforms.functional")


def timed(
    batches: Iterable[Any], *, num_batches: int, num_workers: int, tokens_of: Callable[[Any], Any]
) -> dict[str, float]:
    """Return tokens a second; the sum of the last batch keeps anybody from giving nothing."""
    started, processor, counted, number = time.perf_counter(), time.process_time(), 0, 0
    for number, batch in enumerate(batches, start=1):
        if number == 1 and num_workers:
            started, processor = time.perf_counter(), time.process_time()
            continue
        counted += tokens_of(batch).numel()
    seconds = time.perf_counter() - started
    if number != num_batches:
        raise ValueError(f"wanted {num_batches} batches, got {number}")
    return {
        "tokens_per_second": counted / seconds,
        "sum": int(tokens_of(batch).sum()),
        "processor_share": (time.process_time() - processor) / seconds,
    }


def pass_ours(asked: dict[str, Any]) -> dict[str, float]:
    from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

    from benchmarks.mixing_packed import MIX
    from corpusmill.lake.store import LakeSettings
    from corpusmill.stream.loader import MixtureStream
    from corpusmill.stream.torch_dataset import MixtureLoader, torch_map_dataset

    stream = MixtureStream(LakeSettings.from_json(asked["settings"]), MIX)
    batch_size, num_workers = asked["batch_size"], asked["num_workers"]
    num_batches = stream.num_positions // batch_size
    if asked["mode"] == "iterator":
        batches: Iterable[Any] = MixtureLoader(stream, batch_size=batch_size, num_workers=num_workers)
    else:
        sampler = BatchSampler(SequentialSampler(range(stream.num_positions)), batch_size, drop_last=True)
        context = "forkserver" if num_workers else None
        batches = DataLoader(
            torch_map_dataset(stream),
            batch_size=None,
            sampler=sampler,
            num_workers=num_workers,
            multiprocessing_context=context,
        )
    return timed(batches, num_batches=num_batches, num_workers=num_workers, tokens_of=lambda batch: batch["tokens"])


def without_torchvision() -> None:
    """Let the package be imported without what only its image datasets use."""
    import transformers.feature_extraction_utils  # noqa: F401 (which looks whether it is installed)

    made = {name: types.ModuleType(name) for name in ("torchvision", *map("torchvision.".__add__, _TORCHVISION))}
    made["torchvision.datasets"].VisionDataset = object  # type: ignore[attr-defined]
    made["torchvision.transforms.functional"].to_tensor = None  # type: ignore[attr-defined]
    sys.modules.update(made)


def write_mosaicml(tokens: str, folder: str) -> dict[str, float]:
    without_torchvision()
    from streaming import MDSWriter

    rows = np.load(tokens, mmap_mode="r")
    with MDSWriter(out=folder, columns={"tokens": f"ndarray:int32:{LENGTH}"}, size_limit=CHUNK_BYTES) as writer:
        for row in rows:
            writer.write({"tokens": np.asarray(row)})
    return {"rows": len(rows)}


def pass_mosaicml(asked: dict[str, Any]) -> dict[str, float]:
    without_torchvision()
    from streaming import LocalDataset, StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory
    from torch.utils.data import DataLoader

    clean_stale_shared_memory()
    batch_size, num_workers = asked["batch_size"], asked["num_workers"]
    if asked["mode"] == "iterator":
        dataset: Any = StreamingDataset(
            local=asked["local"],
            remote=asked.get("remote"),
            batch_size=batch_size,
            shuffle=False,
            num_canonical_nodes=1,
            predownload=asked["predownload"],
        )
        batches: Iterable[Any] = StreamingDataLoader(
            dataset, batch_size=batch_size, num_workers=num_workers, drop_last=True
        )
    else:
        dataset = LocalDataset(local=asked["local"])
        batches = DataLoader(dataset, batch_size=batch_size, num_workers=num_workers, drop_last=True)
    return timed(
        batches,
        num_batches=len(dataset) // batch_size,
        num_workers=num_workers,
        tokens_of=lambda batch: batch["tokens"],
    )


def write_litdata(tokens: str, folder: str) -> dict[str, float]:
    from litdata import TokensLoader, optimize

    rows = np.load(tokens, mmap_mode="r")
    step = CHUNK_BYTES // (4 * LENGTH)
    optimize(
        fn=_LitdataRows(tokens, step),
        inputs=list(range(0, len(rows), step)),
        output_dir=folder,
        num_workers=1,
        chunk_size=step * LENGTH,
        item_loader=TokensLoader(block_size=LENGTH),
    )
    return {"rows": len(rows)}


class _LitdataRows:
    """Gives the rows of a stretch, one tensor each."""

    def __init__(self, tokens: str, step: int) -> None:
        self.tokens = tokens
        self.step = step

    def __call__(self, first: int) -> Iterable[Any]:
        import torch

        for row in np.load(self.tokens, mmap_mode="r")[first : first + self.step]:
            yield torch.from_numpy(np.array(row))


def pass_litdata(asked: dict[str, Any]) -> dict[str, float]:
    from litdata import StreamingDataLoader, StreamingDataset, TokensLoader
    from litdata.streaming import downloader
    from torch.utils.data import DataLoader, Dataset

    # Its downloader takes https alone, and the server here has no certificate.
    downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
    dataset = StreamingDataset(
        input_dir=asked.get("remote") or asked["local"],
        item_loader=TokensLoader(block_size=LENGTH),
        shuffle=False,
        drop_last=True,
        max_pre_download=asked["predownload"],
        cache_dir=asked["local"] if asked.get("remote") else None,
        **asked.get("options", {}),
    )
    batch_size, num_workers = asked["batch_size"], asked["num_workers"]
    num_batches = len(dataset) // batch_size
    if asked["mode"] == "iterator":
        batches: Iterable[Any] = StreamingDataLoader(
            dataset, batch_size=batch_size, num_workers=num_workers, drop_last=True
        )
    else:

        class ByIndex(Dataset):
            def __len__(self) -> int:
                return len(dataset)

            def __getitem__(self, index: int) -> Any:
                return dataset[index]

        batches = DataLoader(ByIndex(), batch_size=batch_size, num_workers=num_workers, drop_last=True)
    return timed(batches, num_batches=num_batches, num_workers=num_workers, tokens_of=lambda batch: batch)


def main() -> None:
    command, *rest = sys.argv[1:]
    writers = {"write-mosaicml": write_mosaicml, "write-litdata": write_litdata}
    passes = {"pass-ours": pass_ours, "pass-mosaicml": pass_mosaicml, "pass-litdata": pass_litdata}
    said = writers[command](*rest) if command in writers else passes[command](json.loads(rest[0]))
    print(json.dumps(said), flush=True)
    # Some tools leave threads that wait for ever.
    os._exit(0)


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if path != str(Path(__file__).parent)]
    main()
