"""Repeated spans beside a suffix array of the same texts, which is what Lee et al. (2022) and the tools after them build.

Their own program (deduplicate-text-datasets) is built with Rust, which the machine of a user of Python packages lacks; so
the suffix array is that of pydivsufsort, read as a repeated span is defined here. Texts are real, with passages of some
put into others. The suffix array needs 9 bytes of memory a byte of text for all texts at once; ours goes text by text.
"""

import json
import random
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.peers import peer_python
from benchmarks.texts import real_samples
from corpusmill.dedup.anchors import text_anchors
from corpusmill.dedup.repeated_spans import find_repeated_spans
from corpusmill.dedup.spans import SpanParameters

PEER = ("pydivsufsort==0.0.20", "numpy==2.4.6")
PARAMETERS = SpanParameters()
_SEED = 7
_NUM_BYTES = 40_000_000
_PLANTED_SHARE = 0.1
_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a way to find repeated spans took, and how many bytes are in them."""

    name: str
    seconds: float
    num_bytes: int


def measures() -> list[Measure]:
    """Time anchors alone and everything, and compare what is found."""
    texts = planted_texts(_NUM_BYTES)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    table = _table(texts)
    # Compiles every kernel: what repeats is compared.
    find_repeated_spans(_table(["ab" * 1_000] * 2), {}, PARAMETERS)
    anchors = min(_seconds(lambda: text_anchors(table["text"], PARAMETERS)) for _ in range(_ROUNDS))
    ours, peer = _ours(texts, table), _peer(texts)
    one = _table(["".join(texts)[:20_000_000]])
    huge = _seconds(lambda: find_repeated_spans(one, {}, PARAMETERS))
    return [
        Measure(measure="anchors, text in Arrow, one core (MB/CPU second)", ours=megabytes / anchors),
        Measure(
            measure=f"repeated spans of {megabytes:.0f} MB, one core (MB/CPU second)",
            ours=megabytes / ours.seconds,
            other=megabytes / peer.seconds,
            other_name=peer.name,
            bar=at_least(3.0, of="ratio"),
        ),
        Measure(
            measure="bytes in repeated spans",
            ours=ours.num_bytes,
            other=peer.num_bytes,
            other_name=peer.name,
            bar=at_least(0.99999, of="ratio"),
        ),
        Measure(measure="share of the text that they are", ours=ours.num_bytes / megabytes / 1e6),
        _hot(10_000, 20_000),
        Measure(measure="one document of 20 MB (CPU s)", ours=huge, bar=at_most(60)),
        Measure(measure="most memory held (MB)", ours=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    ]


def _hot(few: int, many: int) -> Measure:
    """Time documents that all have the same footer, twice as many as before: time must grow no faster."""
    chance = random.Random(_SEED)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(3_000)]
    footer = " ".join(chance.choices(words, k=250))
    texts = [f"{' '.join(chance.choices(words, k=200))}\n{footer}" for _ in range(many)]
    tables = [_table(texts[:number]) for number in (few, many)]
    seconds = [_seconds(partial(find_repeated_spans, table, {}, PARAMETERS)) for table in tables]
    return Measure(
        measure=f"{many:,} documents with one footer (CPU s)",
        ours=seconds[1],
        other=seconds[0],
        other_name=f"ours, {few:,} of them",
        bar=at_most(2.5, of="ratio"),
    )


def planted_texts(num_bytes: int) -> list[str]:
    """Return real texts of about `num_bytes`; one in ten has a passage of another text in it."""
    samples = [sample.text for sample in real_samples()]
    chance = random.Random(_SEED)
    texts: list[str] = []
    total = 0
    while total < num_bytes:
        text = chance.choice(samples)
        # No text comes twice as it is: most of its words change places, by lines.
        lines = text.split("\n")
        chance.shuffle(lines)
        text = "\n".join(" ".join(chance.sample(words, len(words))) for words in map(str.split, lines))
        if texts and chance.random() < _PLANTED_SHARE:
            other = chance.choice(texts)
            start = chance.randrange(len(other))
            text = f"{text}\n{other[start : start + chance.randrange(300, 6_000)]}\n"
        texts.append(text)
        total += len(text.encode())
    return texts


def _table(texts: Sequence[str]) -> pa.Table:
    names = [f"{number:08d}" for number in range(len(texts))]
    column = pa.array(texts, pa.large_string())
    return pa.table({"doc_id": names, "snapshot": pa.repeat("2026", len(texts)), "text": column})


def _ours(texts: Sequence[str], table: pa.Table) -> Found:
    started = time.process_time()
    spans = find_repeated_spans(table, {}, PARAMETERS).spans
    seconds = time.process_time() - started
    cut = zip(*(spans[name].to_pylist() for name in ("doc_id", "start", "end")), strict=True)
    num_bytes = sum(len(texts[int(doc_id)][start:end].encode()) for doc_id, start, end in cut)
    return Found(name="ours", seconds=seconds, num_bytes=num_bytes)


def _peer(texts: Sequence[str]) -> Found:
    python = peer_python("pydivsufsort", PEER)
    program = Path(__file__).parent / "dedup_spans_peer.py"
    with tempfile.TemporaryDirectory(prefix="corpusmill-bench-") as folder:
        source, target = Path(folder) / "texts.json", Path(folder) / "found.json"
        source.write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run([python, program, source, target, str(PARAMETERS.min_bytes)], check=True)
        found = json.loads(target.read_text(encoding="utf-8"))
    return Found(name=found["name"], seconds=found["seconds"], num_bytes=found["bytes"])


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    print_measures(measures())
