"""The quality classifier beside fastText's own trainer, on the same texts.

    python -m benchmarks.curation_quality

Task: tell pages of LibreOffice's help about functions and formulas (`stem`) from its guides (`general`), 105 pages in 10
languages (../shared/data/html_parallel_lohelp; without it there is nothing to measure). A quarter of the pages, in all of
their languages, is held out. fastText runs in an environment of its own, in one thread, at the epochs and learning rate
that did best of five settings tried (with its defaults it reaches 0.81), and is timed inside its process. Times are of
the processor.
"""

import gzip
import hashlib
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from resiliparse.extract.html2text import extract_plain_text

from benchmarks.harness import Measure, at_least, print_measures
from benchmarks.peers import peer_python
from corpusmill.curate.quality_model import QualityParameters, area_under_curve, evaluate, load, score, train

PAGES = Path(__file__).parents[2] / "shared/data/html_parallel_lohelp"
FASTTEXT = "fasttext-community==0.11.9"
PARAMETERS = QualityParameters(positive="stem", labels_license="MPL-2.0")
REPEATS = 3
COPIES = 30
"""How often the held-out texts are repeated, for timing."""

_PEER = """
import fasttext, json, sys, time
train, held_out = sys.argv[1:]
model = fasttext.train_supervised(input=train, wordNgrams=2, thread=1, verbose=0, epoch=25, lr=0.5)
texts = [json.loads(line) for line in open(held_out, encoding="utf-8")]
def probability(text):
    labels, values = model.predict(text, k=2)
    return float(values[labels.index("__label__stem")])
scores = [probability(text) for text in texts]
started = time.process_time()
for text in texts:
    model.predict(text, k=2)
print(json.dumps({"scores": scores, "seconds": time.process_time() - started}))
"""


def measures() -> list[Measure]:
    """Return how well and how fast texts are scored; none where the data is absent."""
    if not PAGES.exists():
        print("curation_quality: needs ../shared/data/html_parallel_lohelp, nothing measured")
        return []
    learned, held_out = _rows()
    model = load(train(learned, PARAMETERS))
    peer = _fasttext(learned, held_out)
    is_stem = np.array([label == "stem" for label in held_out["label"].to_pylist()])
    column = pa.chunked_array([held_out["text"].combine_chunks()] * COPIES)
    score(column, model)
    num_bytes = sum(len(text.encode()) for text in held_out["text"].to_pylist())
    return [
        Measure(
            measure="quality: area under the curve on held-out pages",
            ours=float(evaluate(model, held_out)["auc"]),
            other=area_under_curve(np.array(peer["scores"]), is_stem),
            other_name=FASTTEXT,
            bar=at_least(0.98, of="ratio"),
        ),
        Measure(
            measure="quality: MB/s scored, one core",
            ours=COPIES * num_bytes / _seconds(lambda: score(column, model)) / 1e6,
            other=num_bytes / peer["seconds"] / 1e6,
            other_name=FASTTEXT,
            bar=at_least(2, of="ratio"),
        ),
    ]


def _rows() -> tuple[pa.Table, pa.Table]:
    """Return texts to learn from and held-out ones; a page is on one side in all of its languages."""
    rows: dict[bool, list[dict[str, str]]] = {False: [], True: []}
    for label in ("general", "stem"):
        with gzip.open(PAGES / f"{label}.jsonl.gz", "rt", encoding="utf-8") as file:
            for page in map(json.loads, file):
                is_held_out = hashlib.sha256(page["page"].encode()).digest()[0] % 4 == 0
                text = " ".join(extract_plain_text(page["html"], main_content=True).split())
                rows[is_held_out].append({"text": text, "label": label})
    schema = pa.schema([pa.field("text", pa.large_string()), pa.field("label", pa.string())])
    return pa.Table.from_pylist(rows[False], schema=schema), pa.Table.from_pylist(rows[True], schema=schema)


def _fasttext(learned: pa.Table, held_out: pa.Table) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        examples, texts = Path(folder, "train.txt"), Path(folder, "held_out.jsonl")
        lines = [f"__label__{row['label']} {row['text']}\n" for row in learned.to_pylist()]
        examples.write_text("".join(lines), encoding="utf-8")
        texts.write_text("".join(json.dumps(text) + "\n" for text in held_out["text"].to_pylist()), encoding="utf-8")
        python = peer_python("fasttext", [FASTTEXT])
        found = subprocess.run([python, "-c", _PEER, examples, texts], check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return answer


def _seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


if __name__ == "__main__":
    print_measures(measures())
