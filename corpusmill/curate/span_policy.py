"""From repeated spans to what happens: they are cut out, and what keeps too little is dropped; or they are only counted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.contamination_policy import DECISIONS
from corpusmill.curate.edits import Edit, edit_rows, merge_edits

KIND = "repeated_span"
REASON = "too_short_without_repeats"
FLAG = "repeated_characters"
"""The entry of a document's `meta` that counts them where nothing is cut."""
ACTIONS = ("cut", "flag")


@dataclass(frozen=True, kw_only=True)
class SpanPolicy:
    """What happens to the repeated spans of a document."""

    action: str = "cut"
    """`cut` takes them out; `flag` leaves the text as it is and counts their characters."""
    min_kept_characters: int = 200
    """A document of which cuts leave less is dropped."""

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"repeated spans are to {' or '.join(ACTIONS)}, got {self.action!r}")
        if self.min_kept_characters < 0:
            raise ValueError(f"min_kept_characters must be at least 0, got {self.min_kept_characters}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SpanPolicy":
        known = set(cls.__dataclass_fields__)
        if unknown := sorted(set(value) - known):
            raise ValueError(f"unknown policy of repeated spans: {', '.join(unknown)}; known are {sorted(known)}")
        return cls(**value)


def span_decisions(spans: pa.Table, documents: pa.Table, policy: SpanPolicy, *, verdicts: pa.Table) -> pa.Table:
    """Return the DECISIONS about `documents` (doc_id and text) that have some of the REPEATED_SPANS `spans`.

    What the edits of `verdicts` cut is not left either.
    """
    if policy.action == "flag":
        return DECISIONS.empty_table()
    has_span = pc.is_in(documents["doc_id"], value_set=spans["doc_id"].combine_chunks())
    rows = documents.select(["doc_id", "text"]).filter(has_span)
    cuts: dict[str, list[Edit]] = {doc_id: [] for doc_id in rows["doc_id"].to_pylist()}
    for doc_id, start, end in zip(*(spans[name].to_pylist() for name in ("doc_id", "start", "end")), strict=True):
        if doc_id in cuts:
            cuts[doc_id].append(Edit(start=start, end=end, kind=KIND))
    places = pc.index_in(rows["doc_id"], value_set=verdicts["doc_id"].combine_chunks())
    earlier = verdicts["edits"].take(places).to_pylist()
    num_cut = np.array([_num_cut(*both) for both in zip(earlier, cuts.values(), strict=True)], np.int64)
    is_short = pc.utf8_length(rows["text"]).to_numpy() - num_cut < policy.min_kept_characters
    reasons = [REASON if short else None for short in is_short]
    edits = [None if short else edit_rows(found) for short, found in zip(is_short, cuts.values(), strict=True)]
    arrays = [rows["doc_id"], pa.array(reasons, pa.string()), pa.array(edits, DECISIONS.field("edits").type)]
    return pa.Table.from_arrays(arrays, schema=DECISIONS)


def _num_cut(earlier: list[dict[str, Any]] | None, cuts: list[Edit]) -> int:
    """Return how many characters go, those once that are cut for several reasons."""
    merged = merge_edits([*(Edit(**edit) for edit in earlier or ()), *cuts])
    return sum(edit.end - edit.start for edit in merged if not edit.replacement)


def flag_documents(documents: pa.Table, spans: pa.Table) -> pa.Table:
    """Return DOCUMENTS with FLAG in the `meta` of those that have some of the REPEATED_SPANS `spans`."""
    lengths = pc.subtract(spans["end"], spans["start"])
    sums = pa.table({"doc_id": spans["doc_id"], "length": lengths}).group_by("doc_id").aggregate([("length", "sum")])
    counts = dict(zip(sums["doc_id"].to_pylist(), sums["length_sum"].to_pylist(), strict=True))
    meta = [
        [*(entries or ()), (FLAG, str(counts[doc_id]))] if doc_id in counts else entries
        for doc_id, entries in zip(documents["doc_id"].to_pylist(), documents["meta"].to_pylist(), strict=True)
    ]
    place = documents.schema.get_field_index("meta")
    field = documents.schema.field(place)
    return documents.set_column(place, field, pa.array(meta, field.type))
