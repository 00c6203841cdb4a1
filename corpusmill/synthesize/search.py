"""Searching the seed documents of a partition by their words, for agents: BM25 over an index in memory.

The index is the same whatever the order of the documents. Memory is bounded: at most `max_documents`, those whose ids
have the smallest hashes, and of each its first `max_characters`. A query costs one look at the postings of its words.

    score = sum over the query's words of log(1 + (N - n + 0.5) / (n + 0.5)) * t * 2.2 / (t + 1.2 * (0.25 + 0.75 * length / mean))

with t the times that the document has the word and n the documents that have it (Robertson and Zaragoza, The Probabilistic
Relevance Framework, 2009, section 3.5, with its usual k1 = 1.2 and b = 0.75).
"""

import hashlib
import heapq
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from corpusmill.fingerprint import fingerprint
from corpusmill.synthesize.verify.words import shingles, words

K1, B = 1.2, 0.75
NOTHING = "No document has these words."
_COPY_SHINGLE = 5


@dataclass(frozen=True, kw_only=True)
class SearchLimits:
    """How much an index holds and an answer shows."""

    max_documents: int = 2_000
    max_characters: int = 10_000
    """Of each document; what comes later is not found."""
    num_results: int = 3
    passage_characters: int = 400
    copy_share: float = 0.5
    """A document that has so much of the 5-word runs of `besides` is not shown: it is the asker's own."""

    def __post_init__(self) -> None:
        if min(self.max_documents, self.max_characters, self.num_results, self.passage_characters) < 1:
            raise ValueError(f"limits of a search must be at least 1, got {self}")


@dataclass(frozen=True, kw_only=True)
class _Held:
    """One document of the index."""

    doc_id: str
    title: str
    text: str


class CorpusIndex:
    """The documents that can be found. Calling it is asking: `query`, and `besides`, a text whose copies are left out."""

    def __init__(self, batches: Iterable[pa.Table], limits: SearchLimits | None = None) -> None:
        """Read all batches of a partition's documents; of them it keeps what the limits allow."""
        self._limits = limits or SearchLimits()
        self.num_seen, self._documents = _held(batches, self._limits)
        self._lengths = array("I")
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        for number, document in enumerate(self._documents):
            counts = Counter(words(document.text))
            self._lengths.append(counts.total())
            for word, times in counts.items():
                places, frequencies = self._postings.setdefault(word, (array("I"), array("I")))
                places.append(number)
                frequencies.append(times)
        self._mean_length = sum(self._lengths) / len(self._lengths) if self._lengths else 1.0

    @property
    def num_documents(self) -> int:
        """How many of the documents seen can be found."""
        return len(self._documents)

    @property
    def version(self) -> str:
        """The fingerprint of what decides its answers: documents and limits."""
        held = [[item.doc_id, item.title, hashlib.sha256(item.text.encode()).hexdigest()] for item in self._documents]
        return fingerprint({"documents": held, "limits": asdict(self._limits)})

    def __call__(self, arguments: Mapping[str, str]) -> str:
        """Return the best documents' titles and passages as text."""
        found = self.search(arguments["query"], besides=arguments.get("besides", ""))
        asked = set(words(arguments["query"]))
        shown = [f"[{item.title or item.doc_id}]\n{self._passage(item.text, asked)}" for item in found]
        return "\n\n".join(shown) or NOTHING

    def search(self, query: str, *, besides: str = "") -> Sequence[_Held]:
        """Return the best documents, the best first; equal scores are ordered by id."""
        own = shingles(words(besides), _COPY_SHINGLE)
        found: list[_Held] = []
        for _, _, number in sorted(self._scored(query)):
            document = self._documents[number]
            if not _is_copy(document.text, own, self._limits.copy_share):
                found.append(document)
            if len(found) == self._limits.num_results:
                break
        return found

    def _scored(self, query: str) -> list[tuple[float, str, int]]:
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(set(words(query))):
            places, frequencies = self._postings.get(word, (array("I"), array("I")))
            weight = math.log(1 + (len(self._documents) - len(places) + 0.5) / (len(places) + 0.5))
            for number, times in zip(places, frequencies, strict=True):
                room = K1 * (1 - B + B * self._lengths[number] / self._mean_length)
                scores[number] += weight * times * (K1 + 1) / (times + room)
        return [(-score, self._documents[number].doc_id, number) for number, score in scores.items()]

    def _passage(self, text: str, asked: set[str]) -> str:
        """Return the piece of the text, of whole lines or cut, that has the most of the words; the first of equals."""
        size = self._limits.passage_characters
        starts = range(0, max(1, len(text) - size // 2), max(1, size // 2))
        best = max(starts, key=lambda start: (len(asked & set(words(text[start : start + size]))), -start))
        return " ".join(text[best : best + size].split())


def _held(batches: Iterable[pa.Table], limits: SearchLimits) -> tuple[int, list[_Held]]:
    """Return how many documents there are, and those that are held, in the order of their ids."""
    num_seen = 0
    kept: list[tuple[str, str, str, str]] = []
    for batch in batches:
        num_seen += len(batch)
        rows = batch.select(["doc_id", "title", "text"]).to_pylist()
        new = [
            (_rank(row["doc_id"]), row["doc_id"], row["title"] or "", row["text"][: limits.max_characters])
            for row in rows
        ]
        kept = heapq.nsmallest(limits.max_documents, [*kept, *new])
    return num_seen, sorted(
        (_Held(doc_id=doc_id, title=title, text=text) for _, doc_id, title, text in kept), key=lambda item: item.doc_id
    )


def _is_copy(text: str, own: set[tuple[str, ...]], share: float) -> bool:
    return bool(own) and len(own & shingles(words(text), _COPY_SHINGLE)) >= share * len(own)


def _rank(doc_id: str) -> str:
    return hashlib.sha256(f"search\x00{doc_id}".encode()).hexdigest()
