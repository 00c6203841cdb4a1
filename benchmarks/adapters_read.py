"""Reads what a stream was handed over as, with the loader that it is for, in that loader's environment; a digest a row.

    python adapters_read.py mds '{"folder": ...}'              mosaicml-streaming, by number and once more as an iterator
    python adapters_read.py datasets '{"settings": ...}'       Hugging Face datasets, in two parts over its state_dict

The last line of output is JSON.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np


def digests(rows: Iterable[Mapping[str, Any]], tokens: str = "tokens") -> list[str]:
    """Return a digest of position, lengths of documents and tokens of each row."""
    return [
        hashlib.sha256(
            np.int64(row["position"]).tobytes()
            + np.asarray(row["lengths"], np.int32).tobytes()
            + np.asarray(row[tokens], np.int32).tobytes()
        ).hexdigest()[:16]
        for row in rows
    ]


def read_mds(asked: Mapping[str, Any]) -> list[list[str]]:
    """Return the digests by number and those of an iterator."""
    from benchmarks.throughput_pass import without_torchvision

    without_torchvision()
    from streaming import StreamingDataset

    dataset = StreamingDataset(local=asked["folder"], shuffle=False, batch_size=1)
    return [digests(dataset[number] for number in range(len(dataset))), digests(dataset)]


def read_datasets(asked: Mapping[str, Any]) -> list[list[str]]:
    """Return the digests of the first third, and of the rest after its state was taken up by another data set."""
    from benchmarks.mixing_packed import MIX
    from corpusmill.lake.store import LakeSettings
    from corpusmill.stream.hugging_face import hugging_face_dataset
    from corpusmill.stream.loader import MixtureStream

    stream = MixtureStream(LakeSettings.from_json(asked["settings"]), MIX)
    first, again = hugging_face_dataset(stream), hugging_face_dataset(stream)
    begun = digests(islice(first, stream.num_positions // 3), "input_ids")
    again.load_state_dict(first.state_dict())
    return [begun + digests(again, "input_ids")]


if __name__ == "__main__":
    read = {"mds": read_mds, "datasets": read_datasets}[sys.argv[1]]
    started = time.perf_counter()
    found = read(json.loads(sys.argv[2]))
    print(json.dumps({"rows": found, "seconds": time.perf_counter() - started}))
