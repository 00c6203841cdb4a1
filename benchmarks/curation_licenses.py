"""The licence gate on source files whose licence is known: what it answers, and whether a copyleft file slips through.

Witnesses are the file itself and the licence file of its repository, as an archive without metadata gives them.
"""

import gzip
import json
import statistics
import time
from pathlib import Path

from benchmarks.harness import Measure, at_least, at_most, print_measures
from corpusmill.curate.license_evidence import resolve_license
from corpusmill.curate.license_notices import find_license_file, find_notice
from corpusmill.curate.licenses import PERMISSIVE, Strictness, is_allowed, strictness

DATA = Path(__file__).parents[2] / "shared" / "data" / "code_src_licensed"
_COPYLEFT = ("LGPL", "GPL", "Artistic")
_ROUNDS = 3


def measures() -> list[Measure]:
    """Judge all files; without the shared data there is nothing to measure."""
    if not DATA.exists():
        print(f"licence gate: left out, as {DATA} is not there (source files with known licences)", flush=True)
        return []
    with gzip.open(DATA / "source_files.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    by_repo = {file.stem: find_license_file(file.read_text(encoding="utf-8")) for file in DATA.glob("dep5/*.LICENSE")}
    answers = [resolve_license((None, by_repo.get(row["repo"]), find_notice(row["content"]))) for row in rows]
    known = [(row["license"], answer) for row, answer in zip(rows, answers, strict=True) if answer]
    leaked = sum(
        is_allowed(answer or "", PERMISSIVE) and row["license"].startswith(_COPYLEFT)
        for row, answer in zip(rows, answers, strict=True)
    )
    megabytes = sum(len(row["content"].encode()) for row in rows) / 1e6
    seconds = statistics.median(
        _seconds([f"// {number}\n{row['content']}" for row in rows]) for number in range(_ROUNDS)
    )
    return [
        Measure(measure=f"copyleft files of {len(rows)} that a permissive list lets pass", ours=leaked, bar=at_most(0)),
        Measure(measure="files with a witness (share)", ours=len(known) / len(rows)),
        Measure(
            measure="right licence, of files with a witness (share)",
            ours=sum(_agrees(*pair) for pair in known) / len(known),
            bar=at_least(0.98),
        ),
        Measure(
            measure="right strictness, of files with a witness (share)",
            ours=sum(_true_strictness(truth) == strictness(answer) for truth, answer in known) / len(known),
            bar=at_least(0.99),
        ),
        Measure(measure="notices in source files, one core (MB/CPU second)", ours=megabytes / seconds),
    ]


def _agrees(truth: str, answer: str) -> bool:
    """Return whether every licence of the answer is the true one; `LGPL-2.1` is any of its versions' spellings."""
    name = truth.partition(" (")[0]
    return answer == name or all(part.startswith(name) for part in answer.split(" AND "))


def _true_strictness(truth: str) -> Strictness:
    return strictness(truth.replace("LGPL-2.1 (with linking exception)", "LGPL-2.1-only"))


def _seconds(texts: list[str]) -> float:
    """Time texts that were not seen before: what a file's top names is remembered."""
    started = time.process_time()
    for text in texts:
        find_notice(text)
    return time.process_time() - started


if __name__ == "__main__":
    print_measures(measures())
