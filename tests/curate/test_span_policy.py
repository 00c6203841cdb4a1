"""What repeated spans leave of a document that other edits cut as well."""

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from corpusmill.curate.contamination_policy import DECISIONS, add_cuts
from corpusmill.curate.span_policy import REASON, SpanPolicy, span_decisions


def cut(start: int, end: int, kind: str = "contamination", replacement: str = "") -> dict[str, Any]:
    return {"start": start, "end": end, "kind": kind, "replacement": replacement}


@pytest.mark.parametrize(
    ("earlier", "span", "reason"),
    [
        (None, (0, 800), None),
        (None, (0, 801), REASON),
        ([cut(0, 500)], (500, 1000), REASON),
        ([cut(0, 600)], (500, 800), None),
        ([cut(0, 600)], (500, 801), REASON),
        ([cut(900, 920, "email", "<EMAIL>")], (0, 800), None),
    ],
)
def test_what_is_left_is_what_no_cut_takes(
    earlier: list[dict[str, Any]] | None, span: tuple[int, int], reason: str | None
) -> None:
    documents = pa.table({"doc_id": ["a"], "text": ["x" * 1000]})
    verdicts = pa.table(
        [pa.array(["a"]), pa.array([earlier], DECISIONS.field("edits").type)], names=["doc_id", "edits"]
    )
    spans = pa.table({"doc_id": ["a"], "start": [span[0]], "end": [span[1]]})
    decisions = span_decisions(spans, documents, SpanPolicy(min_kept_characters=200), verdicts=verdicts)
    assert decisions["drop_reason"].to_pylist() == [reason]
    edits = add_cuts(verdicts, decisions)["edits"][0].as_py() or []
    assert all(one["end"] <= other["start"] for one, other in pairwise(edits))
