"""How often a run meets a document: itself, the documents that it is a duplicate of, and all that was made from them.

Joined on demand out of duplicates, lineage, the pinned sequences and the order, so there is no ledger that could be wrong.
Costs: the passes of `lineage`, one over the sequences' doc_ids, and the walk of the order up to the run's position, about
100 ns each; memory is what was found, and a bit a sequence. A document of which nothing is found is looked up in the tables.
"""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.lake.tables import Lake
from corpusmill.mix.inventory import shown
from corpusmill.mix.plan import Plan
from corpusmill.stream.index import ComponentIndex, open_components, read_row_group
from corpusmill.trace.document import DocumentTracer, Where
from corpusmill.trace.lineage import descendants, duplicate_links
from corpusmill.trace.lookup import RowFinder
from corpusmill.trace.reads import check_positions, walk

ITSELF = "itself"
MAX_DUPLICATE_STEPS = 8
RELATED = pa.schema(
    [
        pa.field("asked_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
    ]
)
"""Documents in which an asked one is met. `relation` is `itself`, the kind of the duplicate (`exact`, `near`), or the recipe
that made it, from a duplicate where it says so."""

EXPOSURE = pa.schema(
    [
        *RELATED,
        pa.field("component", pa.string(), nullable=False),
        pa.field("epoch", pa.int64(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
        pa.field("times", pa.float64(), nullable=False),
        pa.field("first_position", pa.int64(), nullable=False),
        pa.field("last_position", pa.int64(), nullable=False),
    ]
)
"""One row per related document, component and epoch in which it is met. `times` is of its tokens in that component: 1 once all
pieces of a long document were read, a part where the run has read only some."""


def exposure(lake: Lake, plan: Plan, doc_ids: Collection[str], *, num_positions: int | None = None) -> pa.Table:
    """Return the EXPOSURE of these documents in the first positions (None is all) of a mix; one not met has no row.

    Raises ValueError for a document that neither the mix nor the lake knows.
    """
    check_positions(plan, num_positions)
    kin = related(lake, doc_ids)
    held = held_pieces(lake, open_components(lake, plan), kin["doc_id"])
    _check_known(lake, plan, {*doc_ids}, kin, held)
    met = held.join(
        met_positions(plan, held, num_positions), keys=["number", "index"], join_type="inner", use_threads=False
    )
    of_all = held.group_by(["number", "doc_id"], use_threads=False).aggregate([("length", "sum")])
    each = met.group_by(["number", "doc_id", "epoch"], use_threads=False).aggregate(
        [("length", "sum"), ("position", "min"), ("position", "max")]
    )
    totals = dict(zip(_pairs(of_all, "number", "doc_id"), of_all["length_sum"].to_pylist(), strict=True))
    relations: dict[str, list[dict[str, Any]]] = {}
    for row in kin.to_pylist():
        relations.setdefault(row["doc_id"], []).append(row)
    rows = [
        {
            **relation,
            "component": plan.components[row["number"]].name,
            "epoch": row["epoch"],
            "tokens": row["length_sum"],
            "times": row["length_sum"] / totals[row["number"], row["doc_id"]],
            "first_position": row["position_min"],
            "last_position": row["position_max"],
        }
        for row in each.to_pylist()
        for relation in relations[row["doc_id"]]
    ]
    keys = ("asked_id", "relation", "doc_id", "component", "epoch")
    return pa.Table.from_pylist(rows, schema=EXPOSURE).sort_by([(name, "ascending") for name in keys])


def related(lake: Lake, doc_ids: Collection[str]) -> pa.Table:
    """Return RELATED: each document itself, its duplicates either way, and all descendants of them."""
    alike = {(doc_id, doc_id): ITSELF for doc_id in doc_ids}
    newest = {doc_id: [doc_id] for doc_id in doc_ids}
    for _ in range(MAX_DUPLICATE_STEPS):
        newest = _add_duplicates(lake, alike, newest)
        if not newest:
            break
    askers: dict[str, list[str]] = {}
    for asked, doc_id in alike:
        askers.setdefault(doc_id, []).append(asked)
    found = dict(alike)
    for row in descendants(lake, askers).to_pylist():
        for asked in askers[row["ancestor_id"]]:
            kind = alike[asked, row["ancestor_id"]]
            made = row["recipe"] or row["table"]
            found.setdefault((asked, row["doc_id"]), made if kind == ITSELF else f"{made} from a duplicate ({kind})")
    rows = [{"asked_id": asked, "doc_id": doc_id, "relation": how} for (asked, doc_id), how in sorted(found.items())]
    return pa.Table.from_pylist(rows, schema=RELATED)


def _check_known(lake: Lake, plan: Plan, doc_ids: set[str], kin: pa.Table, held: pa.Table) -> None:
    """Raise ValueError for documents that have no kin, stand in no sequence, and are in no table."""
    is_other = pc.not_equal(kin["asked_id"], kin["doc_id"])
    doubtful = doc_ids - {*kin["asked_id"].filter(is_other).to_pylist()} - {*held["doc_id"].to_pylist()}
    found = DocumentTracer(RowFinder(lake)).trace(doubtful, Where()) if doubtful else {}
    unknown = sorted(name for name, it in found.items() if it.table is None and it.record is None)
    if unknown:
        raise ValueError(
            f"no such document is known: {shown(unknown)}; neither mix {plan.mix} nor a table of documents or records has "
            "it. Copy the id of a document from `corpusmill explain`, or from a column doc_id"
        )


def _add_duplicates(
    lake: Lake, alike: dict[tuple[str, str], str], newest: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Add what duplicates the newest documents, or is duplicated by them, and return who that is, with who asked."""
    added: dict[str, list[str]] = {}
    for row in duplicate_links(lake, newest).to_pylist():
        # A document that says its seed again is its descendant, and is told as such.
        ends = (row["doc_id"], row["duplicate_of"]) if row["kind"] != "seed" else ()
        for one, other in (ends, ends[::-1]) if ends else ():
            for asked in newest.get(one, ()):
                if (asked, other) not in alike:
                    alike[asked, other] = row["kind"]
                    added.setdefault(other, []).append(asked)
    return added


def held_pieces(lake: Lake, components: list[ComponentIndex], doc_ids: pa.ChunkedArray) -> pa.Table:
    """Return number of the component, index of the sequence, doc_id and length of every piece of these documents."""
    wanted = pc.unique(doc_ids)
    parts = [
        pa.table({"number": _ints([]), "index": _ints([]), "doc_id": pa.array([], pa.string()), "length": _ints([])})
    ]
    for number, index in enumerate(components):
        for start, group in zip(index.starts[:-1].tolist(), index.groups, strict=True):
            rows = read_row_group(lake.store, group, ["doc_ids", "lengths"]).combine_chunks()
            ids = pc.list_flatten(rows["doc_ids"])
            is_wanted = pc.is_in(ids, value_set=wanted)
            owner = pc.list_parent_indices(rows["doc_ids"]).filter(is_wanted).to_numpy()
            lengths = pc.list_flatten(rows["lengths"]).filter(is_wanted).cast(pa.int64())
            columns = [_ints([number] * len(owner)), _ints(owner + start), ids.filter(is_wanted), lengths]
            parts.append(pa.table(columns, names=parts[0].column_names))
    return pa.concat_tables(parts)


def met_positions(plan: Plan, held: pa.Table, num_positions: int | None) -> pa.Table:
    """Return number and index of every held sequence with each epoch and position at which it is read."""
    is_held = [np.zeros(component.num_sequences, np.bool_) for component in plan.components]
    for number, index in set(_pairs(held, "number", "index")):
        is_held[number][index] = True
    names = ("number", "index", "epoch", "position")
    parts = [pa.table({name: _ints([]) for name in names})]
    for start, found in walk(plan, num_positions):
        for number, marked in enumerate(is_held):
            at = np.flatnonzero(found.component_T == number)
            at = at[marked[found.index_T[at]]]
            columns = [np.full(len(at), number), found.index_T[at], found.epoch_T[at], at + start]
            parts.append(pa.table([_ints(column) for column in columns], names=list(names)))
    return pa.concat_tables(parts)


def _pairs(rows: pa.Table, one: str, other: str) -> Iterator[tuple[Any, Any]]:
    return zip(rows[one].to_pylist(), rows[other].to_pylist(), strict=True)


def _ints(values: Any) -> pa.Array:
    return pa.array(values, pa.int64())
