"""Parquet in, table of duplicates out, on two cores: this library beside datatrove's four stages and a script with rensa.

All get the same files and parameters (word 5-grams, 14 x 8). Steady is without start-up: ours and rensa's are timed inside
their process after a first small run; datatrove, whose workers start anew in every stage, is its whole command less the
same command over one document a file. By hand, growth: `python -m benchmarks.dedup_whole 50 500 5000`.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from benchmarks.dedup_corpus import write_corpus
from benchmarks.harness import Measure, at_least, print_measures
from benchmarks.peers import peer_python
from benchmarks.rules_agreement import DATATROVE as DATATROVE_FILTERS

# datatrove hashes str, which xxhash 4 takes no more.
DATATROVE = (*DATATROVE_FILTERS, "tokenizers==0.23.3", "xxhash==3.8.2")
RENSA = ("rensa==0.5.0", "pyarrow==26.0.1")
HERE = Path(__file__).parent
SMALL, LARGE = 50, 500
"""Megabytes: datatrove is compared on the small corpus, rensa on the large one."""
MEGABYTES_A_FILE = 25
_RUNS = 3


class Timed(NamedTuple):
    steady: float
    whole: float
    said: dict[str, Any]


def measures() -> list[Measure]:
    """Compare with both peers."""
    with _two_cores(), tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as scratch:
        return [*_beside_datatrove(Path(scratch)), *_beside_rensa(Path(scratch))]


def growth(sizes: Sequence[float]) -> list[Measure]:
    """Return our speed and peak memory on corpora of these sizes, in MB."""
    found = []
    for megabytes in sizes:
        with _two_cores(), tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as scratch:
            num_bytes = _corpus(Path(scratch), megabytes)
            ours = _ours(Path(scratch))
            about = f"{megabytes:,.0f} MB, {ours.said['removed']:,} duplicates"
            found += [
                Measure(measure=f"{about}: steady (MB/s)", ours=num_bytes / 1e6 / ours.steady),
                Measure(measure=f"{about}: whole command (s)", ours=ours.whole),
                Measure(measure=f"{about}: peak memory (GB)", ours=ours.said["peak_bytes"] / 1e9),
            ]
    return found


def run_command(command: Sequence[object]) -> Timed:
    """Run a command whose last line of output is JSON; `steady` is what it says, or its wall time."""
    started = time.perf_counter()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=HERE.parent)
    whole = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{command[1]} failed:\n{done.stderr[-3000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    return Timed(said.get("seconds", whole), whole, said)


def _beside_datatrove(scratch: Path) -> list[Measure]:
    num_bytes = _corpus(scratch / "small", SMALL)
    _corpus(scratch / "tiny", 0)
    ours = _ours(scratch / "small")
    theirs = [_datatrove(scratch / name) for name in ("tiny", "small")]
    steady = theirs[1].whole - theirs[0].whole
    _say(f"{SMALL} MB", ours=ours.said["removed"], datatrove=_num_documents(scratch / "small") - theirs[1].said["kept"])
    name = f"{DATATROVE[0].replace('==', ' ')}, four stages"
    return _speeds(SMALL, num_bytes, ours, Timed(steady, theirs[1].whole, {}), name=name, times=20)


def _beside_rensa(scratch: Path) -> list[Measure]:
    num_bytes = _corpus(scratch / "large", LARGE)
    ours = _ours(scratch / "large")
    python = peer_python("rensa", RENSA)
    theirs = run_command(
        [python, HERE / "dedup_rensa.py", "whole", scratch / "large" / "texts", scratch / "rensa.parquet"]
    )
    _say(f"{LARGE} MB", ours=ours.said["removed"], rensa=theirs.said["removed"])
    return _speeds(LARGE, num_bytes, ours, theirs, name=f"{RENSA[0].replace('==', ' ')} + LSH", times=2)


def _speeds(megabytes: int, num_bytes: int, ours: Timed, theirs: Timed, *, name: str, times: float) -> list[Measure]:
    return [
        Measure(
            measure=f"{megabytes} MB in Parquet to duplicates, steady (MB/s)",
            ours=num_bytes / 1e6 / ours.steady,
            other=num_bytes / 1e6 / theirs.steady,
            other_name=name,
            bar=at_least(times, of="ratio"),
        ),
        Measure(measure=f"{megabytes} MB, the whole command (s)", ours=ours.whole, other=theirs.whole, other_name=name),
    ]


def _corpus(folder: Path, megabytes: float) -> int:
    return write_corpus(folder / "texts", megabytes=megabytes, num_files=max(4, round(megabytes / MEGABYTES_A_FILE)))


def _ours(folder: Path) -> Timed:
    """Return the run with the median steady time."""
    command = [sys.executable, "-m", "benchmarks.dedup_files", folder / "texts", folder / "ours.parquet"]
    runs = [run_command(command) for _ in range(_RUNS)]
    middle = statistics.median_low(run.steady for run in runs)
    return next(run for run in runs if run.steady == middle)


def _datatrove(folder: Path) -> Timed:
    script = HERE / "dedup_datatrove.py"
    return run_command([peer_python("datatrove", DATATROVE), script, "stages", folder / "texts", folder / "datatrove"])


def _num_documents(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in (folder / "texts").glob("*.parquet"))


def _say(corpus: str, **removed: int) -> None:
    print(f"{corpus}: removed by {', '.join(f'{name}: {number:,}' for name, number in removed.items())}", flush=True)


@contextmanager
def _two_cores() -> Iterator[None]:
    """Everything inside, and what it starts, runs on at most two cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:2])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    print_measures(growth([float(size) for size in sys.argv[1:]]) if len(sys.argv) > 1 else measures())
