"""A hundred URLs forgotten out of a lake with all stages: what is found, and where it still is after that.

The lake is made by the real tasks (see `mixing_lake`), and what they showed is in a Dagster event log. What is found is compared
with a search row by row. The pages then come again in a new snapshot: under their URLs with other words, and their words under
other URLs. Then they are erased, and looked for in all bytes that there are (see `erased_search`).
"""

import hashlib
import io
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import dagster as dg
from tokenizers import Tokenizer

from assets.asset import scalars, shown
from benchmarks.erased_search import planted, where_left
from benchmarks.harness import Measure, at_least, at_most, print_measures
from benchmarks.mixing_lake import DATASET, MADE, MIX, SNAPSHOTS, StagedLake, make_lake, plant, run_stages
from corpusmill.stream.erased import ErasedError, erased_positions
from corpusmill.stream.index import open_components
from corpusmill.stream.loader import MixtureStream, Sample
from corpusmill.trace.forget import Asked, Found, find, withdraw
from jobs.development import prepare_home
from jobs.forgetting import forget

DOCUMENTS = 100
"""In each of two snapshots."""
URLS = 100
NEAR = 5
"""Pages among them that say what kept ones do: nothing is made from these."""
AGAIN, LATER = "2026", "2027"
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
    before = _digests(old)
    assert _num_within(_endings(pages), words_of(staged, old)) > URLS // 2, "the stream must hold what is to leave it"
    started = time.perf_counter()
    found = find(staged.lake, Asked(urls=list(pages)))
    seconds = time.perf_counter() - started
    documents, spans = by_hand(staged, pages)
    wrong = len({*found.doc_ids()} ^ documents) + len(_found_spans(found) ^ spans)
    read_at = _positions_of(old, documents)
    withdraw(staged.lake, found)
    came_back = _come_again(staged, AGAIN, pages)
    rebuilt = MixtureStream(staged.settings.lake, MIX)
    replays = _digests(MixtureStream(staged.settings.lake, old.mix)) == before
    return [
        Measure(
            measure=f"documents and sequences of {URLS} URLs, found otherwise than by hand", ours=wrong, bar=at_most(0)
        ),
        Measure(measure="documents found", ours=len(documents), bar=at_least(3 * URLS - 2 * NEAR)),
        Measure(
            measure="spans of them in the rebuilt stream", ours=len(_positions_of(rebuilt, documents)), bar=at_most(0)
        ),
        Measure(
            measure="their texts in the rebuilt stream",
            ours=_num_within(_endings(pages), words_of(staged, rebuilt)),
            bar=at_most(0),
        ),
        Measure(measure="pages that a new snapshot brought back", ours=came_back, bar=at_most(0)),
        Measure(measure="the old mix replays to the byte", ours=float(replays), bar=at_least(1)),
        Measure(measure="find (s)", ours=seconds),
        *_erased(staged, pages, old, read_at=read_at, before=before),
    ]


def _erased(
    staged: StagedLake, pages: Mapping[str, str], old: MixtureStream, *, read_at: list[int], before: list[bytes]
) -> list[Measure]:
    """Erase the pages and measure what is left of them, and what the old and the new mix say then."""
    state = Path(staged.settings.state_folder)
    log_shown(staged)
    wanted = words_to_go(staged, pages)
    held = where_left(state, staged.lake, wanted=wanted, tokenizer=staged.tokenizer)
    assert all(any(part in place for place in held) for part in ("dagster/", "extracted/", "completions/", "reports/"))
    rebuilt = _digests(MixtureStream(staged.settings.lake, MIX))
    started = time.perf_counter()
    with redirect_stdout(io.StringIO()):
        forget(staged.settings, Asked(urls=list(pages)), action="erase", is_confirmed=True)
    seconds = time.perf_counter() - started
    left = where_left(state, staged.lake, wanted=wanted, tokenizer=staged.tokenizer)
    for place, number in left.items():
        print(f"left in {place}: {number}")
    again = MixtureStream(staged.settings.lake, old.mix, allow_erased=True)
    missing = erased_positions(again.plan, open_components(staged.lake, again.plan), 0).tolist()
    kept = [position for position in range(again.num_positions) if position not in {*missing}]
    differ = sum(_digest(sample) != before[sample.position] for sample in again.read(kept))
    same = _digests(MixtureStream(staged.settings.lake, MIX)) == rebuilt
    came_back = _come_again(staged, LATER, pages)
    return [
        Measure(measure="words and URLs of them before erasing, by place", ours=sum(held.values())),
        Measure(measure="words and URLs of them after erasing", ours=sum(left.values()), bar=at_most(0)),
        Measure(
            measure="positions that refuse otherwise than by hand", ours=len({*missing} ^ {*read_at}), bar=at_most(0)
        ),
        Measure(
            measure="opening the old mix fails and names the first one",
            ours=float(_refuses(staged, old, read_at)),
            bar=at_least(1),
        ),
        Measure(measure="other positions of the old mix that differ", ours=differ, bar=at_most(0)),
        Measure(measure="the rebuilt mix is the same to the byte", ours=float(same), bar=at_least(1)),
        Measure(measure="pages that a snapshot brought back after erasing", ours=came_back, bar=at_most(0)),
        Measure(measure="erase (s)", ours=seconds),
    ]


def log_shown(staged: StagedLake) -> None:
    """Put what the tasks returned into a Dagster event log, as the assets show it."""
    os.environ["DAGSTER_HOME"] = str(prepare_home(staged.settings))
    with dg.DagsterInstance.get() as instance:
        for result in staged.results:
            shows = {**scalars(result), **shown(result)}
            key = dg.AssetKey(result["table"].split("/"))
            made = dg.AssetMaterialization(asset_key=key, partition=result["partition"], metadata=shows)
            instance.report_runless_asset_event(made)


def words_to_go(staged: StagedLake, pages: Mapping[str, str]) -> set[bytes]:
    """Return the planted words of some pages that no other document has, and their URLs."""
    others = [text for name in SNAPSHOTS for text in staged.texts[name] if text not in {*pages.values()}]
    kept = {word for text in others for word in planted(text)}
    return {word for url, text in pages.items() for word in planted(f"{text} {url}")} - kept


def _come_again(staged: StagedLake, snapshot: str, pages: Mapping[str, str]) -> int:
    """Bring the pages again under their URLs and their texts under others; return how many come through."""
    elsewhere = {f"https://{snapshot}.again/{n}": text for n, text in enumerate(pages.values())}
    changed = {url: f"new words of {url} " * 9 for url in pages}
    own = f"https://{snapshot}.own/"
    plant(staged, snapshot, {**changed, **elsewhere, own: "own " * 50})
    run_stages(staged)
    rows = staged.lake.read(f"curated/{DATASET}/extracted", partitions=[snapshot])
    return len({*rows["url"].to_pylist()} - {own})


def _refuses(staged: StagedLake, old: MixtureStream, read_at: Sequence[int]) -> bool:
    try:
        MixtureStream(staged.settings.lake, old.mix)
    except ErasedError as error:
        return f": {read_at[0]}" in str(error) and f"at {len(read_at):,} of" in str(error)
    return False


def _positions_of(stream: MixtureStream, documents: set[str]) -> list[int]:
    """Return the positions that read a document, looked at one by one."""
    pieces = (stream.provenance(position).pieces for position in range(stream.num_positions))
    return [position for position, held in enumerate(pieces) if documents & {piece.doc_id for piece in held}]


def _endings(pages: Mapping[str, str]) -> list[str]:
    return [text[-_ENDING:] for text in pages.values()]


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


def _digests(stream: MixtureStream) -> list[bytes]:
    return [_digest(sample) for sample in stream.read(range(stream.num_positions))]


def _digest(sample: Sample) -> bytes:
    return hashlib.sha256(sample.tokens.tobytes() + sample.lengths.tobytes()).digest()


if __name__ == "__main__":
    print_measures(measures())
