"""Candidate pairs out of sorted buckets, in one pass, with bounded memory and a bounded number of pairs a document.

A bucket's members arrive best rank first. The first `max_bucket` are all compared with one another; each later one only
with the first `num_representatives`. So a bucket of n members costs O(n) pairs, whatever n is, and the pass holds
`max_bucket` members of one bucket besides the batch. What was not compared is counted.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.parameters import DedupParameters


def pairs_schema(member: pa.DataType) -> pa.Schema:
    """Return the schema of two members of a bucket, or (with `size`, without members) of an oversize bucket."""
    return pa.schema(
        [
            pa.field("band", pa.int32()),
            pa.field("key", pa.int64()),
            pa.field("better", member),
            pa.field("worse", member),
            pa.field("size", pa.int64()),
        ]
    )


def bucket_pairs(rows: Iterable[pa.Table], parameters: DedupParameters) -> Iterator[pa.Table]:
    """Yield pairs (see `pairs_schema`) from rows (band, key, member) sorted by all three, cut anywhere.

    A pair has no `size`. A bucket of more than `max_bucket` members yields one row more, with its `size` and no pair.
    """
    head = None
    position = 0
    for batch in rows:
        if not len(batch):
            continue
        carried = 0 if head is None else len(head)
        table = batch.combine_chunks() if head is None else pa.concat_tables([head, batch]).combine_chunks()
        starts, positions = _positions(table, carried, position)
        yield _pairs(table, starts, positions, carried, parameters)
        yield _oversize(table, starts, positions, parameters)
        head, position = _head(table, starts, positions, parameters.max_bucket)
    if head is not None and position > parameters.max_bucket:
        yield _hot_rows(head.slice(0, 1), np.array([position]))


def possible_pairs(size: int) -> int:
    """Return the pairs among `size` documents."""
    return size * (size - 1) // 2


def compared_pairs(size: int, parameters: DedupParameters) -> int:
    """Return the pairs that a bucket of `size` documents yields."""
    whole = min(size, parameters.max_bucket)
    return possible_pairs(whole) + (size - whole) * parameters.num_representatives


def _positions(table: pa.Table, carried: int, position: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, per row, the row where its bucket starts and its position in the bucket.

    The first `carried` rows are the best members, already seen, of a bucket of which `position` were seen; the last of
    them stands for the last one seen. With 2 carried of 7 seen and rows [a a | a a b] the starts are [0 0 0 0 4] and the
    positions [0 6 7 8 0].
    """
    band = table.column("band").to_numpy()
    key = table.column("key").to_numpy()
    is_first = np.ones(len(table), dtype=bool)
    is_first[1:] = (band[1:] != band[:-1]) | (key[1:] != key[:-1])
    rows = np.arange(len(table))
    starts = np.maximum.accumulate(np.where(is_first, rows, 0))
    positions = rows - starts
    if carried:
        positions[carried - 1] = position - 1
        is_continued = (starts == 0) & (rows >= carried)
        positions[is_continued] += position - carried
    return starts, positions


def _pairs(
    table: pa.Table, starts: np.ndarray, positions: np.ndarray, carried: int, parameters: DedupParameters
) -> pa.Table:
    partners = np.where(positions < parameters.max_bucket, positions, parameters.num_representatives)
    partners[:carried] = 0
    worse = np.repeat(np.arange(len(table)), partners)
    first_of_row = np.cumsum(partners) - partners
    better = np.repeat(starts - first_of_row, partners) + np.arange(len(worse))
    member = table.column("member")
    pairs = pa.table(
        {
            "band": table.column("band").take(worse),
            "key": table.column("key").take(worse),
            "better": member.take(better),
            "worse": member.take(worse),
            "size": pa.nulls(len(worse), pa.int64()),
        },
        schema=pairs_schema(member.type),
    )
    _refuse_repeated(pairs)
    return pairs


def _refuse_repeated(pairs: pa.Table) -> None:
    is_same = pc.equal(pairs.column("better"), pairs.column("worse"))
    if pc.any(is_same).as_py():
        name = pairs.column("worse").filter(is_same)[0].as_py()
        raise ValueError(f"a document was signed twice: {name}; each doc_id must appear once over all signature tables")


def _oversize(table: pa.Table, starts: np.ndarray, positions: np.ndarray, parameters: DedupParameters) -> pa.Table:
    """Return the hot rows of the buckets that end in this table; the last bucket may go on."""
    is_last = np.zeros(len(table), dtype=bool)
    is_last[:-1] = starts[1:] != starts[:-1]
    hot = np.flatnonzero(is_last & (positions >= parameters.max_bucket))
    return _hot_rows(table.take(starts[hot]), positions[hot] + 1)


def _hot_rows(first_members: pa.Table, sizes: np.ndarray) -> pa.Table:
    member = first_members.column("member").type
    nobody = pa.nulls(len(sizes), member)
    return pa.table(
        {
            "band": first_members.column("band"),
            "key": first_members.column("key"),
            "better": nobody,
            "worse": nobody,
            "size": pa.array(sizes, pa.int64()),
        },
        schema=pairs_schema(member),
    )


def _head(table: pa.Table, starts: np.ndarray, positions: np.ndarray, max_bucket: int) -> tuple[pa.Table, int]:
    """Return the best members of the last bucket, and how many of its members were seen."""
    head = table.slice(int(starts[-1]), min(len(table) - int(starts[-1]), max_bucket))
    # A copy, so that the whole batch is not kept alive by a few rows of it.
    copied = head.take(np.arange(len(head)))
    return copied, int(positions[-1]) + 1
