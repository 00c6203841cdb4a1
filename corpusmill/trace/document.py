"""What the lake knows of a document: its row, where its source lies, its verdict, its duplicates, how it was made, its parents.

Found by doc_id, never by position, table by table; a batch of documents shares the reads. A document that the current version
of its table no longer has is looked for in the older versions that are left, newest first, and then among the records.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from corpusmill.document import COMPLETIONS, DOCUMENTS, RECORDS, REQUESTS, RESOLUTION, SYNTHESIZED
from corpusmill.trace.lookup import MIDDLE, PARTITION, PLACE, RowFinder

MAX_GENERATIONS = 32
"""Deeper lineage is a circle."""
_ROW = [name for name in (*DOCUMENTS.names, "reject_reason", "completion_tokens") if name != "text"]
_COMPLETION = [name for name in COMPLETIONS.names if name != "answer"]
_NO_STATISTIC = {"doc_id", "text_file", PLACE, PARTITION}


@dataclass(frozen=True, kw_only=True)
class Document:
    """One document with all that leads to it."""

    doc_id: str
    table: str | None
    """The table that has its text; None where no version that is left has it."""
    partition: str | None
    is_current: bool
    """Whether the current version of the table has it."""
    row: Mapping[str, Any]
    """Its columns, without the text."""
    record: Mapping[str, Any] | None
    """Of a curated document: where its source lies (RECORDS). None where nothing is left of it."""
    verdict: Mapping[str, Any] | None
    """Of a curated document: what the judge measured and decided."""
    stands_for: Sequence[Mapping[str, Any]]
    """The documents that were removed as its duplicates."""
    removed_as: Mapping[str, Any] | None
    """Its own removal as a duplicate, if it was removed since."""
    requests: Sequence[Mapping[str, Any]]
    """Of a synthesized document: what was asked about its parents: span of the seed, prompt, model, and how it was answered."""
    parents: Sequence["Document"] = field(default_factory=tuple)

    @property
    def cluster(self) -> str | None:
        """The duplicate cluster: the smallest doc_id of what verified edges connect."""
        rows = [*self.stands_for, *([self.removed_as] if self.removed_as else [])]
        return next((row["cluster"] for row in rows if row.get("cluster")), None)

    def sources(self) -> Iterator["Document"]:
        """Yield the documents without parents that it comes from, itself if it has none."""
        if not self.row.get("parent_ids"):
            yield self
        for parent in self.parents:
            yield from parent.sources()

    @property
    def is_located(self) -> bool:
        """Whether each source that it comes from leads to a record: its file and its place in it."""
        sources = list(self.sources())
        return bool(sources) and all(source.record is not None for source in sources)


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where documents are likely to lie; elsewhere they are found too, later."""

    table: str | None = None
    partition: str | None = None
    place: float = MIDDLE
    """How far into the partition."""


class DocumentTracer:
    """Finds documents; `finder` keeps what it learned of the files."""

    def __init__(self, finder: RowFinder) -> None:
        self._finder = finder
        named = [table.split("/") for table in finder.tables]
        self._tables = [
            "/".join(parts)
            for stage, name in (("curated", "documents"), ("synthesized", "documents"), ("curated", "validation"))
            for parts in named
            if len(parts) == 3 and (parts[0], parts[2]) == (stage, name)
        ]
        self._records = [
            table for table in finder.tables if table.startswith("sources/") and table.endswith("/records")
        ]

    def trace(self, doc_ids: Collection[str], where: Where, *, generation: int = 0) -> dict[str, Document]:
        """Return every one of these documents with its parents, and theirs."""
        rows = self._rows(doc_ids, where)
        grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in rows.values():
            grouped.setdefault((row["table"], row[PARTITION]), []).append(row)
        found: dict[str, Document] = {}
        for (table, partition), group in grouped.items():
            make = self._synthesized if table.startswith("synthesized/") else self._curated
            found |= make(table, partition, group, generation)
        return found | {doc_id: self._gone(doc_id, where) for doc_id in doc_ids if doc_id not in found}

    def _rows(self, doc_ids: Collection[str], where: Where) -> dict[str, dict[str, Any]]:
        """Return the row of each document with `table` and `is_current`, from the likely table first."""
        likely = [table for table in self._tables if table == where.table]
        others = [table for table in self._tables if table != where.table]
        found: dict[str, dict[str, Any]] = {}
        for table in likely:
            self._look(found, doc_ids, table, where)
            for snapshot_id in self._finder.versions(table) if len(found) < len(doc_ids) else ():
                self._look(found, doc_ids, table, where, snapshot_id=snapshot_id)
        for table in others:
            self._look(found, doc_ids, table, Where(place=where.place))
        return found

    def _look(
        self,
        found: dict[str, dict[str, Any]],
        doc_ids: Collection[str],
        table: str,
        where: Where,
        *,
        snapshot_id: int | None = None,
    ) -> None:
        """Add the rows of those documents that are not found yet."""
        missing = [doc_id for doc_id in doc_ids if doc_id not in found]
        if missing:
            rows = self._finder.find(
                table, missing, columns=_ROW, partition=where.partition, place=where.place, snapshot_id=snapshot_id
            )
            for row in rows.to_pylist():
                found[row["doc_id"]] = {**row, "table": table, "is_current": snapshot_id is None}

    def _curated(
        self, table: str, partition: str, rows: Sequence[Mapping[str, Any]], generation: int
    ) -> dict[str, Document]:
        dataset = table.split("/")[1]
        doc_ids, place = [row["doc_id"] for row in rows], rows[0][PLACE]
        verdicts = self._one_each(f"curated/{dataset}/verdicts", doc_ids, None, partition=partition, place=place)
        records = self._one_each(f"sources/{dataset}/records", doc_ids, RECORDS, partition=partition, place=place)
        resolution = f"curated/{dataset}/resolution"
        stands_for = self._kept(resolution, doc_ids, partition=None)
        removed = self._one_each(resolution, doc_ids, RESOLUTION, partition=None, place=MIDDLE)
        return {
            row["doc_id"]: Document(
                **_identity(row),
                record=records.get(row["doc_id"]),
                verdict=verdicts.get(row["doc_id"]),
                stands_for=stands_for.get(row["doc_id"], ()),
                removed_as=removed.get(row["doc_id"]),
                requests=(),
            )
            for row in rows
        }

    def _synthesized(
        self, table: str, partition: str, rows: Sequence[Mapping[str, Any]], generation: int
    ) -> dict[str, Document]:
        dataset = table.split("/")[1]
        parent_ids = sorted({parent for row in rows for parent in row["parent_ids"] or ()})
        requests = self._requests(dataset, partition, parent_ids)
        parents: dict[str, Document] = {}
        if parent_ids and generation < MAX_GENERATIONS:
            seed_file = next((item["seed_file"] for items in requests.values() for item in items), "")
            seeds = next((one for one in self._tables if seed_file.startswith(f"data/{one}/")), None)
            where = Where(table=seeds, partition=rows[0]["snapshot"])
            parents = self.trace(parent_ids, where, generation=generation + 1)
        duplicates = f"synthesized/{dataset}/duplicates"
        doc_ids = [row["doc_id"] for row in rows]
        stands_for = self._kept(duplicates, doc_ids, partition=partition)
        removed = self._one_each(duplicates, doc_ids, RESOLUTION, partition=partition, place=MIDDLE)
        return {
            row["doc_id"]: Document(
                **_identity(row),
                record=None,
                verdict=None,
                stands_for=stands_for.get(row["doc_id"], ()),
                removed_as=removed.get(row["doc_id"]),
                requests=[item for parent in row["parent_ids"] or () for item in requests.get(parent, ())],
                parents=[parents[parent] for parent in row["parent_ids"] or () if parent in parents],
            )
            for row in rows
        }

    def _gone(self, doc_id: str, where: Where) -> Document:
        """Return what is left of a document that no table of documents has: its record, if there is one."""
        record: Mapping[str, Any] | None = None
        for table in self._records:
            record = record or self._one_each(table, [doc_id], RECORDS, partition=None, place=where.place).get(doc_id)
        return Document(
            doc_id=doc_id,
            table=None,
            partition=None,
            is_current=False,
            row={},
            record=record,
            verdict=None,
            stands_for=(),
            removed_as=None,
            requests=(),
        )

    def _one_each(
        self, table: str, doc_ids: Sequence[str], schema: pa.Schema | None, *, partition: str | None, place: float
    ) -> dict[str, dict[str, Any]]:
        """Return the row of each document; without a schema all the columns that the table has."""
        if table not in self._finder.tables:
            return {}
        names = self._finder.columns(table) if schema is None else schema.names
        rows = self._finder.find(table, doc_ids, columns=names, partition=partition, place=place)
        return {row["doc_id"]: _told(row) for row in rows.to_pylist()}

    def _kept(self, table: str, doc_ids: Sequence[str], *, partition: str | None) -> dict[str, list[dict[str, Any]]]:
        rows = self._finder.find(
            table, doc_ids, by="duplicate_of", columns=RESOLUTION.names, partition=partition, place=None
        )
        return _grouped(rows, "duplicate_of")

    def _requests(self, dataset: str, partition: str, parent_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        asked = self._finder.find(
            f"synthesized/{dataset}/requests", parent_ids, columns=REQUESTS.names, partition=partition
        )
        ids = asked["request_id"].to_pylist() if len(asked) else []
        answers = self._finder.find(
            f"synthesized/{dataset}/completions", ids, by="request_id", columns=_COMPLETION, partition=partition
        )
        answered = {row["request_id"]: _told(row) for row in answers.to_pylist()}
        found = _grouped(asked, "doc_id")
        return {
            doc_id: [
                {**row, "answer": answered.get(row["request_id"])} for row in sorted(rows, key=lambda it: it["chunk"])
            ]
            for doc_id, rows in found.items()
        }


def _identity(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {name for name in SYNTHESIZED.names if name in row}
    return {
        "doc_id": row["doc_id"],
        "table": row["table"],
        "partition": row[PARTITION],
        "is_current": row["is_current"],
        "row": {name: dict(row[name] or ()) if name == "meta" else row[name] for name in _ROW if name in names},
    }


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: dict(value or ()) if name == "meta" else value
        for name, value in row.items()
        if name not in (PLACE, PARTITION, "partition_key")
    }


def _grouped(rows: pa.Table, by: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        found.setdefault(row[by], []).append(_told(row))
    return found
