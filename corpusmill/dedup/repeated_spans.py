"""The front door of repeated spans for texts in memory: every snapshot against itself and all older ones."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from corpusmill.dedup.anchors import text_anchors
from corpusmill.dedup.contexts import find_contexts
from corpusmill.dedup.shared_anchors import find_shared, is_shared
from corpusmill.dedup.span_matches import best_contexts, match_contexts
from corpusmill.dedup.spans import SpanParameters, merge_fragments


@dataclass(frozen=True, kw_only=True)
class RepeatedSpans:
    """The repeated spans of one snapshot."""

    spans: pa.Table
    """REPEATED_SPANS."""
    num_skipped: int
    """Contexts that were not compared with all others of their anchor (see `span_matches.Matches`)."""


def find_repeated_spans(own: pa.Table, older: Mapping[str, pa.Table], parameters: SpanParameters) -> RepeatedSpans:
    """Return the repeated spans of `own` (doc_id, snapshot, text); `older` are texts alike by snapshot."""
    tables = [own, *older.values()]
    anchors = [text_anchors(table["text"], parameters) for table in tables]
    hashes = [lists.values for lists in anchors]
    shared = find_shared(hashes[:1], hashes[1:], num_anchors=len(hashes[0]))
    contexts = [
        find_contexts(table.filter(is_shared(lists, shared)), shared, parameters)
        for table, lists in zip(tables, anchors, strict=True)
    ]
    matches = match_contexts(contexts[0], best_contexts(contexts, parameters), parameters)
    return RepeatedSpans(spans=merge_fragments(matches.fragments), num_skipped=matches.num_skipped)
