"""Corpora with planted duplicates, whose exact Jaccard is known by construction, and the oracle to judge by.

A document of n different words has n - 4 word 5-grams. Replacing its last k words keeps n - 4 - k of them, so the pair's
Jaccard is (m - k) / (m + k) with m = n - 4: 14 / 20 = .7 for 21 words of which 3 are replaced.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corpusmill.dedup.duplicates import Preferences, Resolution, find_duplicates
from corpusmill.dedup.parameters import DedupParameters
from corpusmill.dedup.signatures import sign

CERTAIN = DedupParameters(num_bands=60, rows_per_band=1)
"""A pair at .7 is missed with probability .3 ** 60: what is found depends on the texts alone."""

Document = tuple[str, str, str | None]
"""doc_id, snapshot, text."""


def words(first: int, count: int) -> str:
    return " ".join(f"w{number}" for number in range(first, first + count))


def edited(base: int, count: int, replaced: int) -> str:
    """Return the words from `base`, the last `replaced` of them replaced by words that no other document has."""
    tail = words(base * 1000 + 500 + replaced * 20, replaced)
    return f"{words(base * 1000, count - replaced)} {tail}"


def texts_table(documents: Sequence[Document], *, text_file: str = "texts", source: str = "pages") -> pa.Table:
    doc_ids, snapshots, texts = zip(*documents, strict=True)
    return pa.table(
        {
            "doc_id": pa.array(doc_ids, pa.string()),
            "source": pa.array([source] * len(documents), pa.string()),
            "snapshot": pa.array(snapshots, pa.string()),
            "text_file": pa.array([text_file] * len(documents), pa.string()),
            "text_hash": pa.nulls(len(documents), pa.string()),
            "text": pa.array(texts, pa.large_string()),
        }
    )


def resolve_texts(
    tables: Sequence[pa.Table], parameters: DedupParameters = CERTAIN, preferences: Preferences | None = None
) -> Resolution:
    """Sign and resolve tables of texts in memory."""
    whole = pa.concat_tables(tables)

    def read_texts(text_file: str, doc_ids: Sequence[str]) -> pa.Table:
        is_wanted = pc.and_(pc.equal(whole["text_file"], text_file), pc.is_in(whole["doc_id"], pa.array(doc_ids)))
        return whole.filter(is_wanted).select(["doc_id", "text"])

    signatures = [sign(table, parameters.to_json()) for table in tables]
    return find_duplicates(signatures, parameters=parameters, read_texts=read_texts, preferences=preferences)


def resolve_documents(documents: Sequence[Document], parameters: DedupParameters = CERTAIN) -> Resolution:
    return resolve_texts([texts_table(documents)], parameters)


def decisions(resolution: Resolution) -> list[tuple[str, str, str, float]]:
    """Return (removed, kept, kind, Jaccard) of every removal."""
    return [
        tuple(row[n] for n in ("doc_id", "duplicate_of", "kind", "jaccard")) for row in resolution.table.to_pylist()
    ]


def write_corpus(folder, documents: Sequence[Document], *, shards: int, parameters: DedupParameters) -> list[str]:
    """Write texts and signatures of the documents as `shards` files each; return the signature files."""
    files = []
    for shard in range(shards):
        mine = documents[shard::shards]
        if not mine:
            continue
        text_file, signature_file = folder / f"texts-{shard}.parquet", folder / f"signatures-{shard}.parquet"
        table = texts_table(mine, text_file=str(text_file))
        pq.write_table(table, text_file, write_page_checksum=True)
        pq.write_table(sign(table, parameters.to_json()), signature_file, write_page_checksum=True)
        files.append(str(signature_file))
    return files


def word_shingles(text: str, size: int = 5) -> set[tuple[str, ...]]:
    """Return the word n-grams of a text in a script with spaces, by Python's own regular expressions."""
    found = re.findall(r"\w+", text.lower())
    return {tuple(found[at : at + size]) for at in range(len(found) - size + 1)}


def oracle(documents: Sequence[Document], threshold: float = 0.7) -> dict[str, tuple[str, float]]:
    """Return removed -> (kept, Jaccard) by comparing all pairs: greedy against kept documents, best rank first."""
    kept: list[tuple[str, str, set]] = []
    removed: dict[str, tuple[str, float]] = {}
    for doc_id, _, text in sorted(documents, key=lambda document: (document[1], document[0])):
        if text is None:
            continue
        mine = word_shingles(text)
        scores = [(_score(text, mine, other, theirs), -rank, name) for rank, (name, other, theirs) in enumerate(kept)]
        best = max(scores, default=(0.0, 0, ""))
        if best[0] >= threshold:
            removed[doc_id] = (best[2], best[0])
        else:
            kept.append((doc_id, text, mine))
    return removed


def _score(text: str, mine: set, other: str, theirs: set) -> float:
    if text == other:
        return 1.0
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
