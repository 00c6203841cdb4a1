"""From what was found to what happens: documents dropped for the reason `contaminated`, or the found spans cut out of them."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.contamination import find_contamination
from corpusmill.curate.contamination_index import ContaminationIndex
from corpusmill.curate.contamination_rules import ContaminationPolicy
from corpusmill.curate.edits import Edit, edit_rows, merge_edits
from corpusmill.document import EDIT

REASON = "contaminated"

DECISIONS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("drop_reason", pa.string()),
        pa.field("edits", pa.list_(EDIT)),
    ]
)
"""One row a document in which something was found: either it is dropped, or these cuts are made."""


def contamination_decisions(found: pa.Table, documents: pa.Table, policy: ContaminationPolicy) -> pa.Table:
    """Return DECISIONS about the CONTAMINATION `found` in `documents` (doc_id and text), in the order of `documents`.

    Rows about other documents are left out.
    """
    has_hit = pc.is_in(documents["doc_id"], value_set=found["doc_id"].combine_chunks())
    rows = documents.select(["doc_id", "text"]).filter(has_hit)
    if policy.action == "drop":
        return _decisions(rows["doc_id"], [REASON] * len(rows), [None] * len(rows))
    lengths = pc.fill_null(pc.utf8_length(rows["text"]), 0).to_pylist()
    spans: dict[str, list[tuple[int, int]]] = {}
    for doc_id, start, end in zip(*(found[name].to_pylist() for name in ("doc_id", "start", "end")), strict=True):
        spans.setdefault(doc_id, []).append((start, end))
    cuts = [
        find_cuts(spans[doc_id], length, policy)
        for doc_id, length in zip(rows["doc_id"].to_pylist(), lengths, strict=True)
    ]
    reasons = [REASON if cut is None else None for cut in cuts]
    edits = [None if cut is None else edit_rows(cut) for cut in cuts]
    return _decisions(rows["doc_id"], reasons, edits)


def find_cuts(spans: list[tuple[int, int]], length: int, policy: ContaminationPolicy) -> list[Edit] | None:
    """Return the cuts that take the spans out of a text of `length` characters; None where too little would be left.

    With 2 characters cut on each side and pieces of 4: of [10, 12) in 20 the cut is [8, 14); of [5, 6) in 20 it is
    [0, 8), as only 3 characters would stay in front.
    """
    cuts: list[tuple[int, int]] = []
    position = 0
    for start, end in sorted(spans):
        start, end = max(0, start - policy.cut_characters), min(length, end + policy.cut_characters)
        if start - position < policy.min_piece_characters:
            start = min(start, position)
        if cuts and start <= cuts[-1][1]:
            cuts[-1] = (cuts[-1][0], max(end, cuts[-1][1]))
        else:
            cuts.append((start, end))
        position = cuts[-1][1]
    if length - position < policy.min_piece_characters:
        cuts[-1] = (cuts[-1][0], length)
    num_pieces = len(cuts) + 1 - (cuts[0][0] == 0) - (cuts[-1][1] == length)
    if not 0 < num_pieces <= policy.max_pieces:
        return None
    return [Edit(start=start, end=end, kind=REASON) for start, end in cuts]


def add_cuts(verdicts: pa.Table, decisions: pa.Table) -> pa.Table:
    """Return the verdicts with the cuts of DECISIONS among their edits; a mask inside a cut goes with it."""
    cuts = decisions.filter(decisions["edits"].is_valid())
    places = pc.index_in(verdicts["doc_id"], value_set=cuts["doc_id"].combine_chunks()).to_pylist()
    if not len(cuts):
        return verdicts
    edits = verdicts["edits"].to_pylist()
    for row, place in enumerate(places):
        if place is not None:
            both = [*(edits[row] or []), *cuts["edits"][place].as_py()]
            edits[row] = edit_rows(merge_edits(Edit(**edit) for edit in both))
    column = verdicts.schema.get_field_index("edits")
    field = verdicts.schema.field(column)
    return verdicts.set_column(column, field, pa.array(edits, field.type))


def reject_contaminated(documents: pa.Table, index: ContaminationIndex) -> tuple[pa.Table, pa.Table]:
    """Return SYNTHESIZED rows with `reject_reason` contaminated where something was found in an accepted one, and what.

    The `meta` of such a row names the first item in it: `benchmark` and `benchmark_item`.
    """
    found = find_contamination(documents.filter(pc.is_null(documents["reject_reason"])), index)
    first = {row["doc_id"]: row for row in reversed(found.to_pylist())}
    reasons, meta = documents["reject_reason"].to_pylist(), documents["meta"].to_pylist()
    for row, doc_id in enumerate(documents["doc_id"].to_pylist()):
        if doc_id in first and reasons[row] is None:
            reasons[row] = REASON
            item = first[doc_id]
            meta[row] = [*(meta[row] or []), ("benchmark", item["benchmark"]), ("benchmark_item", item["item"])]
    return _with_column(_with_column(documents, "reject_reason", reasons), "meta", meta), found


def _decisions(doc_ids: pa.ChunkedArray, reasons: list[str | None], edits: list[list[dict] | None]) -> pa.Table:
    arrays = [doc_ids, pa.array(reasons, pa.string()), pa.array(edits, pa.list_(EDIT))]
    return pa.Table.from_arrays(arrays, schema=DECISIONS)


def _with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    field = table.schema.field(name)
    return table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))
