"""Who was made from whom, and who was removed in whose favour: read out of the lake's tables, kept nowhere else.

    parents(lake, doc_ids) -> PARENTAGE             what these synthesized documents were made from: one step up
    descendants(lake, doc_ids) -> DESCENDANTS       all that was made from these documents, and from that, however deep
    duplicate_links(lake, doc_ids) -> REMOVED       removals in which these documents are the removed or the kept one

Rejected outputs are among them, with their reason, and partitions whose gate failed: they lie in the lake too. With
`snapshot_ids` (table -> versions) older versions are read as well, each file once. A duplicate is no descendant: it was there
before anybody compared it, so it is told apart and never walked along.

Costs: a pass over doc_id and parent_ids of all synthesized documents for each generation, and one that finds nothing;
memory is a batch, and the ids that are asked for and found.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.document import DUPLICATES
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.scan import scan_files, select_columns
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.tables import Lake

PARENTAGE = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("parent_id", pa.string(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),
        pa.field("recipe", pa.string()),
        pa.field("recipe_version", pa.string()),
        pa.field("generator", pa.string()),
        pa.field("generator_license", pa.string()),
        pa.field("reject_reason", pa.string()),
    ]
)
"""One row per synthesized document and parent; `table` and `partition` say where the document lies."""

DESCENDANTS = pa.schema(
    [
        pa.field("ancestor_id", pa.string(), nullable=False),
        pa.field("generation", pa.int32(), nullable=False),
        *PARENTAGE,
    ]
)
"""One row per asked document and way down from it: `generation` 1 was made from `ancestor_id` itself."""

REMOVED = pa.schema([*DUPLICATES, pa.field("table", pa.string(), nullable=False)])
"""DUPLICATES of snapshots and of synthesized documents; `table` says whose decision it is."""

SnapshotIds = Mapping[str, Sequence[int]]
ReadParentage = Callable[[], Iterable[pa.Table]]
"""Gives all PARENTAGE, in tables of any size; called once a generation."""


def parents(lake: Lake, doc_ids: Collection[str], *, snapshot_ids: SnapshotIds | None = None) -> pa.Table:
    """Return the PARENTAGE of these documents; a curated or unknown one has no row."""
    wanted = pa.array(sorted({*doc_ids}), pa.string())
    found = [rows.filter(pc.is_in(rows["doc_id"], wanted)) for rows in parentage(lake, snapshot_ids or {})]
    return _sorted(pa.concat_tables([PARENTAGE.empty_table(), *found]))


def descendants(lake: Lake, doc_ids: Collection[str], *, snapshot_ids: SnapshotIds | None = None) -> pa.Table:
    """Return the DESCENDANTS of these documents in all synthesized tables."""
    return walk_down(lambda: parentage(lake, snapshot_ids or {}), doc_ids)


def walk_down(read_parentage: ReadParentage, doc_ids: Collection[str]) -> pa.Table:
    """Return the DESCENDANTS of these documents, by generation; a document that is its own ancestor ends the walk."""
    asked = pa.array(sorted({*doc_ids}), pa.string())
    # The newest generation: who it is, and whom of the asked ones it comes from. The asked ones come from themselves.
    newest = pa.table({"parent_id": asked, "ancestor_id": asked})
    seen = {(one, one) for one in asked.to_pylist()}
    generations = [DESCENDANTS.empty_table()]
    while len(newest):
        born = _born(read_parentage, newest, number=len(generations))
        pairs = list(zip(born["doc_id"].to_pylist(), born["ancestor_id"].to_pylist(), strict=True))
        is_new = pa.array([pair not in seen for pair in pairs], pa.bool_())
        seen.update(pairs)
        generations.append(born)
        further = (
            born.filter(is_new).select(["doc_id", "ancestor_id"]).group_by(["doc_id", "ancestor_id"]).aggregate([])
        )
        newest = further.rename_columns(["parent_id", "ancestor_id"])
    return pa.concat_tables(generations)


def duplicate_links(lake: Lake, doc_ids: Collection[str]) -> pa.Table:
    """Return the REMOVED rows that name these documents, as `doc_id` (removed) or as `duplicate_of` (kept)."""
    wanted = pa.array(sorted({*doc_ids}), pa.string())
    found = [REMOVED.empty_table()]
    for table in duplicate_tables(lake):
        for batch in lake.scan(table, columns=DUPLICATES.names, allow_failed_gate=True):
            is_named = pc.or_(pc.is_in(batch["doc_id"], wanted), pc.is_in(batch["duplicate_of"], wanted))
            rows = pa.Table.from_batches([batch]).filter(is_named)
            found.append(rows.append_column(REMOVED.field("table"), _repeated(table, len(rows))).cast(REMOVED))
    return pa.concat_tables(found).sort_by([("table", "ascending"), ("doc_id", "ascending")])


def synthesized_tables(lake: Lake) -> list[str]:
    """Return the tables of synthesized documents."""
    return _matching(lake, "synthesized", "documents")


def duplicate_tables(lake: Lake) -> list[str]:
    """Return the tables that say which documents were removed as duplicates."""
    return _matching(lake, "curated", "duplicates") + _matching(lake, "synthesized", "duplicates")


def _matching(lake: Lake, stage: str, name: str) -> list[str]:
    parted = (table.split("/") for table in lake.tables())
    found = ["/".join(parts) for parts in parted if len(parts) == 3 and (parts[0], parts[2]) == (stage, name)]
    return [table for table in found if lake.partitions(table)]


def _born(read_parentage: ReadParentage, newest: pa.Table, *, number: int) -> pa.Table:
    """Return the DESCENDANTS of generation `number`: children of the newest ones."""
    wanted = pc.unique(newest["parent_id"])
    parts = [rows.filter(pc.is_in(rows["parent_id"], value_set=wanted)) for rows in read_parentage()]
    children = pa.concat_tables([PARENTAGE.empty_table(), *parts])
    joined = children.join(newest, keys="parent_id", join_type="inner", use_threads=False)
    generation = pa.array([number] * len(joined), pa.int32())
    return _sorted(joined.append_column("generation", generation).select(DESCENDANTS.names).cast(DESCENDANTS))


def parentage(lake: Lake, snapshot_ids: SnapshotIds) -> Iterator[pa.Table]:
    """Yield the PARENTAGE of all synthesized documents, in tables of any size."""
    names = [name for name in PARENTAGE.names if name not in ("parent_id", "table", "partition")]
    for table in synthesized_tables(lake):
        schema = select_columns(lake.schema(table), [PARTITION_KEY, "parent_ids", *names])
        for batch in scan_files(lake.store, _files(lake, table, snapshot_ids.get(table, ())), schema):
            yield _one_row_a_parent(pa.Table.from_batches([batch]), table)


def _files(lake: Lake, table: str, snapshot_ids: Sequence[int]) -> list[DataFileRef]:
    found = {
        file.path: file
        for snapshot_id in (None, *snapshot_ids)
        for file in lake.files(table, snapshot_id=snapshot_id, allow_failed_gate=True)
    }
    return [found[path] for path in sorted(found)]


def _one_row_a_parent(documents: pa.Table, table: str) -> pa.Table:
    documents = documents.combine_chunks()
    rows = documents.take(pc.list_parent_indices(documents["parent_ids"]))
    columns = {
        "parent_id": pc.list_flatten(documents["parent_ids"]),
        "table": _repeated(table, len(rows)),
        "partition": rows[PARTITION_KEY],
    }
    arrays = [columns[name] if name in columns else rows[name] for name in PARENTAGE.names]
    return pa.table(arrays, names=PARENTAGE.names).cast(PARENTAGE)


def _repeated(value: str, length: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), length)


def _sorted(rows: pa.Table) -> pa.Table:
    """Return the rows in order, each once: versions of a table share rows."""
    keys = [name for name in ("ancestor_id", "doc_id", "parent_id", "table", "partition") if name in rows.column_names]
    each_once = rows.group_by(rows.column_names, use_threads=False).aggregate([]).cast(rows.schema)
    return each_once.sort_by([(name, "ascending") for name in keys])
