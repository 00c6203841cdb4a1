"""Documents that a removal names, by id or by text: they neither stay nor stand in for others."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import REMOVALS


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """What removals name."""

    doc_ids: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    text_hashes: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))

    def __bool__(self) -> bool:
        return bool(len(self.doc_ids) or len(self.text_hashes))

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
    """Return what rows of REMOVALS name; a row that names nothing, or both, is refused."""
    rows = removals.select(REMOVALS.names)
    both = pc.equal(pc.is_null(rows.column("doc_id")), pc.is_null(rows.column("text_hash")))
    if pc.any(both).as_py():
        raise ValueError(
            "a removal names either a doc_id or a text_hash, got "
            f"{rows.filter(both).slice(0, 1).to_pylist()[0]}; write one row for each"
        )
    named = [rows.column(name).drop_null().unique().cast(pa.string()) for name in ("doc_id", "text_hash")]
    return Withdrawn(doc_ids=named[0], text_hashes=named[1])
