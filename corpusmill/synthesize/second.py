"""Second documents: which other documents of a partition stand beside a seed, the same ones whoever asks and whenever.

All ids lie on a ring by their hash, and a seed is given those that come next after it. So the choice needs no order and no
state, and a document that is added or goes changes it only for the seeds right before it. Some are given more often than
others, as gaps on a ring are uneven. Memory: the documents to choose from.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from corpusmill.curate.licenses import all_of
from corpusmill.synthesize.chunk import chunk_spans
from corpusmill.synthesize.prompt import column_value
from corpusmill.synthesize.recipe import SecondDocuments

Row = Mapping[str, Any]


class Pool:
    """The documents that seconds are chosen from."""

    def __init__(self, documents: pa.Table, asked: SecondDocuments, *, recipe: str) -> None:
        self._asked = asked
        self._recipe = recipe
        self._rows = {row["doc_id"]: row for row in documents.to_pylist()}
        self._rings: dict[Any, list[tuple[str, str]]] = {}
        for doc_id, row in self._rows.items():
            self._rings.setdefault(self._value(row), []).append((self._place(doc_id), doc_id))
        for ring in self._rings.values():
            ring.sort()

    @property
    def columns(self) -> set[str]:
        """What a seed's row must have."""
        same = [] if self._asked.same is None else [self._asked.same.partition(".")[0]]
        return {"doc_id", "text_hash", *same}

    def beside(self, seed: Row) -> tuple[Row, ...]:
        """Return the documents beside a seed: never itself or its text again, none where there are fewer than asked for."""
        ring = self._rings.get(self._value(seed), [])
        start = bisect_right(ring, (self._place(seed["doc_id"]), seed["doc_id"]))
        found: list[Row] = []
        hashes = {seed["text_hash"]}
        for step in range(len(ring)):
            row = self._rows[ring[(start + step) % len(ring)][1]]
            if row["doc_id"] != seed["doc_id"] and row["text_hash"] not in hashes:
                found.append(row)
                hashes.add(row["text_hash"])
            if len(found) == self._asked.count:
                return tuple(found)
        return ()

    def _value(self, row: Row) -> Any:
        """Return what must be the same; a document that has none is like no other."""
        if self._asked.same is None:
            return ""
        value = column_value(row, self._asked.same)
        return row["doc_id"] if value is None else ("same", value)

    def _place(self, doc_id: str) -> str:
        return hashlib.sha256(f"{self._recipe}\x00second\x00{doc_id}".encode()).hexdigest()


def shown_part(text: str, asked: SecondDocuments) -> str:
    """Return what is shown of a second document: its beginning."""
    start, end = chunk_spans(text, max_characters=asked.max_characters)[0]
    return text[start:end].strip()


def joint_license(licenses: list[str | None]) -> str | None:
    """Return the expression in which all of these hold; None where one is not known."""
    known = [name for name in dict.fromkeys(licenses) if name is not None]
    if None in licenses:
        return None
    return known[0] if len(known) == 1 else all_of(known)
