"""Opening a stream at position 10^9: seconds and memory, each time in a fresh process.

    python -m benchmarks.mixing_open

Small: a real lake of 60,000 short sequences, planned over so many epochs that the stream is longer than 10^9; it is opened
and its sample is read. Large: the plan of 2 x 10^9 sequences in 2,000 partitions, which is metadata alone; what opening does
with such a plan is done, less the reading of its files' footers: the plan is read from the lake and its order is built and
asked. Imports are not counted.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Measure, at_most, print_measures
from benchmarks.mixing_packed import MIX, commit_plan, make_lake, make_plan
from corpusmill.lake.store import LakeSettings, StoreSettings
from corpusmill.lake.tables import Lake
from corpusmill.mix.inventory import Inventory, PartitionPin
from corpusmill.stream.inventory import read_plan
from corpusmill.stream.loader import MixtureStream

POSITION = 10**9
LENGTH = 64
SIZES = {"web": 40_000, "code": 15_000, "stem": 5_000}
PARTITIONS, PARTITION_SEQUENCES = 2_000, 1_000_000


def measures() -> list[Measure]:
    """Return seconds and megabytes of opening, for both kinds."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        small = make_lake(Path(folder), SIZES, sequence_length=LENGTH, budget_tokens=2 * POSITION * LENGTH)
        large = _large(Path(folder) / "large")
        for kind, settings in (("small", small), ("large", large)):
            _opened(settings, kind)  # compiles what this machine has not compiled yet
            said = _opened(settings, kind)
            found += [
                Measure(measure=f"{kind}: open at position 10^9 (s)", ours=said["seconds"], bar=at_most(1.0)),
                Measure(measure=f"{kind}: of that CPU (s)", ours=said["cpu_seconds"]),
                Measure(measure=f"{kind}: memory that it takes (MB)", ours=said["taken"], bar=at_most(200.0)),
                Measure(measure=f"{kind}: the whole process with its imports (MB)", ours=said["process"]),
            ]
    return found


def _opened(settings: LakeSettings, kind: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.mixing_open", kind, json.dumps(settings.to_json())]
    said: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return said


def opened(settings: LakeSettings, kind: str) -> dict[str, float]:
    """Open in this process, which has done nothing yet but import."""
    started, cpu_started, before = time.perf_counter(), time.process_time(), _peak_megabytes()
    if kind == "small":
        stream = MixtureStream(settings, MIX, start=POSITION)
        assert next(iter(stream)).position == POSITION
    else:
        read_plan(Lake(settings), MIX).order().locate([POSITION])
    seconds, peak = time.perf_counter() - started, _peak_megabytes()
    return {
        "seconds": seconds,
        "cpu_seconds": time.process_time() - cpu_started,
        "taken": peak - before,
        "process": peak,
    }


def _peak_megabytes() -> float:
    # Not from getrusage, which counts the process before its exec too.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def _large(folder: Path) -> LakeSettings:
    """Commit the plan of a lake that is nowhere."""
    settings = LakeSettings(store=StoreSettings(root=str(folder)))
    lake = Lake(settings)
    pins = [
        PartitionPin(
            table=f"tokenized/{name}/sequences",
            partition=f"p{number:04}",
            content_hash=f"{number:032x}",
            num_sequences=PARTITION_SEQUENCES,
            num_tokens=PARTITION_SEQUENCES * LENGTH,
            tokenizer="t1",
            sequence_length=LENGTH,
        )
        for name in SIZES
        for number in range(PARTITIONS // len(SIZES) + 1)
    ]
    commit_plan(
        lake, make_plan(Inventory(pins=pins), SIZES, sequence_length=LENGTH, budget_tokens=2 * POSITION * LENGTH)
    )
    lake.close()
    return settings


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(opened(LakeSettings.from_json(json.loads(sys.argv[2])), sys.argv[1])))
    else:
        print_measures(measures())
