"""Personal data: what we find in annotated sentences beside presidio, what we find in clean text, and how fast.

A span of the annotation is found when one of ours of its kind covers it whole, as a part that stays is a leak; one of ours
is right when it touches a span of its kind. Presidio runs its pattern recognizers: its name finder needs a spaCy model,
which no package registry carries, and names are not patterns.
"""

import gzip
import json
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.peers import peer_python
from benchmarks.pii_peers import ENTITIES
from corpusmill.curate.pii import find_pii
from corpusmill.curate.pii_kinds import WEB_PII

DATA = Path(__file__).parents[2] / "shared" / "data"
PEERS = {
    "presidio": ("presidio-analyzer==2.2.366", "spacy==3.8.18", "phonenumbers==9.0.43"),
    "datatrove": ("datatrove==0.10.1", "regex==2026.11.19"),
}
SPEED_BAR = 100.0
"""MB per second of one core, all kinds, text already in Arrow."""
FALSE_BAR = 1.0
"""Spans per MB of clean text, without e-mail addresses: the documentation names its authors' real ones."""
_ROUNDS = 5
_NO_EMAIL = tuple(kind for kind in ENTITIES.values() if kind != "email")
_PRESIDIO_BYTES = 400_000

Span = tuple[str, int, int]


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What a peer found in a list of texts."""

    name: str
    seconds: float
    spans: list[list[Span]]


@dataclass(frozen=True, kw_only=True)
class Score:
    """Counts over all sentences for one kind."""

    wanted: int
    covered: int
    given: int
    right: int

    @property
    def recall(self) -> float:
        return self.covered / self.wanted

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 1.0

    @property
    def f1(self) -> float:
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0


def measures() -> list[Measure]:
    """Score annotated sentences, then count and time clean text; without the shared data there is nothing to measure."""
    if not DATA.exists():
        print(f"personal data: left out, as {DATA} is not there (annotated sentences and clean texts)", flush=True)
        return []
    return [*_accuracy(), *_clean()]


def _accuracy() -> list[Measure]:
    lines = (DATA / "pii_presidio" / "pii_spans.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = [row["full_text"] for row in rows]
    truth = [
        [
            (ENTITIES[span["entity_type"]], span["start_position"], span["end_position"])
            for span in row["spans"]
            if span["entity_type"] in ENTITIES
        ]
        for row in rows
    ]
    ours, peer = _ours(texts), _run_peer("presidio", texts)
    found = []
    for kind in sorted({kind for spans in truth for kind, _, _ in spans}):
        mine, theirs = _score(kind, truth, ours), _score(kind, truth, peer.spans)
        found += [
            _beside(f"{kind} recall of {mine.wanted}", mine.recall, theirs.recall, peer),
            _beside(f"{kind} precision", mine.precision, theirs.precision, peer),
            _beside(f"{kind} F1", mine.f1, theirs.f1, peer, has_bar=True),
        ]
    return found


def _beside(name: str, ours: float, theirs: float, peer: Peer, *, has_bar: bool = False) -> Measure:
    bar = at_least(theirs) if has_bar else None
    return Measure(measure=name, ours=ours, other=theirs, other_name=peer.name, bar=bar)


def _score(kind: str, truth: Sequence[Sequence[Span]], found: Sequence[Sequence[Span]]) -> Score:
    wanted = covered = given = right = 0
    for true_spans, found_spans in zip(truth, found, strict=True):
        true_ones = [span[1:] for span in true_spans if span[0] == kind]
        found_ones = [span[1:] for span in found_spans if span[0] == kind]
        wanted += len(true_ones)
        given += len(found_ones)
        covered += sum(any(start <= a and b <= end for start, end in found_ones) for a, b in true_ones)
        right += sum(any(start < b and a < end for a, b in true_ones) for start, end in found_ones)
    return Score(wanted=wanted, covered=covered, given=given, right=right)


def _clean() -> list[Measure]:
    texts = clean_texts()
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    find_pii(column.slice(0, 1), WEB_PII)
    seconds = statistics.median(_seconds(column) for _ in range(_ROUNDS))
    few = _first(texts, _PRESIDIO_BYTES)
    few_megabytes = sum(len(text.encode()) for text in few) / 1e6
    presidio, datatrove = _run_peer("presidio", few), _run_peer("datatrove", texts)
    mine, theirs = Counter(_kinds(_ours(few))), Counter(_kinds(presidio.spans))
    false_ones = sum(kind != "email" for kind in _kinds(_ours(texts)))
    return [
        Measure(
            measure=f"all kinds, {megabytes:.0f} MB of clean text, one core (MB/CPU second)",
            ours=megabytes / seconds,
            other=few_megabytes / presidio.seconds,
            other_name=f"{presidio.name}, 6 kinds, first {few_megabytes:.1f} MB",
            bar=at_least(SPEED_BAR),
        ),
        Measure(
            measure="the same beside addresses only (MB/CPU second)",
            ours=megabytes / seconds,
            other=megabytes / datatrove.seconds,
            other_name=f"{datatrove.name} PIIFormatter",
        ),
        Measure(
            measure="spans in clean text, the 6 kinds without e-mail (per MB)",
            ours=sum(mine[kind] for kind in _NO_EMAIL) / few_megabytes,
            other=sum(theirs[kind] for kind in _NO_EMAIL) / few_megabytes,
            other_name=presidio.name,
        ),
        Measure(
            measure="spans in clean text, all kinds without e-mail (per MB)",
            ours=false_ones / megabytes,
            bar=at_most(FALSE_BAR),
        ),
    ]


def clean_texts() -> list[str]:
    """Return texts that hold nobody's data: Python's documentation, help pages in 20 languages, worded problems."""
    from resiliparse.extract.html2text import extract_plain_text

    found = [row["text"] for row in _rows("neardup_text_pydoc/docs.jsonl.gz")]
    for name in ("general", "stem"):
        found += [
            extract_plain_text(row["html"], main_content=True) for row in _rows(f"html_parallel_lohelp/{name}.jsonl.gz")
        ]
    found += [f"{row['question']}\n{row['answer']}" for row in _rows("stem_gsm8k_train/gsm8k_train_2000.jsonl")]
    return found


def _rows(name: str) -> list[Mapping[str, str]]:
    data = (DATA / name).read_bytes()
    content = gzip.decompress(data) if name.endswith(".gz") else data
    return [json.loads(line) for line in content.decode().splitlines()]


def _first(texts: Sequence[str], num_bytes: int) -> list[str]:
    """Return every k-th text, so many that they come to about `num_bytes`."""
    total = sum(len(text.encode()) for text in texts)
    return list(texts[:: max(1, total // num_bytes)])


def _ours(texts: Sequence[str]) -> list[list[Span]]:
    column = pa.chunked_array([pa.array(texts, pa.large_string())])
    return [[(edit.kind, edit.start, edit.end) for edit in edits] for edits in find_pii(column, WEB_PII)]


def _kinds(spans: Sequence[Sequence[Span]]) -> list[str]:
    return [kind for row in spans for kind, _, _ in row]


def _seconds(column: pa.ChunkedArray) -> float:
    started = time.process_time()
    find_pii(column, WEB_PII)
    return time.process_time() - started


def _run_peer(name: str, texts: Sequence[str]) -> Peer:
    python = peer_python(name, PEERS[name])
    program = Path(__file__).parent / "pii_peers.py"
    with tempfile.TemporaryDirectory(prefix="corpusmill-bench-") as folder:
        source, target = Path(folder) / "texts.json", Path(folder) / "found.json"
        source.write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run([python, program, name, source, target], check=True, stderr=subprocess.DEVNULL)
        found = json.loads(target.read_text(encoding="utf-8"))
    spans = [[(kind, start, end) for kind, start, end in row] for row in found["spans"]]
    return Peer(name=f"{name} {found['version']}", seconds=found["seconds"], spans=spans)


if __name__ == "__main__":
    print_measures(measures())
