"""Contexts of one anchor compared byte by byte: which windows stand earlier, and where.

The contexts that others are compared with are, of each hash, the best ranked `max_contexts` different ones. A window's copy
is the best ranked of them that has it. What may have a copy among those beyond is counted, and stays. Cost: at most
`max_contexts` comparisons of a context, most often one; memory is those contexts and the batch that is compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from corpusmill.dedup.contexts import CONTEXTS
from corpusmill.dedup.growing import with_room
from corpusmill.dedup.shingles import Offsets
from corpusmill.dedup.spans import FRAGMENTS, SpanParameters
from corpusmill.dedup.tokens import Bytes

_RANK = ("hash", "snapshot", "doc_id", "first_place", "around")
_MAX_WAITING_BYTES = 256 << 20


@dataclass(frozen=True, kw_only=True)
class Matches:
    """What came of comparing a batch of contexts."""

    fragments: pa.Table
    """FRAGMENTS, in no order."""
    num_skipped: int
    """Contexts with a window that was found nowhere, of anchors of which not all contexts were compared."""


def best_contexts(tables: Iterable[pa.Table], parameters: SpanParameters) -> pa.Table:
    """Return of each hash the `max_contexts` best ranked different contexts, sorted by hash and rank.

    Older snapshots (by name) rank better, then smaller doc_ids, then places further up.
    """
    best = _with_first_place(CONTEXTS.empty_table())
    waiting: list[pa.Table] = []
    num_bytes = 0
    for table in tables:
        waiting.append(_with_first_place(table))
        num_bytes += table.nbytes
        # At least as much as is held: what is held is sorted again each time.
        if num_bytes > max(_MAX_WAITING_BYTES, best.nbytes):
            best = _prune(pa.concat_tables([best, *waiting]), parameters.max_contexts)
            waiting.clear()
            num_bytes = 0
    return _prune(pa.concat_tables([best, *waiting]), parameters.max_contexts)


def match_contexts(rows: pa.Table, best: pa.Table, parameters: SpanParameters) -> Matches:
    """Return the repeated windows of `rows` (CONTEXTS); `best` are the best contexts of their hashes, their own among them."""
    if not len(rows):
        return Matches(fragments=FRAGMENTS.empty_table(), num_skipped=0)
    rows = _with_first_place(rows)
    hashes = best["hash"].to_numpy()
    lows = np.searchsorted(hashes, rows["hash"].to_numpy(), "left")
    highs = np.searchsorted(hashes, rows["hash"].to_numpy(), "right")
    documents = _document_ranks(rows, best)
    sizes = (parameters.min_bytes, parameters.reach, parameters.max_contexts)
    found, num_skipped = _compare(
        (*_arrays(rows), documents[: len(rows)]), (*_arrays(best), documents[len(rows) :]), lows, highs, sizes
    )
    row, start, end, kept, kept_start, length = found.T
    sources = pa.concat_tables([table.select(["doc_id", "snapshot"]) for table in (best, rows)])
    columns = {
        "doc_id": rows["doc_id"].take(pa.array(row)),
        "start": pa.array(start),
        "end": pa.array(end),
        "kept_doc_id": sources["doc_id"].take(pa.array(kept)),
        "kept_snapshot": sources["snapshot"].take(pa.array(kept)),
        "kept_start": pa.array(kept_start),
        "kept_characters": pa.array(length),
    }
    return Matches(fragments=pa.table(columns, schema=FRAGMENTS), num_skipped=num_skipped)


def _with_first_place(table: pa.Table) -> pa.Table:
    return table.append_column("first_place", pc.list_element(table["places"], 0))


def _prune(table: pa.Table, limit: int) -> pa.Table:
    """Return the first `limit` rows of each hash in the order of rank, of those with equal surroundings the first only."""
    ordered = table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in _RANK])).combine_chunks()
    keys = np.stack([ordered["hash"].to_numpy(), ordered["around"].to_numpy()], axis=1)
    _, firsts = np.unique(keys, axis=0, return_index=True)
    distinct = np.sort(firsts)
    hashes = ordered["hash"].to_numpy()[distinct]
    position = np.arange(len(distinct)) - np.searchsorted(hashes, hashes)
    return ordered.take(pa.array(distinct[position < limit]))


def _document_ranks(rows: pa.Table, best: pa.Table) -> np.ndarray:
    """Return a number for the document of each row of both tables, in the order of their ranks."""
    names = pa.concat_tables([table.select(["snapshot", "doc_id"]) for table in (rows, best)])
    distinct = names.group_by(["snapshot", "doc_id"]).aggregate([])
    ordered = distinct.sort_by([("snapshot", "ascending"), ("doc_id", "ascending")])
    ranked = ordered.append_column("rank", pa.array(np.arange(len(ordered))))
    places = names.append_column("place", pa.array(np.arange(len(names))))
    joined = places.join(ranked, keys=["snapshot", "doc_id"]).sort_by("place")
    return np.array(joined["rank"], np.int64)


def _arrays(table: pa.Table) -> tuple[np.ndarray, ...]:
    """Return bytes and offsets of the contexts, where the anchor begins in each, its places in the text, and characters.

    Copies but for the bytes: arrays that may be written and those that may not would each have kernels of their own.
    """
    table = table.combine_chunks()
    contexts, places = table["context"].chunk(0), table["places"].chunk(0)
    _, offsets, data = contexts.buffers()
    numbers = (
        np.frombuffer(offsets, np.int64)[contexts.offset : contexts.offset + len(contexts) + 1],
        table["before"],
        places.offsets,
        places.values,
        table["characters"].chunk(0).values,
    )
    return (np.frombuffer(data, np.uint8), *(np.array(column, np.int64) for column in numbers))


@njit(cache=True, nogil=True)
def _compare(
    rows: tuple, best: tuple, lows: Offsets, highs: Offsets, sizes: tuple[int, int, int]
) -> tuple[np.ndarray, int]:
    """Return (row, start, end, kept context, start there, characters of that copy) of repeated runs, and the skipped rows.

    A kept context is one of `best`, or len(best) + row: that row's own.
    """
    min_bytes, reach, max_contexts = sizes
    num_best = len(best[1]) - 1
    num_skipped = 0
    count = 0
    found = np.empty((1024, 6), np.int64)
    sources = np.empty(reach + 1, np.int64)
    for row in range(len(lows)):
        lowest = -rows[2][row]
        highest = rows[1][row + 1] - rows[1][row] + lowest - min_bytes
        sources[:] = -1
        num_open, is_known = _find_sources(
            rows, best, row, (lows[row], highs[row], highest - lowest + 1), sizes, sources
        )
        num_skipped += num_open > 0 and not is_known and highs[row] - lows[row] == max_contexts
        at = lowest
        while at <= highest:
            stop = at
            while stop <= highest and sources[stop + reach] == sources[at + reach]:
                stop += 1
            source = sources[at + reach]
            kept = num_best + row if source < 0 else source
            window = (at, stop - 1 + min_bytes, min_bytes)
            if source < 0:
                found, count = _add_run(rows, row, rows, row, (kept, *window), found, count)
            else:
                found, count = _add_run(rows, row, best, source, (kept, *window), found, count)
            at = stop
    return found[:count], num_skipped


@njit(cache=True, nogil=True)
def _find_sources(
    rows: tuple, best: tuple, row: int, span: tuple[int, int, int], sizes: tuple[int, int, int], sources: np.ndarray
) -> tuple[int, bool]:
    """Write the best ranked context that has each window of a row; return how many have none, and whether none was left out."""
    low, high, num_open = span
    for kept in range(low, high):
        if num_open <= 0:
            break
        row_document, kept_document = rows[6][row], best[6][kept]
        is_before = kept_document < row_document or (
            kept_document == row_document and best[4][best[3][kept]] < rows[4][rows[3][row]]
        )
        if not is_before:
            return num_open, True
        num_open -= _assign(rows, best, row, kept, sizes, sources)
    return num_open, False


@njit(cache=True, nogil=True)
def _assign(rows: tuple, best: tuple, row: int, kept: int, sizes: tuple[int, int, int], sources: np.ndarray) -> int:
    """Give the windows of a row that a kept context has too, and that nobody had yet, to it; return how many."""
    min_bytes, reach, _ = sizes
    ours = rows[0][rows[1][row] : rows[1][row + 1]]
    theirs = best[0][best[1][kept] : best[1][kept + 1]]
    our_anchor, their_anchor = rows[2][row], best[2][kept]
    left = 0
    while left < min(our_anchor, their_anchor) and ours[our_anchor - left - 1] == theirs[their_anchor - left - 1]:
        left += 1
    right = 0
    limit = min(len(ours) - our_anchor, len(theirs) - their_anchor)
    while right < limit and ours[our_anchor + right] == theirs[their_anchor + right]:
        right += 1
    num_given = 0
    for shift in range(-left, right - min_bytes + 1):
        if sources[shift + reach] == -1:
            sources[shift + reach] = kept
            num_given += 1
    return num_given


@njit(cache=True, nogil=True)
def _add_run(
    rows: tuple,
    row: int,
    kept_rows: tuple,
    kept_row: int,
    run: tuple[int, int, int, int],
    found: np.ndarray,
    count: int,
) -> tuple[np.ndarray, int]:
    """Add the characters that a run of windows covers, at every place of a row that does not overlap the kept copy.

    The run is the number of the kept context, and in bytes from the anchor the first and the end of what it covers.
    """
    kept, first, end, min_bytes = run
    context = rows[0][rows[1][row] : rows[1][row + 1]]
    anchor = rows[2][row]
    from_anchor, to_anchor = _whole_characters(context, anchor, anchor + first, anchor + end)
    kept_place = kept_rows[4][kept_rows[3][kept_row]]
    kept_start = kept_rows[5][kept_rows[3][kept_row]] + from_anchor
    is_same_document = rows[6][row] == kept_rows[6][kept_row]
    begin = count
    for place in range(rows[3][row], rows[3][row + 1]):
        if is_same_document and rows[4][place] - kept_place < min_bytes:
            continue
        start, stop = rows[5][place] + from_anchor, rows[5][place] + to_anchor
        if count > begin and start <= found[count - 1, 2]:
            found[count - 1, 2] = stop
            continue
        found = with_room(found, count)
        found[count, 0], found[count, 1], found[count, 2] = row, start, stop
        found[count, 3], found[count, 4], found[count, 5] = kept, kept_start, stop - start
        count += 1
    return found, count


@njit(cache=True, nogil=True)
def _whole_characters(context: Bytes, anchor: int, start: int, end: int) -> tuple[int, int]:
    """Return the characters from the anchor to where the first whole character of context[start:end] begins and the last ends."""
    while start < end and context[start] & 0xC0 == 0x80:
        start += 1
    last = end - 1
    while last > start and context[last] & 0xC0 == 0x80:
        last -= 1
    lead = context[last]
    length = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
    if last + length > end:
        end = last
    return _count_from(context, anchor, start), _count_from(context, anchor, end)


@njit(cache=True, nogil=True)
def _count_from(context: Bytes, anchor: int, place: int) -> int:
    """Return how many characters begin from `anchor` on before `place`; less than 0 where the place lies in front."""
    count = 0
    for at in range(min(anchor, place), max(anchor, place)):
        count += (context[at] & 0xC0) != 0x80
    return count if place >= anchor else -count
