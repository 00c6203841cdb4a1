"""What a new resolution changes of earlier decisions: documents that return, go, or go for another reason.

Nothing changes where new snapshots only came after what was known. Cost otherwise: the earlier decisions, once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import DUPLICATES

REASON = ("duplicate_of", "kind", "jaccard")
MOST_ROWS = 25
"""Of a table on the asset's page."""
WAYS = ("returned", "removed", "named_otherwise")


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Decisions about documents of earlier snapshots that are no longer what they were."""

    numbers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By snapshot and way."""
    returned: Sequence[Mapping[str, Any]] = ()
    """The first documents that return, with what they duplicated."""

    def metrics(self) -> dict[str, int]:
        totals = {way: sum(row.get(way, 0) for row in self.numbers.values()) for way in WAYS}
        return {
            "returned_documents": totals["returned"],
            "changed_decisions": sum(totals.values()),
            "snapshots_to_materialize": len(self.numbers),
        }

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the snapshots whose duplicates are to be made again, and some documents that return."""
        rows = [{"snapshot": name, **dict(numbers)} for name, numbers in self.numbers.items()][:MOST_ROWS]
        return {"snapshots_to_materialize": rows, "returned_documents": [dict(row) for row in self.returned]}


def compare(before: pa.Table, after: pa.Table, *, standing: pa.Array, snapshots: Sequence[str]) -> Changes:
    """Compare two resolutions (DUPLICATES) of the documents of `snapshots`; `standing` are the ids of those still there."""
    old, new = (_about(rows, snapshots).sort_by("doc_id") for rows in (before, after))
    is_gone = pc.invert(pc.is_in(old.column("doc_id"), value_set=new.column("doc_id").combine_chunks()))
    returned = old.filter(pc.and_(is_gone, pc.is_in(old.column("doc_id"), value_set=standing)))
    place = pc.index_in(new.column("doc_id"), value_set=old.column("doc_id").combine_chunks())
    removed = new.filter(pc.is_null(place))
    stays, stayed = new.filter(pc.is_valid(place)), old.take(place.drop_null())
    differs = [pc.not_equal(stays.column(name), stayed.column(name)) for name in REASON]
    otherwise = stays.filter(pc.or_(pc.or_(differs[0], differs[1]), differs[2]))
    counts = {
        way: Counter(rows.column("snapshot").to_pylist())
        for way, rows in zip(WAYS, (returned, removed, otherwise), strict=True)
    }
    changed = sorted({name for counter in counts.values() for name in counter})
    return Changes(
        numbers={name: {way: counts[way][name] for way in WAYS} for name in changed},
        returned=returned.select(["doc_id", "snapshot", "duplicate_of"]).slice(0, 10).to_pylist(),
    )


def _about(rows: pa.Table, snapshots: Sequence[str]) -> pa.Table:
    chosen = rows.select(DUPLICATES.names)
    return chosen.filter(pc.is_in(chosen.column("snapshot"), value_set=pa.array(list(snapshots), pa.string())))
