"""Extraction beside trafilatura on the same real pages, pages that never end, and the memory of a worker on poison files.

Both read the same bytes. Ours is the whole way: from bytes through the child process to a table row, title, language and
licence included; trafilatura's is its extraction alone. Times are CPU seconds, the child's included: a busy neighbour is
nobody's merit.
"""

import gzip
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pyarrow as pa

from benchmarks import curation_memory
from benchmarks.harness import Measure, at_least, at_most, print_measures
from corpusmill.curate.decoding import decode
from corpusmill.curate.extract import extract
from corpusmill.curate.html import read_html
from corpusmill.curate.isolation import borrowed_reader
from corpusmill.document import RECORDS

PAGES = Path(__file__).parents[1] / "../shared/data/html_eval_trafilatura"
ROUNDS = 7
MAX_SECONDS, MAX_BYTES = 10.0, 1_000_000_000
"""What a page may take that cannot be extracted."""


def measures() -> list[Measure]:
    """Return quality and speed beside trafilatura, the end of endless pages, and the memory of a worker."""
    return [*_beside_trafilatura(), *_endings(), *curation_memory.measures()]


def _beside_trafilatura() -> Iterator[Measure]:
    if not PAGES.exists():
        print(f"left out: extraction beside trafilatura needs the annotated pages at {PAGES}", flush=True)
        return
    import trafilatura

    name = f"trafilatura {trafilatura.__version__}"
    notes = [json.loads(line) for line in (PAGES / "annotations.jsonl").read_text(encoding="utf-8").splitlines()]
    pages = [gzip.decompress((PAGES / f"html/{note['file']}.gz").read_bytes()) for note in notes]
    rows = page_rows(pages)
    ours, theirs = _timed_side_by_side(
        lambda: extract(rows, {"method": "fast"})["text"].to_pylist(),
        lambda: [trafilatura.extract(page, include_comments=False, include_tables=True) for page in pages],
    )
    kept, leaked = count_snippets(notes, ours[0])
    their_kept, their_leaked = count_snippets(notes, theirs[0])
    num_with, num_without = (sum(len(note[name]) for note in notes) for name in ("with", "without"))
    bar = at_least(1, of="ratio")
    yield Measure(measure=f"snippets kept of {num_with}", ours=kept, other=their_kept, other_name=name, bar=bar)
    bar = at_most(their_leaked)
    yield Measure(
        measure=f"snippets leaked of {num_without}", ours=leaked, other=their_leaked, other_name=name, bar=bar
    )
    speeds = [len(pages) / seconds for _, seconds in (ours, theirs)]
    bar = at_least(2, of="ratio")
    yield Measure(measure="extraction (pages a CPU second)", ours=speeds[0], other=speeds[1], other_name=name, bar=bar)
    yield Measure(measure="the child process, a page (ms)", ours=_child_milliseconds(pages))
    for method in ("trafilatura", "resiliparse", "justext"):
        texts = extract(rows, {"method": method})["text"].to_pylist()
        kept, leaked = count_snippets(notes, texts)
        yield Measure(measure=f"method {method}: snippets kept", ours=kept, other=their_kept, other_name=name)
        yield Measure(measure=f"method {method}: snippets leaked", ours=leaked, other=their_leaked, other_name=name)


def _child_milliseconds(pages: Sequence[bytes]) -> float:
    """Return what handing a page to the child and its answer back costs: the difference to reading it here."""
    texts = [decode(page, None, is_html=True) for page in pages]
    with borrowed_reader(timeout_seconds=MAX_SECONDS, memory_bytes=MAX_BYTES) as reader:
        apart, here = _timed_side_by_side(
            lambda: [reader.read(text, "fast").text for text in texts],
            lambda: [read_html(text, "fast").text for text in texts],
            pick=min,
        )
    return (apart[1] - here[1]) / len(pages) * 1000


def _endings() -> Iterator[Measure]:
    """Each page in a process of its own, so that its memory can be told; all must end as a failed row."""
    for story in POISON:
        command = [sys.executable, "-m", "benchmarks.curation_extract", story]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, num_bytes, failure = json.loads(done.stdout.splitlines()[-1])
        if failure is None:
            raise RuntimeError(f"{story} ended as text, it must end as a failed row")
        yield Measure(measure=f"{story}: {failure} after (s)", ours=seconds, bar=at_most(MAX_SECONDS))
        yield Measure(measure=f"{story}: child's memory (GB)", ours=num_bytes / 1e9, bar=at_most(MAX_BYTES / 1e9))


def page_rows(pages: Sequence[bytes], content_type: str = "text/html") -> pa.Table:
    """Return RECORDS rows with the pages as payloads."""
    place = {"source": "benchmark", "snapshot": "1", "file": "/pages", "content_type": content_type, "meta": []}
    rows = [{**place, "doc_id": str(number), "locator": str(number)} for number in range(len(pages))]
    return pa.Table.from_pylist(rows, schema=RECORDS).append_column("payload", pa.array(pages, pa.large_binary()))


def count_snippets(notes: Sequence[dict[str, list[str]]], texts: Sequence[str | None]) -> tuple[int, int]:
    """Return how many snippets that must stay are there, and how many that must go."""
    spelled = [" ".join((text or "").split()) for text in texts]

    def count(name: str) -> int:
        return sum(
            " ".join(part.split()) in text for note, text in zip(notes, spelled, strict=True) for part in note[name]
        )

    return count("with"), count("without")


def _timed_side_by_side(
    *ways: Callable[[], Sequence[str | None]], pick: Callable[[Sequence[float]], float] = statistics.median
) -> list[tuple[Sequence[str | None], float]]:
    """Return each way's result and its CPU seconds; rounds take turns, so that a busy machine hurts all alike."""
    results = [way() for way in ways]
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, taken in zip(ways, times, strict=True):
            started = _cpu_seconds()
            way()
            taken.append(_cpu_seconds() - started)
    return [(result, pick(taken)) for result, taken in zip(results, times, strict=True)]


def _cpu_seconds() -> float:
    """Return what this process and its children have spent so far."""
    children = (child.cpu_times() for child in psutil.Process().children())
    return time.process_time() + sum(times.user + times.system for times in children)


POISON = {
    "page of 50 MB": lambda: (b"<html>" + b"<p>some words</p>" * 3_000_000, "text/html"),
    "100,000 nested tags": lambda: (b"<div>" * 100_000 + b"deep", "text/html"),
    "16 MB of links": lambda: (b"<html><body>" + b"<li><a href=x>a</a>" * 870_000, "text/html"),
    "endless regex": lambda: (b"x " + b":" * 400_000 + b" y", "text/x-rst"),
}
"""Pages that no extractor survives, each with its content type."""


def _end_one(story: str) -> None:
    import resource

    page, content_type = POISON[story]()
    rows = page_rows([page], content_type)
    started = time.perf_counter()
    (failure,) = extract(rows, {"method": "trafilatura" if "html" in content_type else "rst"})["failure"].to_pylist()
    seconds = time.perf_counter() - started
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, failure]))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _end_one(sys.argv[1])
    else:
        print_measures(measures())
