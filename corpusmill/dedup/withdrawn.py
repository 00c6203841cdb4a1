"""Documents that a removal names, by id or by text: they neither stay nor stand in for others."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import REMOVALS

NAMES = ("doc_id", "text_hash", "url_hash")


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """What removals name."""

    doc_ids: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    text_hashes: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    url_hashes: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    """Of no use where documents are known by id and text: only what is ingested later is known by its URL."""

    def __bool__(self) -> bool:
        return bool(len(self.doc_ids) or len(self.text_hashes))

    @property
    def names_anything(self) -> bool:
        """Whether it names a URL, an id or a text."""
        return bool(self) or bool(len(self.url_hashes))

    def names(self, documents: pa.Table) -> np.ndarray:
        """Say of each row (doc_id, text_hash) whether a removal names it."""
        by_id = pc.is_in(documents.column("doc_id"), value_set=self.doc_ids)
        by_text = pc.is_in(documents.column("text_hash"), value_set=self.text_hashes)
        return np.asarray(pc.or_(by_id, by_text))

    def left(self, documents: pa.Table) -> pa.Table:
        """Return the documents that no removal names."""
        return documents.filter(pa.array(~self.names(documents))) if self else documents


NOTHING_WITHDRAWN = Withdrawn()


def withdrawn_of(removals: pa.Table) -> Withdrawn:
    """Return what rows of REMOVALS name; a row that names nothing, or more than one thing, is refused."""
    rows = removals.select(REMOVALS.names)
    named = [rows.column(name) for name in NAMES]
    num_named = sum(np.asarray(pc.is_valid(column)).astype(np.int8) for column in named)
    if (faults := np.flatnonzero(num_named != 1)).size:
        raise ValueError(
            f"a removal names either a doc_id or a text_hash or a url_hash, got {rows.slice(faults[0], 1).to_pylist()[0]}; "
            "write one row for each"
        )
    doc_ids, text_hashes, url_hashes = (column.drop_null().unique().cast(pa.string()) for column in named)
    return Withdrawn(doc_ids=doc_ids, text_hashes=text_hashes, url_hashes=url_hashes)
