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
from corpusmill.dedup.growing import with_room
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

ROW, HASH, AROUND, PLACE, CHARACTERS, START, END, BEFORE = range(8)
"""Columns of an anchor in a chunk of texts: its text, hashes, place in the text in bytes and in characters, where its context
starts and ends in the chunk, and how many bytes of that are before it."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def find_contexts(texts: pa.Table, shared: Words, parameters: SpanParameters) -> pa.Table:
    """Return the CONTEXTS of `texts` (doc_id, snapshot, text; no nulls) whose anchors are in `shared`, document by document."""
    parts = [CONTEXTS.empty_table()]
    first = 0
    for offsets, data in text_chunks(texts["text"]):
        found_N8 = _shared_anchors(data, offsets, shared, parameters.anchor_bytes, parameters.reach)
        if len(found_N8):
            parts.append(_contexts(data, found_N8, texts.slice(first, len(offsets) - 1)))
        first += len(offsets) - 1
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


def _contexts(data: Bytes, found_N8: Places, texts: pa.Table) -> pa.Table:
    """Return the contexts of anchors of `texts`, rows of `_shared_anchors`: places of the same context as one row."""
    order = np.lexsort(found_N8[:, [PLACE, AROUND, HASH, ROW]].T)
    keys = found_N8[order][:, [ROW, HASH, AROUND]]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    heads = found_N8[order[is_new]]
    list_offsets = pa.array(np.append(np.flatnonzero(is_new), len(order)).astype(np.int32))
    lists = [pa.ListArray.from_arrays(list_offsets, pa.array(found_N8[order, at])) for at in (PLACE, CHARACTERS)]
    names = texts.select(["snapshot", "doc_id"]).take(pa.array(heads[:, ROW]))
    columns = {
        "hash": pa.array(heads[:, HASH]),
        "around": pa.array(heads[:, AROUND]),
        "snapshot": names["snapshot"],
        "doc_id": names["doc_id"],
        "places": lists[0],
        "characters": lists[1],
        "context": _slices_of(data, heads[:, START], heads[:, END]),
        "before": pa.array(heads[:, BEFORE].astype(np.int32)),
    }
    return pa.table(columns, schema=CONTEXTS)


def _slices_of(data: Bytes, starts: Places, ends: Places) -> pa.LargeBinaryArray:
    offsets = np.append(0, np.cumsum(ends - starts))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(_gather(data, starts, ends))]
    return pa.Array.from_buffers(pa.large_binary(), len(starts), buffers)


@njit(cache=True, nogil=True)
def _shared_anchors(data: Bytes, offsets: Places, shared: Words, size: int, reach: int) -> Places:
    """Return the anchors of texts that `shared` may hold, a row each, with the columns that are named above."""
    longest = np.diff(offsets).max()
    hashes = np.empty(longest, np.uint64)
    places, firsts = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    found_N8 = np.empty((1024, 8), np.int64)
    count = 0
    for row in range(len(offsets) - 1):
        text = data[offsets[row] : offsets[row + 1]]
        num_hashes = hash_runs(text, 0, len(text), size, hashes)
        num_places = select_minima(hashes, num_hashes, reach + 1, places, firsts)
        firsts[num_places] = num_hashes - reach
        before = count
        for i in range(num_places):
            value = anchor_hash(hashes[places[i]])
            if not holds(shared, value):
                continue
            last = firsts[i + 1] - 1 + reach
            around = mix(_hash_of_runs(hashes, firsts[i], last, size) + np.uint64(places[i] - firsts[i]))
            found_N8 = with_room(found_N8, count)
            found = found_N8[count]
            found[ROW], found[HASH], found[AROUND], found[PLACE] = row, np.int64(value), np.int64(around), places[i]
            found[START], found[END] = offsets[row] + firsts[i], offsets[row] + last + size
            found[BEFORE] = places[i] - firsts[i]
            count += 1
        _count_characters(text, found_N8[before:count])
    return found_N8[:count]


@njit(cache=True, nogil=True)
def _count_characters(text: Bytes, found_N8: Places) -> None:
    """Write how many characters begin before each place; places ascend. In "aäb" two begin before byte 3."""
    count = 0
    at = 0
    for found in found_N8:
        while at < found[PLACE]:
            count += (text[at] & 0xC0) != 0x80
            at += 1
        found[CHARACTERS] = count


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
