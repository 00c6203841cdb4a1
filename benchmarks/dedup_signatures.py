"""Signatures and exact verification on one core: real documents in Arrow, in CPU seconds, start-up excluded.

Beside rensa's full-set R-MinHash (shingles made in Python, as its users do) and datatrove's stage 1. Documents are English
and German, French, Spanish and Russian; datatrove gets a part of them, for it needs a second a megabyte.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.dedup_whole import DATATROVE, HERE, RENSA, run_command
from benchmarks.harness import Measure, at_least, print_measures
from benchmarks.peers import peer_python
from benchmarks.texts import real_samples
from corpusmill.dedup.parameters import FINEWEB
from corpusmill.dedup.shingles import shingle_sets
from corpusmill.dedup.signatures import sign
from corpusmill.dedup.verify import pair_jaccards

DATATROVE_EVERY = 8
NUM_PAIRS = 20_000
_RUNS = 5


def measures() -> list[Measure]:
    """Return the speeds of signing and verifying."""
    texts = [sample.text for sample in real_samples()]
    return [*_signing(texts), *_verifying(texts)]


def _signing(texts: list[str]) -> list[Measure]:
    table = texts_table(texts)
    ours = _megabytes(texts) / _cpu_seconds(lambda: sign(table, FINEWEB.to_json()))
    rensa = _peer("rensa", RENSA, "dedup_rensa.py", texts)
    some = texts[::DATATROVE_EVERY]
    datatrove = _peer("datatrove", DATATROVE, "dedup_datatrove.py", some)
    what = f"signatures of {len(texts):,} documents, {_megabytes(texts):.0f} MB, one core (MB/s)"
    return [
        Measure(measure=what, ours=ours, bar=at_least(100)),
        Measure(
            measure=what,
            ours=ours,
            other=_megabytes(texts) / rensa["seconds"],
            other_name=f"{RENSA[0].replace('==', ' ')}, full set, text to sketch",
            bar=at_least(4, of="ratio"),
        ),
        Measure(
            measure=what,
            ours=ours,
            other=_megabytes(texts) / rensa["sketching_seconds"],
            other_name="the same, of shingles that are made already",
        ),
        Measure(
            measure=what,
            ours=ours,
            other=_megabytes(some) / datatrove["seconds"],
            other_name=f"{DATATROVE[0].replace('==', ' ')}, stage 1, on {_megabytes(some):.1f} MB",
            bar=at_least(100, of="ratio"),
        ),
    ]


def _verifying(texts: list[str]) -> list[Measure]:
    column = pa.array(texts, pa.large_string())
    speed = _megabytes(texts) / _cpu_seconds(lambda: shingle_sets(column, FINEWEB))
    return [
        Measure(measure="sorted shingle sets, one core (MB/s)", ours=speed, bar=at_least(80)),
        Measure(
            measure="exact Jaccards, one core (M shingles/s)", ours=_merged_a_second(texts) / 1e6, bar=at_least(200)
        ),
    ]


def _merged_a_second(texts: list[str]) -> float:
    """Time the merges of random pairs of real sets, called as `measure_pairs` calls them; sets are made before."""
    sets = shingle_sets(pa.array(texts, pa.large_string()), FINEWEB)
    lengths = np.array([len(found) for found in sets])
    starts = np.cumsum(lengths) - lengths
    left, right = np.random.default_rng(1).integers(0, len(texts), (2, NUM_PAIRS))
    together = np.concatenate(sets)
    seconds = _cpu_seconds(lambda: pair_jaccards(together, starts, lengths, left, right))
    return float((lengths[left] + lengths[right]).sum()) / seconds


def texts_table(texts: list[str]) -> pa.Table:
    """Return what `sign` takes, with hashes, as the table of extracted texts has them."""
    doc_ids = [f"{number:08d}" for number in range(len(texts))]
    same = {name: pa.repeat("1", len(texts)) for name in ("snapshot", "text_file", "text_hash")}
    return pa.table({"doc_id": doc_ids, **same, "text": pa.array(texts, pa.large_string())})


def _peer(name: str, requirements: tuple[str, ...], script: str, texts: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="corpusmill-dedup-") as folder:
        file = Path(folder) / "texts.parquet"
        pq.write_table(pa.table({"text": pa.array(texts, pa.large_string())}), file)
        return run_command([peer_python(name, requirements), HERE / script, "sign", file]).said


def _megabytes(texts: list[str]) -> float:
    return sum(len(text.encode()) for text in texts) / 1e6


def _cpu_seconds(work: Callable[[], object]) -> float:
    work()
    seconds = []
    for _ in range(_RUNS):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


if __name__ == "__main__":
    print_measures(measures())
