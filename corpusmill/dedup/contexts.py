"""Contexts: the bytes of all windows that have one anchor, for anchors that may occur twice.

They are all that comparing needs, so texts are read once, and contexts of one anchor meet by its hash. A row stands for all
places of a document that have the same anchor and, by a 64-bit hash of it, the same context. Cost: about 700 bytes for an
anchor at 500 bytes a window, 3.7 times the bytes of text that it stands for.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numba import njit

from corpusmill.dedup.anchors import Places, anchor_hash, hash_runs, select_minima
from corpusmill.dedup.shared_anchors import Words, holds
from corpusmill.dedup.shingles import text_chunks
from corpusmill.dedup.spans import SpanParameters
from corpusmill.dedup.token_hashes import Hashes, mix
from corpusmill.dedup.tokens import Bytes

CONTEXTS = pa.schema(
    [
        pa.field("hash", pa.int64(), nullable=False),
        pa.field("around", pa.int64(), nullable=False),
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("places", pa.list_(pa.int64()), nullable=False),
        pa.field("characters", pa.list_(pa.int64()), nullable=False),
        pa.field("context", pa.large_binary(), nullable=False),
        pa.field("before", pa.int32(), nullable=False),
    ]
)
"""An anchor with its surroundings: where it stands in its document, in bytes and in characters, in order.

The anchor is the first `anchor_bytes` of `context` after `before` bytes.
"""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def find_contexts(texts: pa.Table, shared: Words, parameters: SpanParameters) -> pa.Table:
    """Return the CONTEXTS of `texts` (doc_id, snapshot, text; no nulls) whose anchors are in `shared`, document by document."""
    parts = [CONTEXTS.empty_table()]
    row = 0
    for offsets, data in text_chunks(texts["text"]):
        for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            found = _contexts_of_text(data[start:end], shared, parameters)
            if found is not None:
                names = {name: pa.repeat(texts[name][row], len(found)) for name in ("snapshot", "doc_id")}
                columns = {name: found[name] for name in found.column_names} | names
                parts.append(pa.table({name: columns[name] for name in CONTEXTS.names}, schema=CONTEXTS))
            row += 1
    return pa.concat_tables(parts)


def sorted_chunks(tables: Iterable[pa.Table], *, chunk_bytes: int, slice_rows: int = 1024) -> Iterator[pa.Table]:
    """Yield the rows of CONTEXTS in chunks of about `chunk_bytes`, each sorted by hash, in small slices."""
    waiting: list[pa.Table] = []
    num_bytes = 0
    for table in tables:
        waiting.append(table)
        num_bytes += table.nbytes
        if num_bytes >= chunk_bytes:
            yield from _slices(pa.concat_tables(waiting).sort_by("hash"), slice_rows)
            waiting.clear()
            num_bytes = 0
    if waiting:
        yield from _slices(pa.concat_tables(waiting).sort_by("hash"), slice_rows)


def _slices(table: pa.Table, num_rows: int) -> Iterator[pa.Table]:
    return (table.slice(start, num_rows) for start in range(0, len(table), num_rows))


def _contexts_of_text(data: Bytes, shared: Words, parameters: SpanParameters) -> pa.Table | None:
    """Return the contexts of one text, without the columns that name it; None where it has none."""
    hashes, around, anchors_N3 = _shared_anchors(data, shared, parameters.anchor_bytes, parameters.reach)
    if not len(hashes):
        return None
    places = np.ascontiguousarray(anchors_N3[:, 0])
    order = np.lexsort((places, around, hashes))
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (np.diff(hashes[order]) != 0) | (np.diff(around[order]) != 0)
    heads = order[is_new]
    list_offsets = pa.array(np.append(np.flatnonzero(is_new), len(order)).astype(np.int32))
    characters = _characters_before(data, places)
    return pa.table(
        {
            "hash": hashes[heads].view(np.int64),
            "around": around[heads].view(np.int64),
            "places": pa.ListArray.from_arrays(list_offsets, pa.array(places[order])),
            "characters": pa.ListArray.from_arrays(list_offsets, pa.array(characters[order])),
            "context": _slices_of(data, anchors_N3[heads, 1], anchors_N3[heads, 2]),
            "before": pa.array((places[heads] - anchors_N3[heads, 1]).astype(np.int32)),
        }
    )


def _slices_of(data: Bytes, starts: Places, ends: Places) -> pa.LargeBinaryArray:
    offsets = np.append(0, np.cumsum(ends - starts))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(_gather(data, starts, ends))]
    return pa.Array.from_buffers(pa.large_binary(), len(starts), buffers)


@njit(cache=True, nogil=True)
def _characters_before(data: Bytes, places: Places) -> Places:
    """Return how many characters begin before each place; places ascend. In "aäb" two begin before byte 3."""
    counts = np.empty(len(places), np.int64)
    count = 0
    at = 0
    for i in range(len(places)):
        while at < places[i]:
            count += (data[at] & 0xC0) != 0x80
            at += 1
        counts[i] = count
    return counts


@njit(cache=True, nogil=True)
def _shared_anchors(data: Bytes, shared: Words, size: int, reach: int) -> tuple[Hashes, Hashes, Places]:
    """Return of each anchor that `shared` may hold its hash, that of its context, and (place, start and end of its context)."""
    hashes = np.empty(len(data), np.uint64)
    places, firsts = np.empty(len(data) + 1, np.int64), np.empty(len(data) + 1, np.int64)
    num_hashes = hash_runs(data, 0, len(data), size, hashes)
    num_places = select_minima(hashes, num_hashes, reach + 1, places, firsts)
    firsts[num_places] = num_hashes - reach
    count = 0
    found, around = np.empty(num_places, np.uint64), np.empty(num_places, np.uint64)
    anchors_N3 = np.empty((num_places, 3), np.int64)
    for i in range(num_places):
        value = anchor_hash(hashes[places[i]])
        if holds(shared, value):
            last = firsts[i + 1] - 1 + reach
            found[count] = value
            around[count] = mix(_hash_of_runs(hashes, firsts[i], last, size) + np.uint64(places[i] - firsts[i]))
            anchors_N3[count, 0], anchors_N3[count, 1], anchors_N3[count, 2] = places[i], firsts[i], last + size
            count += 1
    return found[:count], around[:count], anchors_N3[:count]


@njit(cache=True, nogil=True)
def _hash_of_runs(hashes: Hashes, first: int, last: int, size: int) -> np.uint64:
    """Return a hash of the bytes from the run `first` to the run `last`, out of the hashes of runs that cover them."""
    value = mix(np.uint64(last - first))
    for at in range(first, last, size):
        value = mix(value * _SPREAD + hashes[at])
    return mix(value * _SPREAD + hashes[last])


@njit(cache=True, nogil=True)
def _gather(data: Bytes, starts: Places, ends: Places) -> Bytes:
    out = np.empty((ends - starts).sum(), np.uint8)
    at = 0
    for i in range(len(starts)):
        length = ends[i] - starts[i]
        out[at : at + length] = data[starts[i] : ends[i]]
        at += length
    return out
