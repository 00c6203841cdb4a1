"""Decontamination beside a plain set of 13-grams in Python, on the same documents with benchmark items planted in them.

The items are GSM8K test, HumanEval and MBPP; the documents are manuals, help pages, worded problems and code. Every item is
planted once in each way: as it is, re-wrapped (line breaks, indentation, quoting, case, punctuation), and with every number
changed. Found means: that item is named in that document.

The plain set is the published method (GPT-3, appendix C; NVIDIA NeMo Curator's task decontamination): lower-cased words
without punctuation, an item shorter than 13 words as a whole. datatrove's n-gram filter is not run: it needs lighteval and
data that nltk downloads. Documents that share 13 words with an item, numbers included, are not clean and are left out of
the false positives: three worded problems (of GSM8K's training set), and a page of the Python manual, in three versions,
from which MBPP took a sentence.
"""

import gzip
import json
import random
import re
import statistics
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from resiliparse.extract.html2text import extract_plain_text

from benchmarks.harness import Bar, Measure, at_least, at_most, print_measures
from corpusmill.curate.contamination import find_contamination
from corpusmill.curate.contamination_build import build_index
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationRules
from corpusmill.lake.store import Store, StoreSettings
from corpusmill.tasks.stored_index import open_index

DATA = Path(__file__).parents[2] / "shared" / "data"
BENCHMARKS = {"gsm8k_test": "question", "humaneval": "prompt", "mbpp": "prompt"}
Way = Callable[[str, random.Random], str]
"""How an item is changed before it is planted."""
PLAIN = "13-gram set in Python"
HOST_CHARACTERS = 4000
NUM_GENERATED_ITEMS = 1_000_000
GENERATED_WORDS = 44
"""The median length of a GSM8K question."""


def measures() -> list[Measure]:
    """Return the measures; none, with a line that says why, where the data is absent."""
    if not DATA.exists():
        print(f"no decontamination measures: {DATA} is absent")
        return []
    items = pa.Table.from_pylist(list(_items()))
    short = pa.Table.from_pylist(list(_short_items()))
    documents = pa.Table.from_pylist(list(_documents()))
    index, plain = build_index(items), PlainSet(items)
    return [
        *_found(items, documents, index, plain),
        _short_found(short, documents),
        _false_positives(documents, index, plain),
        _number_runs(index),
        _speed(documents, index, plain),
        _short_speed(short, documents),
        *_large_index(documents),
    ]


class PlainSet:
    """The other way: a dict from each 13 words of an item, or all of a shorter one, to the items."""

    def __init__(self, items: pa.Table) -> None:
        self._items: dict[tuple[str, ...], set[tuple[str, str]]] = {}
        self._lengths = {13}
        for item in items.to_pylist():
            words = plain_words(item["text"])
            self._lengths.add(min(13, len(words)))
            for ngram in _ngrams(words, min(13, len(words))):
                self._items.setdefault(ngram, set()).add((item["benchmark"], item["item"]))

    def find(self, documents: pa.Table) -> set[tuple[str, str, str]]:
        """Return (doc_id, benchmark, item) of everything found."""
        found: set[tuple[str, str, str]] = set()
        for doc_id, text in zip(documents["doc_id"].to_pylist(), documents["text"].to_pylist(), strict=True):
            words = plain_words(text)
            for length in self._lengths:
                for ngram in _ngrams(words, length):
                    found.update((doc_id, *item) for item in self._items.get(ngram, ()))
        return found


def plain_words(text: str) -> list[str]:
    """Return the lower-cased words without punctuation."""
    return re.findall(r"[^\W_]+", text.lower())


def _ngrams(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(size)), strict=False)


def _found(items: pa.Table, documents: pa.Table, index: ContaminationIndex, plain: PlainSet) -> list[Measure]:
    ways: dict[str, tuple[Way, Bar | None]] = {
        "verbatim": (lambda text, rng: text, at_least(100.0)),
        "re-wrapped": (rewrap, at_least(100.0)),
        "with changed numbers": (change_numbers, None),
        "with one word in 25 changed": (change_words, None),
    }
    return [
        Measure(
            measure=f"planted items found, {name} (% of {len(items):,})",
            ours=_percent(_ours(plant(items, documents, way), index), items),
            other=_percent(plain.find(plant(items, documents, way)), items),
            other_name=PLAIN,
            bar=bar,
        )
        for name, (way, bar) in ways.items()
    ]


def _short_found(short: pa.Table, documents: pa.Table) -> Measure:
    """MBPP's one-sentence descriptions, 7 words and more, verbatim and re-wrapped."""
    index = build_index(short)
    planted = plant(short, documents, rewrap)
    return Measure(
        measure=f"planted sentences of 7 words and more found, re-wrapped (% of {len(short):,})",
        ours=_percent(_ours(planted, index), short),
        other=_percent(PlainSet(short).find(planted), short),
        other_name=PLAIN,
        bar=at_least(100.0),
    )


def _false_positives(documents: pa.Table, index: ContaminationIndex, plain: PlainSet) -> Measure:
    shared = {doc_id for doc_id, _, _ in plain.find(documents)}
    flagged = {doc_id for doc_id, _, _ in _ours(documents, index)}
    num_clean = len(documents) - len(shared)
    print(f"documents that share 13 words with an item, flagged and not counted as false: {sorted(shared & flagged)}")
    return Measure(
        measure=f"false positives (per 1,000 of {num_clean:,} clean documents)",
        ours=1000 * len(flagged - shared) / num_clean,
        bar=at_most(1.0),
    )


def _number_runs(index: ContaminationIndex) -> Measure:
    """Documents of nothing but number runs, tables and alphabets, which the items hold as well."""
    runs = [" ".join(map(str, range(1, end))) for end in (14, 40, 1000)]
    runs += [", ".join("abcdefghijklmnopqrstuvwxyz"), "[1, 2, 3, 4, 5]\n" * 50, "\n".join(map(str, range(100)))]
    rows = pa.table({"doc_id": list(map(str, range(len(runs)))), "text": pa.array(runs, pa.large_string())})
    return Measure(
        measure=f"number runs and alphabets flagged (of {len(runs)})", ours=len(_ours(rows, index)), bar=at_most(0)
    )


def _speed(documents: pa.Table, index: ContaminationIndex, plain: PlainSet) -> Measure:
    megabytes = pc.sum(pc.binary_length(documents["text"])).as_py() / 1e6
    some = documents.slice(0, len(documents) // 20)
    some_megabytes = pc.sum(pc.binary_length(some["text"])).as_py() / 1e6
    return Measure(
        measure=f"speed on clean documents, one core (MB/s, {megabytes:.0f} MB)",
        ours=megabytes / _seconds(lambda: find_contamination(documents, index)),
        other=some_megabytes / _seconds(lambda: plain.find(some)),
        other_name=PLAIN,
        bar=at_least(40.0),
    )


def _short_speed(short: pa.Table, documents: pa.Table) -> Measure:
    index = build_index(short)
    seconds = _seconds(lambda: find_contamination(documents, index))
    return Measure(
        measure="speed with sentences of 7 words and more, one core (MB/s)",
        ours=pc.sum(pc.binary_length(documents["text"])).as_py() / 1e6 / seconds,
        bar=at_least(40.0),
    )


def _large_index(documents: pa.Table) -> list[Measure]:
    items = _generated_items(documents)
    megabytes = pc.sum(pc.binary_length(documents["text"])).as_py() / 1e6
    with tempfile.TemporaryDirectory() as folder:
        store = Store(StoreSettings(root=folder))
        with store.open_output("items.parquet") as stream:
            pq.write_table(items, stream)
        started = time.process_time()
        open_index(store, ("items.parquet",), ContaminationRules())
        built = time.process_time()
        index = open_index(store, ("items.parquet",), ContaminationRules())
        opened = time.process_time()
        return [
            Measure(measure="index of 1,000,000 items of 44 words (GB)", ours=index.num_bytes / 1e9, bar=at_most(2.0)),
            Measure(
                measure="what it costs a worker to have it, opened from the lake (s of one core)",
                ours=opened - built,
                other=built - started,
                other_name="building it",
            ),
            Measure(
                measure="speed with it, one core (MB/s)",
                ours=megabytes / _seconds(lambda: find_contamination(documents, index)),
            ),
        ]


def _generated_items(documents: pa.Table) -> pa.Table:
    """Return items of runs of four words from the documents."""
    rng = random.Random(1)
    words = plain_words("\n".join(documents["text"].to_pylist()))
    texts = []
    for _ in range(NUM_GENERATED_ITEMS):
        starts = [rng.randrange(len(words) - 4) for _ in range(GENERATED_WORDS // 4)]
        texts.append(" ".join(" ".join(words[start : start + 4]) for start in starts))
    numbers = pa.array(map(str, range(len(texts))), pa.string())
    return pa.table({"benchmark": pa.array(["generated"] * len(texts)), "item": numbers, "text": texts})


def plant(items: pa.Table, documents: pa.Table, way: Way) -> pa.Table:
    """Return one document for each item, of the same number: a clean one with the changed item between its lines."""
    rng = random.Random(0)
    hosts = documents["text"].to_pylist()
    rng.shuffle(hosts)
    texts = []
    for number, text in enumerate(items["text"].to_pylist()):
        lines = hosts[number % len(hosts)][:HOST_CHARACTERS].split("\n")
        lines.insert(rng.randrange(len(lines) + 1), way(text, rng))
        texts.append("\n".join(lines))
    return pa.table({"doc_id": list(map(str, range(len(items)))), "text": pa.array(texts, pa.large_string())})


def rewrap(text: str, rng: random.Random) -> str:
    """Return the same words in other lines, case, punctuation and quoting."""
    case = rng.randrange(4)
    text = [text, text.lower(), text.upper(), text.title()][case]
    changes: tuple[dict[str, str], ...] = (
        {},
        {",": ";", ".": " ...", "'": "\u2019", '"': "\u201c"},
        {",": " ,", "?": " ?!"},
    )
    punctuation = rng.choice(changes)
    text = "".join(punctuation.get(character, character) for character in text)
    if rng.random() < 0.7:
        text = "\n".join(textwrap.wrap(text, rng.choice([20, 40, 72]), break_long_words=False))
    prefix = rng.choice(["", "> ", "    ", "\t", "# ", " * ", "// ", "| "])
    text = "".join(prefix + line for line in text.splitlines(keepends=True))
    return rng.choice(["{}", "**{}**", "_{}_", "> {}", "```\n{}\n```", "\u201c{}\u201d"]).format(text)


def change_numbers(text: str, rng: random.Random) -> str:
    return re.sub(r"\d+", lambda found: str(rng.randrange(2, 10 ** rng.randrange(1, 5))), text)


def change_words(text: str, rng: random.Random) -> str:
    return re.sub(r"[A-Za-z]+", lambda found: "something" if rng.random() < 0.04 else found[0], text)


def _ours(documents: pa.Table, index: ContaminationIndex) -> set[tuple[str, str, str]]:
    rows = find_contamination(documents, index).select(["doc_id", "benchmark", "item"]).to_pylist()
    return {(row["doc_id"], row["benchmark"], row["item"]) for row in rows}


def _percent(found: set[tuple[str, str, str]], items: pa.Table) -> float:
    planted = {(str(number), row["benchmark"], row["item"]) for number, row in enumerate(items.to_pylist())}
    return 100 * len(planted & found) / len(planted)


def _seconds(work: Callable[[], object]) -> float:
    """Return the median processor time of three runs, after one that does not count."""
    times = []
    for _ in range(4):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times[1:])


def _items() -> Iterator[dict[str, str]]:
    for benchmark, column in BENCHMARKS.items():
        for number, row in enumerate(_rows(DATA / "bench_decontam" / f"{benchmark}.jsonl")):
            yield {"benchmark": benchmark, "item": str(number), "text": row[column]}


def _short_items() -> Iterator[dict[str, str]]:
    for number, row in enumerate(_rows(DATA / "bench_decontam/mbpp.jsonl")):
        yield {"benchmark": "mbpp", "item": str(number), "text": row["description"]}


def _documents() -> Iterator[dict[str, str]]:
    kinds: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "neardup_text_pydoc/docs.jsonl.gz": lambda row: row["text"],
        "html_parallel_lohelp/general.jsonl.gz": lambda row: extract_plain_text(row["html"], main_content=True),
        "html_parallel_lohelp/stem.jsonl.gz": lambda row: extract_plain_text(row["html"], main_content=True),
        "stem_gsm8k_train/gsm8k_train_2000.jsonl": lambda row: f"{row['question']}\n{row['answer']}",
        "code_thealgorithms/python.jsonl.gz": lambda row: row["content"],
        "code_thealgorithms/rust.jsonl.gz": lambda row: row["content"],
        "code_src_licensed/source_files.jsonl.gz": lambda row: row["content"],
    }
    for name, text_of in kinds.items():
        rows = [row for row in _rows(DATA / name) if row.get("lang", "en").startswith("en")]
        for number, row in enumerate(rows):
            yield {"doc_id": f"{name.partition('/')[0]}/{number}", "text": text_of(row)}


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    yield from map(json.loads, content.splitlines())


if __name__ == "__main__":
    print_measures(measures())
