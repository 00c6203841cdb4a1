"""The memory of a worker on files that kill workers: peak RSS of a fresh process that lists, fetches and extracts them.

Counted are the process and the child that reads its pages. The files are made on the fly.
"""

import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Measure, at_most, print_measures

MAX_GIGABYTES = 2.0
ROW_BYTES = 395_000_000
"""Four of them are the 1.58 GB of text that killed workers of 8 GiB."""


def measures() -> list[Measure]:
    """Return the peak memory for each poison file; all of its records must end as rows."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-memory-") as folder:
        return [_measured(make, Path(folder)) for make in (_parquet, _warc, _jsonl)]


def _measured(make: Callable[[Path], tuple[str, str, Path]], folder: Path) -> Measure:
    story, format, path = make(folder)
    command = [sys.executable, "-m", "benchmarks.curation_memory", format, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    path.unlink()
    reasons = ", ".join(f"{number} {reason}" for reason, number in found["rows"].items())
    return Measure(
        measure=f"{story}: {reasons}: peak memory (GB)", ours=found["peak_bytes"] / 1e9, bar=at_most(MAX_GIGABYTES)
    )


def _parquet(folder: Path) -> tuple[str, str, Path]:
    path = folder / "rows.parquet"
    row = pa.array(["0123456789abcdef" * (ROW_BYTES // 16)], pa.large_string())
    table = pa.table({"text": pa.chunked_array([row] * 4)})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    return "Parquet of 4 rows, 1.58 GB of text", "parquet", path


def _warc(folder: Path) -> tuple[str, str, Path]:
    """One gzip member of 2 GB: 5 HTML pages and 95 plain ones of 10 MB, and one record of 1 GB."""
    path = folder / "one-member.warc.gz"
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    records = [*[(10_000_000, b"text/html")] * 5, *[(10_000_000, b"text/plain")] * 95, (1_000_000_000, b"text/plain")]
    with path.open("wb") as file:
        for num_bytes, kind in records:
            for piece in _record(num_bytes, kind):
                file.write(packer.compress(piece))
        file.write(packer.flush())
    return "WARC of one 2 GB member", "warc", path


def _record(num_bytes: int, kind: bytes) -> Iterator[bytes]:
    yield b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, num_bytes)
    piece = b"<p>some words on a line of a page, and more of them behind it, so that it is prose\n" * 10_000
    whole, rest = divmod(num_bytes, len(piece))
    yield from (piece for _ in range(whole))
    yield piece[:rest] + b"\r\n\r\n"


def _jsonl(folder: Path) -> tuple[str, str, Path]:
    path = folder / "long.jsonl"
    with path.open("wb") as file:
        for num_words in (1, 17_000_000, 9_000_000, 1):
            file.write(b'{"text": "')
            for start in range(0, num_words, 100_000):
                file.write(b"words " * min(100_000, num_words - start))
            file.write(b'"}\n')
    return "JSONL with a line of 100 MB", "jsonl", path


def _read(format: str, path: Path) -> None:
    import os
    from collections import Counter

    import psutil

    from corpusmill.curate.extract import extract
    from corpusmill.lake.store import Store, StoreSettings
    from corpusmill.read.snapshot import fetch_payloads, list_records

    store = Store(StoreSettings(root=str(path.parent)))
    rows: Counter[str] = Counter()
    for records in list_records(
        dataset="benchmark", snapshot="1", format=format, uri=str(path), store=store, options={}
    ):
        for payloads in fetch_payloads(records, store):
            rows.update(failure or "kept" for failure in extract(payloads, {})["failure"].to_pylist())
    pids = [os.getpid(), *(child.pid for child in psutil.Process().children())]
    print(json.dumps({"peak_bytes": sum(map(peak_bytes, pids)), "rows": rows}))


def peak_bytes(pid: int | str = "self") -> int:
    """Return a process's peak RSS. What getrusage tells counts the parent's memory at the fork too."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _read(sys.argv[1], Path(sys.argv[2]))
    else:
        print_measures(measures())
