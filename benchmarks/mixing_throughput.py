"""Tokens a second into a training loop, beside mosaicml-streaming and litdata: the same tokens, batches and workers.

    python -m benchmarks.mixing_throughput [local|s3]

Every pass is a process of its own (`benchmarks.throughput_pass`) that goes once through all batches of a torch DataLoader,
by iteration and by row number, with no worker and with two. Ours gives more with each batch: whose each token is, and the
position. The others read files of 64 MB without compression, not shuffled, with the best of some `predownload`; the tools
take turns, and medians are compared. From S3 there is a link before the server that adds 50 ms to a round trip.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.harness import Measure, at_least, print_measures
from benchmarks.mixing_packed import MIX, make_lake
from benchmarks.peers import peer_python
from benchmarks.slow_link import slow_link
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.stream.loader import MixtureStream
from tests.servers.seaweedfs import S3Server, seaweedfs, weed_binary

HERE = Path(__file__).parent
LENGTH = 2048
BATCH = 32
SIZES = {"web": 32_768, "code": 16_384, "stem": 16_384}
REMOTE_SIZES = {name: size // 2 for name, size in SIZES.items()}
MODES = (("iterator", 0), ("iterator", 2), ("map", 0), ("map", 2))
REPEATS = 3
ROUND_TRIP_SECONDS = 0.05
PEERS: Mapping[str, tuple[str, ...]] = {
    "mosaicml": (
        "mosaicml-streaming==0.13.0",
        "catalogue==2.0.10",
        "python-snappy==0.7.3",
        "cramjam==2.11.0",
        "zstd==1.5.7.2",
        "xxhash==3.6.0",
    ),
    "litdata": ("litdata==0.2.76", "lightning-utilities==0.15.2", "tifffile==2025.5.10", "obstore==0.8.2"),
}
PREDOWNLOAD: Mapping[str, tuple[int | None, ...]] = {"mosaicml": (None, 512, 1 << 20), "litdata": (2, 16)}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the tokens lie, for each tool."""

    name: str
    asked: Mapping[str, Mapping[str, Any]]
    environment: Mapping[str, str]


def measures(which: str = "") -> list[Measure]:
    """Return tokens a second of every way, beside the better of the others."""
    pythons = {name: peer_python(name, requirements, borrows=True) for name, requirements in PEERS.items()}
    pythons["ours"] = Path(sys.executable)
    found = []
    with tempfile.TemporaryDirectory(prefix="corpusmill-throughput-") as folder:
        if which in ("", "local"):
            found += _measured(_local(Path(folder) / "local", pythons), pythons, MODES)
        if which in ("", "s3") and weed_binary():
            with _remote(Path(folder) / "s3", pythons) as place:
                found += _measured(place, pythons, MODES[:2])
    return found


def _local(folder: Path, pythons: Mapping[str, Path]) -> Place:
    settings = make_lake(folder, SIZES, sequence_length=LENGTH)
    _write_peers(folder, settings, pythons)
    asked: dict[str, dict[str, Any]] = {name: {"local": str(folder / name)} for name in PEERS}
    return Place(name="local files", asked={**asked, "ours": {"settings": settings.to_json()}}, environment={})


@contextmanager
def _remote(folder: Path, pythons: Mapping[str, Path]) -> Iterator[Place]:
    folder.mkdir(parents=True)
    with seaweedfs(folder) as server, slow_link(_port(server), seconds=ROUND_TRIP_SECONDS) as port:
        os.environ.update(server.environment)
        near = StoreSettings(root=f"s3://{server.bucket}/ours", endpoint=server.endpoint)
        settings = LakeSettings(store=near, catalog=f"sqlite:///{folder / 'catalog.db'}")
        make_lake(folder, REMOTE_SIZES, sequence_length=LENGTH, settings=settings)
        _write_peers(folder, settings, pythons)
        for name in PEERS:
            _upload(server, folder / name, name)
        endpoint = f"http://127.0.0.1:{port}"
        far = replace(settings, store=replace(near, endpoint=endpoint))
        options = {"endpoint_url": endpoint, "aws_access_key_id": server.environment["AWS_ACCESS_KEY_ID"]}
        options["aws_secret_access_key"] = server.environment["AWS_SECRET_ACCESS_KEY"]
        yield Place(
            name=f"S3, {1000 * ROUND_TRIP_SECONDS:.0f} ms away",
            asked={
                "ours": {"settings": far.to_json()},
                "mosaicml": {"remote": f"s3://{server.bucket}/mosaicml"},
                "litdata": {"remote": f"s3://{server.bucket}/litdata", "options": {"storage_options": options}},
            },
            environment={**server.environment, "S3_ENDPOINT_URL": endpoint},
        )


def _port(server: S3Server) -> int:
    port = urlsplit(server.endpoint).port
    assert port is not None
    return port


def _write_peers(folder: Path, settings: LakeSettings, pythons: Mapping[str, Path]) -> None:
    """Write what the stream gives, in its order, in the formats of the others."""
    stream = MixtureStream(settings, MIX)
    tokens = folder / "tokens.npy"
    rows = np.lib.format.open_memmap(tokens, mode="w+", dtype=np.int32, shape=(stream.num_positions, LENGTH))
    for sample in stream:
        rows[sample.position] = sample.tokens
    rows.flush()
    for name in PEERS:
        _run(pythons[name], f"write-{name}", [str(tokens), str(folder / name)], {})
    tokens.unlink()


def _upload(server: S3Server, folder: Path, prefix: str) -> None:
    import boto3

    client = boto3.client("s3", endpoint_url=server.endpoint)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        client.upload_file(str(file), server.bucket, f"{prefix}/{file.relative_to(folder)}")


def _measured(place: Place, pythons: Mapping[str, Path], modes: tuple[tuple[str, int], ...]) -> list[Measure]:
    found: list[Measure] = []
    for mode, num_workers in modes:
        asked = {"mode": mode, "num_workers": num_workers, "batch_size": BATCH}
        tuned = {name: _tuned(name, place, pythons[name], asked) for name in PEERS}
        speeds: dict[str, list[float]] = {name: [] for name in pythons}
        for _ in range(REPEATS):
            for name, python in pythons.items():
                speeds[name].append(_pass(name, place, python, {**asked, **tuned.get(name, {})}))
        print(f"-- {place.name}, {mode}, {num_workers} workers: {json.dumps(speeds)} {tuned}", flush=True)
        found += _compared(f"{place.name}, {mode}, {num_workers} workers", speeds, tuned)
    return found


def _compared(way: str, speeds: Mapping[str, list[float]], tuned: Mapping[str, Mapping[str, Any]]) -> Iterator[Measure]:
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    best = max(PEERS, key=lambda name: medians[name])
    for name in sorted(PEERS, key=lambda name: name != best):
        release = PEERS[name][0].replace("==", " ")
        settings = ", ".join(f"{key} {value}" for key, value in tuned[name].items())
        yield Measure(
            measure=f"{way} (M tokens/s)",
            ours=medians["ours"],
            other=medians[name],
            other_name=f"{release} ({settings})" if settings else release,
            bar=at_least(3.0, of="ratio") if name == best else None,
        )


def _tuned(name: str, place: Place, python: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the best of a tool's settings, each tried once."""
    if asked["mode"] == "map":
        return {"predownload": PREDOWNLOAD[name][0]}
    tried = {value: _pass(name, place, python, {**asked, "predownload": value}) for value in PREDOWNLOAD[name]}
    return {"predownload": max(tried, key=lambda value: tried[value])}


def _pass(name: str, place: Place, python: Path, asked: Mapping[str, Any]) -> float:
    with tempfile.TemporaryDirectory() as fresh:
        if "remote" in place.asked[name]:
            asked = {**asked, "local": fresh}
        said = _run(python, f"pass-{name}", [json.dumps({**asked, **place.asked[name]})], place.environment)
    return said["tokens_per_second"] / 1e6


def _run(python: Path, command: str, arguments: list[str], environment: Mapping[str, str]) -> dict[str, float]:
    path = {"PYTHONPATH": str(HERE.parent)} if python == Path(sys.executable) else {}
    done = subprocess.run(
        [str(python), str(HERE / "throughput_pass.py"), command, *arguments],
        env={**os.environ, **environment, **path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{command} {arguments} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    said: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    print_measures(measures(*sys.argv[1:]))
