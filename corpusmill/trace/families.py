"""Which documents of a plan are kin: a source, its duplicates, and all that was made from any of them, in every component.

A family is what `corpusmill exposure` shows of one of its sources. Costs: a pass over doc_id and parent_ids of all
synthesized documents, one over all duplicates, one over the sequences' doc_ids; memory is about 700 bytes a document.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.dedup.resolve import connected_components
from corpusmill.lake.tables import Lake
from corpusmill.mix.exposure import Families
from corpusmill.mix.plan import Plan
from corpusmill.stream.index import open_components, read_row_group
from corpusmill.trace.document import MAX_GENERATIONS
from corpusmill.trace.lineage import PARENTAGE, duplicate_tables, parentage, synthesized_tables

_COPIES = pa.schema([pa.field("number", pa.int64()), pa.field("doc_id", pa.string())])
_LINKS = pa.schema([pa.field("doc_id", pa.string()), pa.field("duplicate_of", pa.string())])


def find_families(lake: Lake, plan: Plan) -> list[Families]:
    """Return the families of all documents that a plan reads, those with as many documents in each component together."""
    copies = _grouped(_copies(lake, plan), ["number", "doc_id"], [("doc_id", "count")])
    kin = _family_of(lake, _sources(lake, pc.unique(copies["doc_id"])))
    held = copies.join(kin, keys="doc_id", join_type="inner", use_threads=False)
    members = _grouped(held, ["family", "number"], [("doc_id_count", "sum")])
    return _alike(members, len(plan.components))


def family_inputs(lake: Lake) -> dict[str, str]:
    """Return the content hash of every partition that says who is kin."""
    tables = [*synthesized_tables(lake), *duplicate_tables(lake)]
    return {f"{table}|{name}": it.content_hash for table in tables for name, it in lake.partitions(table).items()}


def _copies(lake: Lake, plan: Plan) -> pa.Table:
    """Return the component of each document, a row as often as it stands in it: where its first token does."""
    found = [_COPIES.empty_table()]
    for number, index in enumerate(open_components(lake, plan)):
        for group in index.groups:
            rows = read_row_group(lake.store, group, ["doc_ids", "starts"]).combine_chunks()
            is_first = pc.equal(pc.list_flatten(rows["starts"]), 0)
            doc_ids = pc.list_flatten(rows["doc_ids"]).filter(is_first)
            found.append(pa.table([pa.array(np.full(len(doc_ids), number)), doc_ids], schema=_COPIES))
    return pa.concat_tables(found)


def _sources(lake: Lake, doc_ids: pa.Array) -> pa.Table:
    """Return each document with each source that it comes from; a curated one comes from itself."""
    rows = (PARENTAGE.empty_table(), *parentage(lake, {}))
    parents = pa.concat_tables([one.select(["doc_id", "parent_id"]) for one in rows])
    newest = pa.table({"doc_id": doc_ids, "source": doc_ids})
    found = []
    for _ in range(MAX_GENERATIONS):
        above = newest.join(parents, keys="source", right_keys="doc_id", join_type="left outer", use_threads=False)
        is_source = pc.is_null(above["parent_id"])
        found.append(above.filter(is_source).select(["doc_id", "source"]))
        up = above.filter(pc.invert(is_source)).select(["doc_id", "parent_id"])
        newest = _grouped(up.rename_columns(["doc_id", "source"]), ["doc_id", "source"], [])
        if not len(newest):
            break
    return pa.concat_tables([*found, newest])


def _family_of(lake: Lake, sources: pa.Table) -> pa.Table:
    """Return `doc_id` and `family`, the smallest source of its family, once for each family that a document is in."""
    links = pa.concat_tables([_LINKS.empty_table(), *_duplicates(lake)])
    nodes = pc.unique(
        pa.chunked_array([*sources["source"].chunks, *links["doc_id"].chunks, *links["duplicate_of"].chunks])
    )
    nodes = nodes.take(pc.sort_indices(nodes))
    ends = [pc.index_in(links[name], nodes).to_numpy().astype(np.int64) for name in _LINKS.names]
    smallest = connected_components(len(nodes), *ends)
    family = nodes.take(pa.array(smallest[pc.index_in(sources["source"], nodes).to_numpy()]))
    return _grouped(pa.table({"doc_id": sources["doc_id"], "family": family}), ["doc_id", "family"], [])


def _duplicates(lake: Lake) -> Iterable[pa.Table]:
    for table in duplicate_tables(lake):
        for batch in lake.scan(table, columns=[*_LINKS.names, "kind"], allow_failed_gate=True):
            rows = pa.Table.from_batches([batch])
            # A document that says its seed again is its descendant already.
            yield rows.filter(pc.not_equal(rows["kind"], "seed")).select(_LINKS.names).cast(_LINKS)


def _alike(members: pa.Table, num_components: int) -> list[Families]:
    """Return families by what they hold; `members` has a row a family and component."""
    rows = members.sort_by([("family", "ascending"), ("number", "ascending")]).combine_chunks()
    spelled = pc.binary_join_element_wise(
        *(rows[name].cast(pa.string()) for name in ("number", "doc_id_count_sum")), ":"
    ).combine_chunks()
    _, first = np.unique(rows["family"].to_numpy(), return_index=True)
    offsets = pa.array([*first.tolist(), len(rows)], pa.int32())
    held = pc.binary_join(pa.ListArray.from_arrays(offsets, spelled), " ")
    each = pa.table({"held": held, "family": rows["family"].take(pa.array(first))})
    kinds = _grouped(each, ["held"], [("family", "first"), ("family", "count")]).sort_by("held")
    return [
        Families(
            members=_members(row["held"], num_components),
            num_families=row["family_count"],
            example=row["family_first"],
        )
        for row in kinds.to_pylist()
    ]


def _members(held: str, num_components: int) -> tuple[int, ...]:
    """Return `0:2 3:1` as numbers of documents by component: 2, 0, 0, 1."""
    found = {int(number): int(count) for number, _, count in (part.partition(":") for part in held.split())}
    return tuple(found.get(number, 0) for number in range(num_components))


def _grouped(rows: pa.Table, keys: list[str], sums: list[tuple[str, str]]) -> pa.Table:
    return rows.group_by(keys, use_threads=False).aggregate(sums)
