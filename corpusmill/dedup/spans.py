"""Repeated spans: what they are, their tables, and how what was found piece by piece becomes spans.

A window is `min_bytes` consecutive bytes of a text. It is repeated when the same bytes stand earlier: in a document of
better rank (an older snapshot, then the smaller doc_id) or further up in its own document, where the two must not
overlap. Its first copy stays. A repeated span is a run of bytes that repeated windows cover, less the bytes of characters
that it holds only in part.

`corpusmill.dedup.anchors` chooses places that equal windows share, `contexts` takes the bytes around those that occur
twice, `span_matches` compares them byte by byte.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill.document import PLACE

ANCHORS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("text_file", pa.string(), nullable=False, metadata=PLACE),
        pa.field("text_hash", pa.string(), nullable=False),
        pa.field("anchors", pa.list_(pa.int64()), nullable=False),
    ]
)
"""The anchors of a document that stays so far: sorted hashes, one that it has more than once twice."""

FRAGMENTS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("kept_doc_id", pa.string(), nullable=False),
        pa.field("kept_snapshot", pa.string(), nullable=False),
        pa.field("kept_start", pa.int64(), nullable=False),
        pa.field("kept_characters", pa.int64(), nullable=False),
    ]
)
"""Repeated characters around one anchor. They overlap."""

REPEATED_SPANS = FRAGMENTS
"""Repeated spans of a document: half-open, in characters of the extracted text, in order, none touches the next.

The first `kept_characters` of a span are those of the kept document from its character `kept_start`. What follows in the
span, if anything, stands elsewhere.
"""

_LEAST_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class SpanParameters:
    """What a repeated span is, and how many different surroundings of one anchor are compared."""

    min_bytes: int = 500
    """Shortest repeated run of bytes (Dolma 3's third step)."""
    max_contexts: int = 64
    """Surroundings of one anchor that others are compared with, the best ranked first: bounds time and memory."""

    def __post_init__(self) -> None:
        if self.min_bytes < _LEAST_BYTES:
            raise ValueError(f"repeated spans have at least {_LEAST_BYTES} bytes, got min_bytes {self.min_bytes}")
        if self.max_contexts < 1:
            raise ValueError(f"max_contexts must be at least 1, got {self.max_contexts}")

    @property
    def anchor_bytes(self) -> int:
        """Bytes that an anchor is the hash of: longer ones match less by chance, shorter ones are fewer."""
        return self.min_bytes // 4

    @property
    def reach(self) -> int:
        """How many bytes before its anchor a window may begin."""
        return self.min_bytes - self.anchor_bytes

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SpanParameters":
        known = set(cls.__dataclass_fields__)
        if unknown := sorted(set(value) - known):
            raise ValueError(f"unknown parameter of repeated spans: {', '.join(unknown)}; known are {sorted(known)}")
        return cls(**value)


def merge_fragments(fragments: pa.Table) -> pa.Table:
    """Return the REPEATED_SPANS that FRAGMENTS, in any order, come to, sorted by document and start."""
    keys = [name for name in FRAGMENTS.names if name != "end"]
    ordered = fragments.take(pc.sort_indices(fragments, sort_keys=[(name, "ascending") for name in keys]))
    doc_ids, kept_ids = (_codes(ordered[name]) for name in ("doc_id", "kept_doc_id"))
    numbers = [np.array(ordered[name], np.int64) for name in ("start", "end", "kept_start", "kept_characters")]
    rows, ends, characters = _sweep(doc_ids, kept_ids, *numbers)
    merged = ordered.take(pa.array(rows))
    for name, values in (("end", ends), ("kept_characters", characters)):
        place = merged.schema.get_field_index(name)
        merged = merged.set_column(place, merged.schema.field(place), pa.array(values))
    return merged


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    if not len(column):
        return np.empty(0, np.int64)
    return np.array(column.combine_chunks().dictionary_encode().indices, np.int64)


@njit(cache=True, nogil=True)
def _sweep(
    doc_ids: np.ndarray,
    kept_ids: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    kept_starts: np.ndarray,
    lengths: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first fragment of each span, where the span ends, and how far the first one's copy goes."""
    rows = np.empty(len(starts), np.int64)
    span_ends = np.empty(len(starts), np.int64)
    characters = np.empty(len(starts), np.int64)
    count = 0
    for at in range(len(starts)):
        first = rows[count - 1] if count else 0
        if count == 0 or doc_ids[at] != doc_ids[first] or starts[at] > span_ends[count - 1]:
            rows[count] = at
            span_ends[count] = ends[at]
            characters[count] = lengths[at]
            count += 1
            continue
        span_ends[count - 1] = max(span_ends[count - 1], ends[at])
        shift = starts[at] - starts[first]
        is_same_copy = kept_ids[at] == kept_ids[first] and kept_starts[at] - kept_starts[first] == shift
        if is_same_copy and shift <= characters[count - 1]:
            characters[count - 1] = max(characters[count - 1], shift + lengths[at])
    return rows[:count], span_ends[:count], characters[:count]
