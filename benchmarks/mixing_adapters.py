"""A stream handed over to other loaders, read back by them: mosaicml-streaming from an export, Hugging Face datasets directly.

Each runs in an environment of its own. What is compared is a digest of position, boundaries and tokens of every row.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import mixing_throughput as throughput
from benchmarks.adapters_read import digests
from benchmarks.harness import Measure, at_most, print_measures
from benchmarks.mixing_packed import MIX, make_lake
from benchmarks.peers import peer_python
from corpusmill.lake.store import LakeSettings
from corpusmill.stream.loader import MixtureStream
from corpusmill.stream.mds import export_mds

SIZES = {"web": 2_000, "code": 1_200, "stem": 800}
LENGTH = 2_048
SEQUENCES_PER_SHARD = 1_000
PEERS = {
    "mds": ("mosaicml", throughput.PEERS["mosaicml"]),
    "datasets": ("datasets", ("datasets==5.2.0", "dill==0.4.1", "multiprocess==0.70.19", "xxhash==4.1.0")),
}
_HERE = Path(__file__).parent


def measures() -> list[Measure]:
    """Return how many rows came back otherwise than the stream has them."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-adapters-") as folder:
        settings = make_lake(Path(folder), SIZES, sequence_length=LENGTH)
        return _measured(settings, Path(folder))


def _measured(settings: LakeSettings, folder: Path) -> list[Measure]:
    stream = MixtureStream(settings, MIX)
    samples = stream.read(range(stream.num_positions))
    wanted = digests([vars(sample) for sample in samples])
    started = time.perf_counter()
    export_mds(stream, folder / "mds", sequences_per_shard=SEQUENCES_PER_SHARD)
    seconds = time.perf_counter() - started
    asked: dict[str, dict[str, Any]] = {
        "mds": {"folder": str(folder / "mds")},
        "datasets": {"settings": settings.to_json()},
    }
    found = []
    for kind, (name, requirements) in PEERS.items():
        for way, rows in enumerate(_read(kind, peer_python(name, requirements, borrows=True), asked[kind], folder)):
            differ = sum(ours != theirs for ours, theirs in zip(wanted, rows, strict=False))
            found.append(
                Measure(
                    measure=f"rows of {len(wanted):,} that {name} reads otherwise{' as an iterator' if way else ''}",
                    ours=differ + abs(len(wanted) - len(rows)),
                    bar=at_most(0),
                )
            )
    num_tokens = sum(len(sample.tokens) for sample in samples)
    return [*found, Measure(measure="MDS export (M tokens/s)", ours=num_tokens / seconds / 1e6)]


def _read(kind: str, python: Path, asked: dict[str, Any], folder: Path) -> list[list[str]]:
    environment = {**os.environ, "PYTHONPATH": str(_HERE.parent), "HF_HOME": str(folder / "hugging_face")}
    command = [str(python), str(_HERE / "adapters_read.py"), kind, json.dumps(asked)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows: list[list[str]] = json.loads(done.stdout.splitlines()[-1])["rows"]
    return rows


if __name__ == "__main__":
    print_measures(measures())
