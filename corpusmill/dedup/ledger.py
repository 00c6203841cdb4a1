"""How many documents and shingle tokens of each source came in, stayed, and went in favour of which source.

A ledger is a small table by snapshot, so that of snapshots whose decisions stand it is kept and only the others are counted.
Shingle tokens are what shingles are made of, not a tokenizer's tokens; documents below the shingle width count none.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

DOCUMENT_COLUMNS = ("doc_id", "snapshot", "source", "num_shingles")
UNKNOWN_SOURCE = "unknown"
LEDGER = pa.schema(
    [
        pa.field("snapshot", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("duplicate_of_source", pa.string()),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("shingle_tokens", pa.int64(), nullable=False),
        pa.field("below_width", pa.int64(), nullable=False),
    ]
)
"""`duplicate_of_source` is null for the documents that stay; `below_width` of the documents have no shingle."""
KEPT_SOURCES = pa.schema([pa.field("doc_id", pa.string(), nullable=False), pa.field("source", pa.string())])
"""Sources of documents that others duplicate."""

_KEYS = ("snapshot", "source", "duplicate_of_source")
_COUNTS = ("documents", "shingle_tokens", "below_width")


def count_documents(
    documents: Iterable[pa.Table],
    removals: pa.Table,
    *,
    shingle_size: int,
    kept_sources: pa.Table | None = None,
) -> pa.Table:
    """Return the LEDGER of narrow tables (DOCUMENT_COLUMNS), of which `removals` (doc_id, duplicate_of) are removed.

    `kept_sources` tells the sources of what is duplicated outside `documents`. Memory: the documents that removals name.
    """
    removed, kept = (removals.column(name).combine_chunks() for name in ("doc_id", "duplicate_of"))
    parts = [LEDGER.empty_table()]
    gone = []
    sources = [KEPT_SOURCES.empty_table() if kept_sources is None else kept_sources]
    for table in documents:
        entries = _entries(table, shingle_size)
        is_removed = pc.is_in(entries.column("doc_id"), value_set=removed)
        stays = entries.filter(pc.invert(is_removed))
        parts.append(_grouped(stays, pa.nulls(len(stays), pa.string())))
        gone.append(entries.filter(is_removed))
        is_kept = pc.is_in(entries.column("doc_id"), value_set=kept)
        sources.append(entries.filter(is_kept).select(KEPT_SOURCES.names).cast(KEPT_SOURCES))
    if gone:
        entries = pa.concat_tables(gone)
        named = kept.take(pc.index_in(entries.column("doc_id"), value_set=removed).combine_chunks())
        parts.append(_grouped(entries, _sources_of(named, pa.concat_tables(sources))))
    return add_ledgers(parts)


def add_ledgers(ledgers: Iterable[pa.Table]) -> pa.Table:
    """Return one ledger of what several count."""
    every = pa.concat_tables([LEDGER.empty_table(), *ledgers])
    summed = every.group_by(list(_KEYS)).aggregate([(name, "sum") for name in _COUNTS])
    named = summed.rename_columns({f"{name}_sum": name for name in _COUNTS})
    return named.select(LEDGER.names).sort_by([(name, "ascending") for name in _KEYS]).cast(LEDGER)


def _entries(table: pa.Table, shingle_size: int) -> pa.Table:
    """Return doc_id, snapshot, source and the counts of single documents; one without a source has the unknown one."""
    source = table.column("source") if "source" in table.column_names else pa.nulls(len(table), pa.string())
    shingles = table.column("num_shingles").cast(pa.int64())
    is_below = pc.equal(shingles, 0)
    return pa.table(
        {
            "doc_id": table.column("doc_id").cast(pa.string()),
            "snapshot": table.column("snapshot").cast(pa.string()),
            "source": pc.fill_null(source.cast(pa.string()), UNKNOWN_SOURCE),
            "documents": pa.repeat(pa.scalar(1, pa.int64()), len(table)),
            "shingle_tokens": pc.if_else(is_below, 0, pc.add(shingles, shingle_size - 1)),
            "below_width": is_below.cast(pa.int64()),
        }
    )


def _grouped(entries: pa.Table, duplicate_of_source: pa.Array | pa.ChunkedArray) -> pa.Table:
    columns = entries.append_column("duplicate_of_source", duplicate_of_source)
    return add_ledgers([columns.select(LEDGER.names).cast(LEDGER)])


def _sources_of(doc_ids: pa.Array, sources: pa.Table) -> pa.ChunkedArray:
    place = pc.index_in(doc_ids, value_set=sources.column("doc_id").combine_chunks())
    return pc.fill_null(sources.column("source").take(place), UNKNOWN_SOURCE)
