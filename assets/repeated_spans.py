"""The tables of repeated spans of one dataset, for datasets that ask for them: anchors, their index, and the spans."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corpusmill.curate.span_policy import SpanPolicy
from corpusmill.dedup.spans import SpanParameters

DESCRIPTIONS = {
    "span_anchors": "Hashes of the places where documents that stay so far may repeat others: one in about 190 bytes.",
    "span_index": "Sees all snapshots. One row a snapshot: which version of its anchors repeated spans are looked for in.",
    "repeated_spans": "One row a passage of at least 500 bytes that stands in an older snapshot, in another document or "
    "further up in its own, with the copy that is kept.",
}

Key = tuple[str, str, str]
Step = tuple[str, str, list[Key], Mapping[str, Any]]
"""Table, task, what it reads, and its parameters."""


@dataclass(frozen=True, kw_only=True)
class SpanSteps:
    """What a dataset that asks for repeated spans has more; nothing for one that does not."""

    steps: tuple[Step, ...] = ()
    read_by_documents: tuple[Key, ...] = ()
    policy: Mapping[str, Any]
    """Parameters of the documents task."""


def span_steps(dataset: str, asked: Mapping[str, Any] | None) -> SpanSteps:
    """Return the steps for fields of SpanParameters and SpanPolicy; raises ValueError for what cannot be asked."""
    if asked is None:
        return SpanSteps(policy={})
    rules = {name: value for name, value in asked.items() if name in SpanParameters.__dataclass_fields__}
    policy = SpanPolicy.from_json({name: value for name, value in asked.items() if name not in rules})
    parameters = SpanParameters.from_json(rules)
    read = ("extracted", "signatures", "duplicates", *DESCRIPTIONS)
    extracted, signatures, duplicates, anchors, index, spans = (("curated", dataset, table) for table in read)
    return SpanSteps(
        steps=(
            ("span_anchors", "span_anchors", [extracted, signatures, duplicates], {"min_bytes": parameters.min_bytes}),
            ("span_index", "span_index", [anchors], {}),
            ("repeated_spans", "repeated_spans", [extracted, anchors, index], parameters.to_json()),
        ),
        read_by_documents=(spans,),
        policy={"repeated_spans": policy.to_json()},
    )
