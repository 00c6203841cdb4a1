"""Forgetting: which documents are meant, where they and all that was made from them are held, and keeping them out.

    find(lake, Asked(urls=[...])) -> Found          reads only
    withdraw(lake, found) -> lists                  writes removals; older versions, and the mixes that pin them, stay

Every version of every table is looked at, each file once, so that what only an old mix still holds is found, too. Meant are the
documents that were asked for, and those of the same text, which is the same text wherever it was met. Near-duplicates are
documents of their own: they are counted, and left.

Costs: a pass over small columns of the records, texts and documents, one more over the hashes of texts, those of `lineage`, one
over the sequences' doc_ids, and the walk of the order of every mix that holds something; memory is what was found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.curate.urls import canonical_urls, url_hashes
from corpusmill.document import REMOVALS
from corpusmill.lake.scan import scan_files
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.tables import Lake
from corpusmill.mix.plan import Plan
from corpusmill.stream.index import ComponentChangedError, open_components
from corpusmill.stream.inventory import read_plans
from corpusmill.stream.live import standing
from corpusmill.tasks.removals import add_removals
from corpusmill.tasks.task import UNPARTITIONED
from corpusmill.trace.exposure import held_pieces, met_positions
from corpusmill.trace.lineage import descendants, duplicate_links, parents, synthesized_tables

ASKED, SAME_TEXT, MADE = "asked", "same text", "made from it"

DOCUMENTS = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
        pa.field("table", pa.string(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),
        pa.field("is_current", pa.bool_(), nullable=False),
        pa.field("text_hash", pa.string()),
        pa.field("url", pa.string()),
    ]
)
"""One row per document and place that holds it. `is_current` is false where only older versions do."""

SEQUENCES = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),
        pa.field("is_current", pa.bool_(), nullable=False),
        pa.field("sequences", pa.int64(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
    ]
)
"""Packed sequences with tokens of a found document, and those tokens; all older versions of a partition are one row."""

MIXES = pa.schema(
    [
        pa.field("mix", pa.string(), nullable=False),
        pa.field("sequences", pa.int64(), nullable=False),
        pa.field("tokens", pa.int64(), nullable=False),
        pa.field("first_position", pa.int64(), nullable=False),
        pa.field("positions", pa.int64(), nullable=False),
    ]
)
"""Mixes (`name@version`) that read them: a run of one has met them once it is beyond `first_position`."""

_COLUMNS = ("doc_id", "source", "url", "license", "text_hash")
_PLACES = (("sources", "records"), ("curated", "extracted"), ("curated", "documents"), ("curated", "validation"))
_MADE_IN_ORDER = {
    "curated": ("resolution", "duplicates", "repeated_spans", "documents", "validation"),
    "synthesized": ("requests", "completions", "documents", "duplicates"),
    "tokenized": ("sequences",),
    "mixed": ("plan", "report"),
}
"""What is made anew after a removal, stage by stage, what is made before what."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a person wants to be forgotten: all documents that any of these names."""

    urls: Sequence[str] = ()
    """In any spelling that leads to the same page (see `corpusmill.curate.urls`)."""
    doc_ids: Sequence[str] = ()
    sources: Sequence[str] = ()
    """Values of the column `source`."""
    licences: Sequence[str] = ()
    """As the texts or the documents spell them; curation may have settled on another one than the source declared."""

    def __post_init__(self) -> None:
        if not (self.urls or self.doc_ids or self.sources or self.licences):
            raise ValueError("wanted what to forget, by URL, document, source or licence; got nothing")


@dataclass(frozen=True, kw_only=True)
class Found:
    """What is held of what was asked for."""

    asked: Asked
    documents: pa.Table
    sequences: pa.Table
    mixes: pa.Table
    near_duplicates: Sequence[str]
    """Removed as near-duplicates of found documents, or standing for them: left, though much of their text is the same."""
    not_found: Sequence[str]
    """URLs, ids, sources and licences that name nothing in the lake."""
    unread_mixes: Sequence[str] = field(default_factory=tuple)
    """Mixes whose sequences are gone, with why."""

    def doc_ids(self, *relations: str) -> list[str]:
        """Return the found documents, or those of some relations, sorted."""
        rows = zip(self.documents["doc_id"].to_pylist(), self.documents["relation"].to_pylist(), strict=True)
        return sorted({doc_id for doc_id, relation in rows if not relations or relation in relations})


def find(lake: Lake, asked: Asked) -> Found:
    """Return all that the lake holds of what was asked for; raises ValueError for a document that a model made."""
    meant, not_found = _meant(lake, asked)
    made = _made(lake, meant)
    documents = pa.concat_tables([meant, made])
    doc_ids = pc.unique(documents["doc_id"])
    own = {*doc_ids.to_pylist()}
    links = duplicate_links(lake, own).to_pylist()
    near = {one for row in links if row["kind"] == "near" for one in (row["doc_id"], row["duplicate_of"])}
    mixes, unread = _mixes(lake, doc_ids)
    return Found(
        asked=asked,
        documents=documents,
        sequences=_sequences(lake, doc_ids),
        mixes=mixes,
        near_duplicates=sorted(near - own),
        not_found=not_found,
        unread_mixes=unread,
    )


def withdraw(lake: Lake, found: Found, *, reason: str = "withdrawn") -> list[str]:
    """Write the removals of what was found and return the datasets whose lists name them; repeating it changes nothing.

    Named are the documents by id, their texts, and the URLs of the asked ones. A URL that the lake does not hold yet is named,
    too, in the list of every dataset that reads URLs: it stays out when it comes.
    """
    held = found.documents.filter(pc.not_equal(found.documents["relation"], MADE))
    datasets = _datasets(held) or sorted({table.split("/")[1] for table in tables_of(lake, "sources", "records")})
    for dataset in datasets:
        rows = _removal_rows(held.filter(_is_of(held, dataset)), found.asked.urls, reason)
        if len(rows):
            add_removals(lake, dataset, rows)
    return datasets


def partitions_to_materialize(lake: Lake, found: Found) -> list[tuple[str, str]]:
    """Return table and partition of all that is to be made again, in an order in which it can be."""
    current = found.documents.filter(found.documents["is_current"]).select(["table", "partition"])
    held = found.sequences.filter(found.sequences["is_current"]).select(["table", "partition"])
    mixes = {mix.partition("@")[0] for mix in found.mixes["mix"].to_pylist()}
    touched = {(table.rpartition("/")[0], name) for table, name in _pairs(pa.concat_tables([current, held]))}
    touched |= {(folder, mix) for folder in {table.rpartition("/")[0] for table in lake.tables()} for mix in mixes}
    folders = {folder for folder, _ in touched}
    parted = [(table, table.split("/")[0], *table.rpartition("/")[::2]) for table in lake.tables()]
    ranked = sorted(
        (list(_MADE_IN_ORDER).index(stage), folder, _MADE_IN_ORDER[stage].index(name), table)
        for table, stage, folder, name in parted
        if folder in folders and name in _MADE_IN_ORDER.get(stage, ())
    )
    return [
        (table, partition)
        for _, folder, _, table in ranked
        for partition in lake.partitions(table)
        if (folder, partition) in touched or (partition == UNPARTITIONED and folder.startswith("curated/"))
    ]


def _pairs(rows: pa.Table) -> set[tuple[str, str]]:
    return {*zip(rows["table"].to_pylist(), rows["partition"].to_pylist(), strict=True)}


def _meant(lake: Lake, asked: Asked) -> tuple[pa.Table, list[str]]:
    """Return the rows of the documents that were asked for, and of those of the same text; and what names nothing."""
    matches = _Matches(asked)
    direct = _rows(lake, matches.of)
    if made := sorted({*asked.doc_ids} & matches.left & _synthesized(lake, asked.doc_ids)):
        sources = sorted({*parents(lake, made)["parent_id"].to_pylist()})
        raise ValueError(
            f"{made[0]} was made from {', '.join(sources[:3])}: it would be made again as long as they stay; forget what it "
            "was made from"
        )
    ids, hashes = pc.unique(direct["doc_id"]), pc.unique(direct["text_hash"]).drop_null()
    every = _rows(lake, lambda rows: pc.or_(pc.is_in(rows["doc_id"], ids), pc.is_in(rows["text_hash"], hashes)))
    # A record has no hash: the copies are looked up once more by their ids.
    all_ids = pc.unique(every["doc_id"])
    every = _rows(lake, lambda rows: pc.is_in(rows["doc_id"], all_ids)) if len(all_ids) > len(ids) else every
    relation = pc.if_else(pc.is_in(every["doc_id"], ids), ASKED, SAME_TEXT)
    return _placed(every.append_column("relation", relation)), sorted(matches.left)


class _Matches:
    """Which rows what was asked for names; `left` is what has named none so far."""

    def __init__(self, asked: Asked) -> None:
        urls = pa.array(asked.urls, pa.string())
        spelled = pc.coalesce(canonical_urls(urls), urls.cast(pa.large_string())).to_pylist()
        self._urls = dict(zip(spelled, asked.urls, strict=True))
        self._asked = asked
        self.left = {*asked.urls, *asked.doc_ids, *asked.sources, *asked.licences}

    def of(self, rows: pa.Table) -> pa.Array:
        found = [
            self._note(rows["doc_id"], {one: one for one in self._asked.doc_ids}),
            self._note(rows["source"], {one: one for one in self._asked.sources}),
            self._note(rows["license"], {one: one for one in self._asked.licences}),
        ]
        if self._urls:
            urls = rows["url"].combine_chunks()
            found.append(self._note(pc.coalesce(canonical_urls(urls), urls.cast(pa.large_string())), self._urls))
        return pa.array(np.logical_or.reduce([np.asarray(one) for one in found]))

    def _note(self, values: pa.Array | pa.ChunkedArray, names: dict[str, str]) -> pa.Array:
        is_named = pc.is_in(values, value_set=pa.array(list(names), values.type))
        self.left -= {names[value] for value in pc.unique(values.filter(is_named)).to_pylist()}
        return is_named


def _rows(lake: Lake, is_meant: Callable[[pa.Table], pa.Array]) -> pa.Table:
    """Return _COLUMNS, table, partition and is_current of the rows that are meant, in all versions of all tables."""
    kept = []
    for table in (name for stage, last in _PLACES for name in tables_of(lake, stage, last)):
        known = {"license": "declared_license"} if table.startswith("sources/") else {}
        for rows, is_current in all_versions(lake, table, [known.get(name, name) for name in _COLUMNS]):
            named = rows.rename_columns([*_COLUMNS, PARTITION_KEY])
            meant = named.filter(is_meant(named))
            if len(meant):
                told = {"table": pa.scalar(table), "is_current": pa.scalar(is_current)}
                for name, value in told.items():
                    meant = meant.append_column(name, pa.repeat(value, len(meant)))
                kept.append(meant)
    empty = pa.table({**{name: pa.array([], pa.string()) for name in (*_COLUMNS, PARTITION_KEY, "table")}})
    return pa.concat_tables([empty.append_column("is_current", pa.array([], pa.bool_())), *kept])


def all_versions(lake: Lake, table: str, columns: Sequence[str]) -> Iterator[tuple[pa.Table, bool]]:
    """Yield the rows of all versions with the partition last, and whether the current version has them."""
    known = lake.schema(table)
    types = {name: known.field(name).type if name in known.names else pa.string() for name in columns}
    schema = pa.schema([*types.items(), (PARTITION_KEY, pa.string())])
    current = {file.path for file in lake.files(table, allow_failed_gate=True)}
    for file in lake.all_files(table):
        for batch in scan_files(lake.store, [file], schema):
            yield pa.Table.from_batches([batch]), file.path in current


def _placed(rows: pa.Table) -> pa.Table:
    """Return DOCUMENTS of rows of several versions: current where one of them is."""
    keys = ["doc_id", "relation", "table", PARTITION_KEY]
    ends = [("is_current", "max"), ("text_hash", "max"), ("url", "max")]
    found = rows.group_by(keys, use_threads=False).aggregate(ends)
    columns = [*(found[name] for name in keys), *(found[f"{name}_max"] for name, _ in ends)]
    return (
        pa.table(columns, names=DOCUMENTS.names)
        .cast(DOCUMENTS)
        .sort_by([(name, "ascending") for name in ("table", "partition", "doc_id")])
    )


def _made(lake: Lake, meant: pa.Table) -> pa.Table:
    """Return DOCUMENTS of all that was ever made from these ones."""
    versions = {table: list(lake.versions(table)) for table in synthesized_tables(lake)}
    ids = pc.unique(meant["doc_id"]).to_pylist()
    now = {*descendants(lake, ids)["doc_id"].to_pylist()}
    rows = descendants(lake, ids, snapshot_ids=versions).select(["doc_id", "table", "partition"])
    each = rows.group_by(rows.column_names, use_threads=False).aggregate([]).to_pylist()
    made = [
        {**row, "relation": MADE, "is_current": row["doc_id"] in now} for row in each if row["doc_id"] not in {*ids}
    ]
    return pa.Table.from_pylist(sorted(made, key=lambda row: (row["table"], row["doc_id"])), schema=DOCUMENTS)


def _synthesized(lake: Lake, doc_ids: Sequence[str]) -> set[str]:
    return {*parents(lake, doc_ids)["doc_id"].to_pylist()}


def _sequences(lake: Lake, doc_ids: pa.Array) -> pa.Table:
    counted: dict[tuple[str, str, bool], list[int]] = {}
    for table in tables_of(lake, "tokenized", "sequences"):
        for rows, is_current in all_versions(lake, table, ["doc_ids", "lengths"]):
            rows = rows.combine_chunks()
            is_held = pc.is_in(pc.list_flatten(rows["doc_ids"]), value_set=doc_ids)
            owners = pc.list_parent_indices(rows["doc_ids"]).filter(is_held)
            if len(owners):
                key = (table, rows[PARTITION_KEY][0].as_py(), is_current)
                here = counted.setdefault(key, [0, 0])
                here[0] += len(pc.unique(owners))
                here[1] += pc.sum(pc.list_flatten(rows["lengths"]).filter(is_held)).as_py()
    rows = [dict(zip(SEQUENCES.names, (*key, *numbers), strict=True)) for key, numbers in sorted(counted.items())]
    return pa.Table.from_pylist(rows, schema=SEQUENCES)


def _mixes(lake: Lake, doc_ids: pa.Array) -> tuple[pa.Table, list[str]]:
    rows, unread = [], []
    for plan in read_plans(lake) if len(doc_ids) else ():
        try:
            rows += _mix_rows(lake, standing(lake, plan), doc_ids)
        except ComponentChangedError as error:
            unread.append(f"{plan.mix}@{plan.version}: {error}")
    return pa.Table.from_pylist(rows, schema=MIXES), unread


def _mix_rows(lake: Lake, plan: Plan, doc_ids: pa.Array) -> list[dict[str, object]]:
    held = held_pieces(lake, open_components(lake, plan), pa.chunked_array([doc_ids]))
    if not len(held):
        return []
    met = met_positions(plan, held, None)
    return (
        [
            {
                "mix": f"{plan.mix}@{plan.version}",
                "sequences": len(held.group_by(["number", "index"]).aggregate([])),
                "tokens": pc.sum(held["length"]).as_py(),
                "first_position": pc.min(met["position"]).as_py(),
                "positions": len(met),
            }
        ]
        if len(met)
        else []
    )


def _removal_rows(held: pa.Table, urls: Sequence[str], reason: str) -> pa.Table:
    asked = held.filter(pc.equal(held["relation"], ASKED))
    of_urls = pa.concat_arrays([asked["url"].combine_chunks().drop_null(), pa.array(urls, pa.string())])
    named = {
        "doc_id": pc.unique(held["doc_id"]),
        "text_hash": pc.unique(held["text_hash"]).drop_null(),
        "url_hash": pc.unique(url_hashes(of_urls)).drop_null(),
    }
    rows = [{name: value, "reason": reason} for name, values in named.items() for value in values.to_pylist()]
    return pa.Table.from_pylist(rows, schema=REMOVALS)


def _datasets(documents: pa.Table) -> list[str]:
    return sorted({table.split("/")[1] for table in documents["table"].to_pylist()})


def _is_of(documents: pa.Table, dataset: str) -> pa.Array:
    return pa.array([table.split("/")[1] == dataset for table in documents["table"].to_pylist()], pa.bool_())


def tables_of(lake: Lake, stage: str, *names: str) -> list[str]:
    """Return the committed tables of a stage with one of these names."""
    parted = [table.split("/") for table in lake.tables()]
    found = ["/".join(parts) for parts in parted if len(parts) == 3 and parts[0] == stage and parts[2] in names]
    return [table for table in found if lake.versions(table)]
