"""A hundred URLs forgotten out of a lake with all stages: what is found, and where it still is after that.

The lake is made by the real tasks (see `mixing_lake`). What is found is compared with a search row by row. The pages then come
again in a new snapshot: under their URLs with other words, and their words under other URLs.
"""

import hashlib
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.mixing_lake import DATASET, MADE, MIX, SNAPSHOTS, StagedLake, make_lake, plant, run_stages
from corpusmill.stream.loader import MixtureStream
from corpusmill.trace.forget import Asked, Found, find, withdraw

DOCUMENTS = 100
"""In each of two snapshots."""
URLS = 100
AGAIN = "2026"
_ENDING = 60
"""Characters by which a text is known in the stream: a longer text may be cut, and near-duplicates begin alike."""


def measures() -> list[Measure]:
    """Return what is left of 100 URLs in all that is made after they were withdrawn."""
    with tempfile.TemporaryDirectory(prefix="corpusmill-forget-", ignore_cleanup_errors=True) as folder:
        return _measured(make_lake(Path(folder), num_documents=DOCUMENTS, num_words=60))


def _measured(staged: StagedLake) -> list[Measure]:
    pages = {
        f"https://{snapshot}.test/{n}": staged.texts[snapshot][n]
        for snapshot in SNAPSHOTS
        for n in range(1, DOCUMENTS, 2)
    }
    assert len(pages) == URLS
    old = MixtureStream(staged.settings.lake, MIX)
    before, endings = _digest(old), [text[-_ENDING:] for text in pages.values()]
    assert _num_within(endings, words_of(staged, old)) > URLS // 2, "the stream must hold what is to leave it"
    started = time.perf_counter()
    found = find(staged.lake, Asked(urls=list(pages)))
    seconds = time.perf_counter() - started
    documents, spans = by_hand(staged, pages)
    wrong = len({*found.doc_ids()} ^ documents) + len(_found_spans(found) ^ spans)
    withdraw(staged.lake, found)
    elsewhere = {f"https://again.test/{n}": text for n, text in enumerate(pages.values())}
    plant(
        staged,
        AGAIN,
        {**{url: f"new words of {url} " * 9 for url in pages}, **elsewhere, "https://own.test/": "own " * 50},
    )
    run_stages(staged)
    came_back = {*staged.lake.read(f"curated/{DATASET}/extracted", partitions=[AGAIN])["url"].to_pylist()} - {
        "https://own.test/"
    }
    rebuilt = MixtureStream(staged.settings.lake, MIX)
    spans_left = sum(
        piece.doc_id in documents
        for position in range(rebuilt.num_positions)
        for piece in rebuilt.provenance(position).pieces
    )
    return [
        Measure(
            measure=f"documents and sequences of {URLS} URLs, found otherwise than by hand", ours=wrong, bar=at_most(0)
        ),
        Measure(measure="documents found", ours=len(documents), bar=at_least(3 * URLS)),
        Measure(measure="spans of them in the rebuilt stream", ours=spans_left, bar=at_most(0)),
        Measure(
            measure="their texts in the rebuilt stream",
            ours=_num_within(endings, words_of(staged, rebuilt)),
            bar=at_most(0),
        ),
        Measure(measure="pages that a new snapshot brought back", ours=len(came_back), bar=at_most(0)),
        Measure(
            measure="the old mix replays to the byte",
            ours=float(_digest(MixtureStream(staged.settings.lake, old.mix)) == before),
            bar=at_least(1),
        ),
        Measure(measure="find (s)", ours=seconds),
    ]


def by_hand(staged: StagedLake, urls: Iterable[str]) -> tuple[set[str], set[tuple[Any, ...]]]:
    """Return the documents of some URLs with all that was made from them, and table, partition, number of sequences and tokens.

    Row by row over the current versions; a URL is compared as it is spelled.
    """
    lake, wanted = staged.lake, {*urls}
    documents = {row["doc_id"] for row in lake.read(f"sources/{DATASET}/records").to_pylist() if row["url"] in wanted}
    for name in MADE:
        rows = lake.read(f"synthesized/{name}/documents", columns=["doc_id", "parent_ids"]).to_pylist()
        documents |= {row["doc_id"] for row in rows if {*row["parent_ids"]} & documents}
    held: dict[tuple[str, str], list[int]] = {}
    for name in (DATASET, *MADE):
        for row in lake.read(f"tokenized/{name}/sequences").to_pylist():
            tokens = [n for one, n in zip(row["doc_ids"], row["lengths"], strict=True) if one in documents]
            if tokens:
                counted = held.setdefault((f"tokenized/{name}/sequences", row["partition_key"]), [0, 0])
                counted[0] += 1
                counted[1] += sum(tokens)
    return documents, {(*key, *numbers) for key, numbers in held.items()}


def words_of(staged: StagedLake, stream: MixtureStream) -> str:
    """Return all that a stream reads, as text."""
    tokenizer = Tokenizer.from_file(staged.tokenizer)
    return "\n".join(tokenizer.decode(sample.tokens.tolist()) for sample in stream.read(range(stream.num_positions)))


def _found_spans(found: Found) -> set[tuple[Any, ...]]:
    rows = found.sequences.to_pylist()
    return {(row["table"], row["partition"], row["sequences"], row["tokens"]) for row in rows if row["is_current"]}


def _num_within(endings: Iterable[str], words: str) -> int:
    return sum(ending in words for ending in endings)


def _digest(stream: MixtureStream) -> str:
    digest = hashlib.sha256()
    for sample in stream.read(range(stream.num_positions)):
        digest.update(sample.tokens.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print_measures(measures())
