"""What happens to a document in which a benchmark item was found."""

import pyarrow as pa
import pytest

from corpusmill.curate.apply import apply_edits
from corpusmill.curate.contamination import CONTAMINATION
from corpusmill.curate.contamination_build import build_index
from corpusmill.curate.contamination_policy import (
    add_cuts,
    contamination_decisions,
    find_cuts,
    reject_contaminated,
)
from corpusmill.curate.contamination_rules import ContaminationPolicy
from corpusmill.document import SYNTHESIZED, VERDICT_KEYS

SMALL = ContaminationPolicy(action="cut", cut_characters=2, min_piece_characters=4, max_pieces=2)
CUTS = {
    "in the middle": ([(10, 12)], 20, [(8, 14)]),
    "the piece in front is too short": ([(5, 6)], 20, [(0, 8)]),
    "the piece behind is too short": ([(15, 16)], 20, [(13, 20)]),
    "two that touch are one": ([(10, 12), (15, 16)], 40, [(8, 18)]),
    "the piece between two is too short": ([(10, 12), (19, 20)], 40, [(8, 22)]),
    "one inside the other": ([(10, 20), (12, 13)], 40, [(8, 22)]),
    "too many pieces": ([(10, 12), (25, 27)], 40, None),
    "nothing is left": ([(3, 6)], 10, None),
    "nothing but the match": ([(0, 10)], 10, None),
}


@pytest.mark.parametrize(("spans", "length", "expected"), CUTS.values(), ids=CUTS)
def test_the_cuts(spans: list[tuple[int, int]], length: int, expected: list[tuple[int, int]] | None) -> None:
    cuts = find_cuts(spans, length, SMALL)
    assert (None if cuts is None else [(cut.start, cut.end) for cut in cuts]) == expected


def found(*rows: tuple[str, int, int]) -> pa.Table:
    columns = {"benchmark": "b", "item": "1", "share": 1.0, "kind": "whole"}
    listed = [{"doc_id": doc_id, "start": start, "end": end, **columns} for doc_id, start, end in rows]
    return pa.Table.from_pylist(listed, schema=CONTAMINATION)


DOCUMENTS = pa.table({"doc_id": ["d1", "d2", "d3"], "text": ["x" * 30, "y" * 10, "z" * 30]})
FOUND = found(("d2", 0, 9), ("d1", 10, 12), ("other", 0, 1))


def test_documents_are_dropped() -> None:
    decisions = contamination_decisions(FOUND, DOCUMENTS, ContaminationPolicy())
    assert decisions.to_pylist() == [
        {"doc_id": "d1", "drop_reason": "contaminated", "edits": None},
        {"doc_id": "d2", "drop_reason": "contaminated", "edits": None},
    ]


def test_long_documents_are_cut_and_short_ones_dropped() -> None:
    decisions = contamination_decisions(FOUND, DOCUMENTS, SMALL)
    cut = {"start": 8, "end": 14, "kind": "contaminated", "replacement": ""}
    assert decisions.to_pylist() == [
        {"doc_id": "d1", "drop_reason": None, "edits": [cut]},
        {"doc_id": "d2", "drop_reason": "contaminated", "edits": None},
    ]


def test_cuts_join_the_edits_of_verdicts() -> None:
    mask = {"start": 9, "end": 12, "kind": "email", "replacement": "m"}
    line = {"start": 0, "end": 3, "kind": "line", "replacement": ""}
    rows = [
        {"doc_id": "d3", "text_file": "f", "edits": None},
        {"doc_id": "d1", "text_file": "f", "edits": [line, mask]},
    ]
    verdicts = pa.Table.from_pylist(rows, schema=VERDICT_KEYS)
    joined = add_cuts(verdicts, contamination_decisions(FOUND, DOCUMENTS, SMALL))
    assert joined.schema == verdicts.schema
    assert joined["edits"][0].as_py() is None
    assert apply_edits("abcdefgh........opqrstuvwxyz", joined["edits"][1].as_py()) == "defgh..opqrstuvwxyz"
    assert add_cuts(verdicts, contamination_decisions(FOUND, DOCUMENTS, ContaminationPolicy())).equals(verdicts)


def test_synthesized_documents_are_rejected_and_earlier_reasons_stay() -> None:
    item = "Write a function to swap two numbers."
    texts = {"a": ("def swap", None), "b": (f"# {item}", None), "c": (item, "too_long")}
    rows = [
        {"doc_id": doc_id, "source": "s", "snapshot": "1", "text": text, "text_hash": "h", "reject_reason": reason}
        | {"meta": [("num_chunks", "1")]}
        for doc_id, (text, reason) in texts.items()
    ]
    index = build_index(pa.table({"benchmark": ["mbpp"], "item": ["7"], "text": [item]}))
    judged, hits = reject_contaminated(pa.Table.from_pylist(rows, schema=SYNTHESIZED), index)
    assert judged.schema == SYNTHESIZED
    assert judged["reject_reason"].to_pylist() == [None, "contaminated", "too_long"]
    assert (hits["doc_id"].to_pylist(), hits["item"].to_pylist()) == (["b"], ["7"])
    chunks = ("num_chunks", "1")
    named = [chunks, ("benchmark", "mbpp"), ("benchmark_item", "7")]
    assert judged["meta"].to_pylist() == [[chunks], named, [chunks]]


WRONG = {
    "action": ({"action": "mask"}, "action must be one of drop, cut, got 'mask'"),
    "negative": ({"max_pieces": -1}, "no negative numbers"),
    "unknown": ({"pieces": 3}, "unknown setting pieces; ContaminationPolicy has action"),
}


@pytest.mark.parametrize(("policy", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_policy_is_refused(policy: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ContaminationPolicy.from_json(policy)
