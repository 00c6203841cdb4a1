"""Which licences flow into a mix: of the sources, and of the models that said things anew, in the tokens that it reads.

Exact: every sequence counts as often as the stream reads it, every piece by the licence of its document. Costs: the walk of
the order, a pass over the sequences' doc_ids and lengths and over the licences of their documents; memory is 4 bytes a
sequence and 12 bytes a document of one partition, of which at most MAX_DOCUMENTS are held at once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.licenses import is_allowed
from corpusmill.lake.content_hash import hash_values
from corpusmill.lake.errors import PartitionMissingError, TableMissingError
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.scan import scan_files, select_columns
from corpusmill.lake.tables import Lake
from corpusmill.mix.plan import Plan, PlannedComponent
from corpusmill.stream.index import ComponentIndex, open_components, read_row_group
from corpusmill.trace.reads import documents_table, read_counts

MAX_DOCUMENTS = 1 << 25
KINDS = ("license", "generator", "generator_license")
FLOW = pa.schema(
    [
        pa.field("component", pa.string(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("license", pa.string()),
        pa.field("generator", pa.string()),
        pa.field("generator_license", pa.string()),
        pa.field("is_known", pa.bool_(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
        pa.field("share", pa.float64(), nullable=False),
    ]
)
"""One row per component, source licence and generator, most tokens first. `share` is of the tokens of the whole mix.

`license` is the source's, also of what a model said anew; null where none was found. `generator_license` is null where no model
wrote the text. `is_known` is false for tokens of documents that no version of their table has any more.
"""

Tokens = np.ndarray[Any, np.dtype[np.int64]]
ReadTables = Callable[[], Iterable[pa.Table]]


class Pieces(NamedTuple):
    """Some pieces of documents: whose they are (the first word of the id's hash), and how many tokens of them are read."""

    hashes_P: np.ndarray[Any, np.dtype[np.uint64]]
    tokens_P: Tokens


def mix_licences(lake: Lake, plan: Plan) -> pa.Table:
    """Return the FLOW of all tokens that a mix reads."""
    reads = read_counts(plan)
    parts = [
        _component_flow(lake, component, index, counts)
        for component, index, counts in zip(plan.components, open_components(lake, plan), reads, strict=True)
    ]
    return _with_shares(pa.concat_tables(parts))


def licence_flow(
    pieces: Callable[[], Iterable[Pieces]], documents: Sequence[ReadTables], *, passes: int = 1
) -> pa.Table:
    """Return KINDS, `is_known` and `tokens` of pieces by what their documents say.

    `documents` are tables with doc_id and KINDS, newest version first: an older one is read only for what the newer lack.
    With n passes each takes the documents of every n-th hash, and a n-th of the memory.
    """
    sums: dict[tuple[Any, ...] | None, int] = {}
    for number in range(passes):
        left = [_own(found, number, passes) for found in pieces()]
        for read in documents:
            if any(len(found.hashes_P) for found in left):
                left = list(_count(left, _Kinds(read(), number, passes), sums))
        missing = sum(int(found.tokens_P.sum()) for found in left)
        if missing:
            sums[None] = sums.get(None, 0) + missing
    rows = [
        {
            **dict(zip(KINDS, kinds or (None,) * len(KINDS), strict=True)),
            "is_known": kinds is not None,
            "tokens": tokens,
        }
        for kinds, tokens in sums.items()
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([FLOW.field(name) for name in (*KINDS, "is_known", "tokens")]))


def forbidden(
    flow: pa.Table, *, allowed: Collection[str] | None = None, allowed_teachers: Collection[str] | None = None
) -> pa.Table:
    """Return the rows of a FLOW that an allow-list forbids, with `why`; None allows everything.

    A licence is an SPDX expression: `MIT OR GPL-3.0-only` is allowed where MIT is, and what is unknown is not allowed.
    """
    rows = []
    for row in flow.to_pylist():
        why = []
        if allowed is not None and not (row["license"] and is_allowed(row["license"], allowed)):
            why.append(f"source licence {row['license'] or 'unknown'}")
        is_taught = row["generator_license"] is not None
        if allowed_teachers is not None and is_taught and not is_allowed(row["generator_license"], allowed_teachers):
            why.append(f"teacher licence {row['generator_license']} of {row['generator']}")
        rows += [{**row, "why": " and ".join(why)}] if why else []
    return pa.Table.from_pylist(rows, schema=flow.schema.append(pa.field("why", pa.string())))


class _Kinds:
    """What the documents of one pass say, to be looked up by the hash of their id."""

    def __init__(self, tables: Iterable[pa.Table], number: int, passes: int) -> None:
        self.kinds: dict[tuple[Any, ...], int] = {}
        hashes, codes = [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
        for table in tables:
            hashes_N = _hashes(table["doc_id"])
            is_own = hashes_N % passes == number
            hashes.append(hashes_N[is_own])
            codes.append(self._codes(table)[is_own])
        hashes_N = np.concatenate(hashes)
        order = np.argsort(hashes_N, kind="stable")
        self.hashes_N, self.codes_N = hashes_N[order], np.concatenate(codes)[order]

    def _codes(self, table: pa.Table) -> np.ndarray[Any, np.dtype[np.int32]]:
        kinds = table.select(list(KINDS))
        distinct = kinds.group_by(list(KINDS), use_threads=False).aggregate([]).to_pylist()
        codes_N = np.zeros(len(table), np.int32)
        for row in distinct:
            is_it = np.ones(len(table), np.bool_)
            for name, value in row.items():
                same = pc.is_null(kinds[name]) if value is None else pc.fill_null(pc.equal(kinds[name], value), False)
                is_it &= same.to_numpy()
            codes_N[is_it] = self.kinds.setdefault(tuple(row[name] for name in KINDS), len(self.kinds))
        return codes_N


def _count(pieces: Iterable[Pieces], kinds: _Kinds, sums: dict[tuple[Any, ...] | None, int]) -> Iterator[Pieces]:
    """Add the tokens of pieces whose document is known to `sums`, and yield the others."""
    names = list(kinds.kinds)
    for hashes_P, tokens_P in pieces:
        place_P = np.searchsorted(kinds.hashes_N, hashes_P)
        is_known = place_P < len(kinds.hashes_N)
        is_known[is_known] = kinds.hashes_N[place_P[is_known]] == hashes_P[is_known]
        totals = np.zeros(len(names), np.int64)
        np.add.at(totals, kinds.codes_N[place_P[is_known]], tokens_P[is_known])
        for code in np.flatnonzero(totals):
            sums[names[code]] = sums.get(names[code], 0) + int(totals[code])
        if not is_known.all():
            yield Pieces(hashes_P[~is_known], tokens_P[~is_known])


def _own(pieces: Pieces, number: int, passes: int) -> Pieces:
    is_own = pieces.hashes_P % passes == number
    return Pieces(pieces.hashes_P[is_own], pieces.tokens_P[is_own])


def _component_flow(lake: Lake, component: PlannedComponent, index: ComponentIndex, counts: Any) -> pa.Table:
    table = documents_table(lake.tables(), component.table)
    parts = [FLOW.empty_table()]
    for partition in sorted({group.partition for group in index.groups}):
        versions = _versions(lake, table, partition) if table else []
        num_documents = max((sum(file.num_rows for file in files) for files in versions), default=0)
        flow = licence_flow(
            lambda partition=partition: _pieces(lake, index, partition, counts),  # type: ignore[misc]
            [_reader(lake, table, files) for files in versions] if table else [],
            passes=num_documents // MAX_DOCUMENTS + 1,
        )
        columns = {"component": component.name, "table": component.table, "share": 0.0}
        for name, value in columns.items():
            flow = flow.append_column(FLOW.field(name), pa.repeat(pa.scalar(value, FLOW.field(name).type), len(flow)))
        parts.append(flow.select(FLOW.names))
    return pa.concat_tables(parts)


def _pieces(lake: Lake, index: ComponentIndex, partition: str, counts: Any) -> Iterator[Pieces]:
    """Yield the pieces of a partition's sequences that are read, with their tokens as often as they are."""
    for start, group in zip(index.starts[:-1].tolist(), index.groups, strict=True):
        if group.partition == partition and counts[start : start + group.num_rows].any():
            rows = read_row_group(lake.store, group, ["doc_ids", "lengths"]).combine_chunks()
            owner_P = pc.list_parent_indices(rows["lengths"]).to_numpy()
            tokens_P = pc.list_flatten(rows["lengths"]).to_numpy().astype(np.int64) * counts[start + owner_P]
            is_read = tokens_P > 0
            yield Pieces(_hashes(pc.list_flatten(rows["doc_ids"]))[is_read], tokens_P[is_read])


def _versions(lake: Lake, table: str, partition: str) -> list[list[DataFileRef]]:
    """Return the files of a partition, version by version, newest first; each file once."""
    found: list[list[DataFileRef]] = []
    seen: set[str] = set()
    for snapshot_id in reversed(lake.versions(table)):
        try:
            files = lake.files(table, [partition], snapshot_id=snapshot_id, allow_failed_gate=True)
        except (PartitionMissingError, TableMissingError):
            continue
        if new := [file for file in files if file.path not in seen]:
            found.append(new)
            seen |= {file.path for file in new}
    return found


def _reader(lake: Lake, table: str, files: Sequence[DataFileRef]) -> ReadTables:
    schema = select_columns(lake.schema(table), ["doc_id", *KINDS])
    return lambda: (pa.Table.from_batches([batch]) for batch in scan_files(lake.store, files, schema))


def _hashes(values: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.uint64]]:
    parts = [np.ascontiguousarray(hash_values(chunk)[:, 0]) for chunk in values.chunks]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _with_shares(flow: pa.Table) -> pa.Table:
    """Return one row for what several partitions have in common, with its share of all tokens."""
    keys = ["component", "table", *KINDS, "is_known"]
    summed = flow.group_by(keys, use_threads=False).aggregate([("tokens", "sum")])
    tokens = summed["tokens_sum"]
    share = pc.divide(pc.cast(tokens, pa.float64()), float(pc.sum(tokens).as_py() or 1))
    columns = [summed[name] for name in keys] + [tokens, share]
    rows = pa.Table.from_arrays(columns, names=[*keys, "tokens", "share"]).cast(FLOW)
    return rows.sort_by([("tokens", "descending"), *((name, "ascending") for name in keys[:-1])])
