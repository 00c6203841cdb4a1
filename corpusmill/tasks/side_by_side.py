"""Samples for people: what was asked about, what came of it, and the verdict, beside one another."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

WIDTH = 240
ACCEPTED = "accepted"


def side_by_side(judged: pa.Table, asked: pa.Table, seeds: pa.Table, *, num_rows: int) -> list[dict[str, Any]]:
    """Return some accepted and as many rejected rows of SYNTHESIZED, each with the part of its seed that was asked about."""
    is_accepted = pc.is_null(judged["reject_reason"])
    chosen = [
        row
        for rows in (judged.filter(is_accepted), judged.filter(pc.invert(is_accepted)))
        for row in rows.select(["doc_id", "parent_ids", "reject_reason", "text"]).slice(0, num_rows).to_pylist()
    ]
    wanted = {row["parent_ids"][0] for row in chosen}
    texts = _texts(seeds, wanted)
    spans = _first_spans(asked, wanted)
    return [
        {
            "doc_id": row["doc_id"],
            "verdict": row["reject_reason"] or ACCEPTED,
            "seed": texts[parent][slice(*spans[parent])][:WIDTH],
            "output": row["text"][:WIDTH],
        }
        for row in chosen
        for parent in row["parent_ids"][:1]
    ]


def _texts(seeds: pa.Table, wanted: set[str]) -> Mapping[str, str]:
    ours = seeds.filter(pc.is_in(seeds["doc_id"], value_set=pa.array(sorted(wanted), pa.string())))
    return dict(zip(ours["doc_id"].to_pylist(), ours["text"].to_pylist(), strict=True))


def _first_spans(asked: pa.Table, wanted: set[str]) -> Mapping[str, tuple[int, int]]:
    rows = asked.select(["doc_id", "chunk", "start", "end"]).to_pylist()
    return {row["doc_id"]: (row["start"], row["end"]) for row in rows if row["chunk"] == 0 and row["doc_id"] in wanted}
