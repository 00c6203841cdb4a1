"""Erasing: what was forgotten goes out of all versions of all tables, out of answers, samples and what unfinished work left.

    survey(lake, found, now=...) -> Survey       what would go; reads only
    erase(lake, found, now=...) -> numbers       for good: rows stay where they are and say nothing any more

Rows are emptied in place (`corpusmill.lake.rewrite`): versions, tags and plans stay, and a mix that reads an emptied sequence
refuses. It can be killed anywhere and given again: what leads to a document is emptied after all that it leads to, records last.

Costs: a pass over the ids of all tables of the datasets concerned, twice; each file that holds a row is written anew.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpusmill.lake.erasures import LEASE_SECONDS, Erasure, erasing, unfinished
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.rewrite import Marks, empty_rows, rows_to_empty
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.tables import Lake
from corpusmill.tasks.kept_answers import drop_answers
from corpusmill.tasks.task import UNPARTITIONED
from corpusmill.trace.forget import Found, all_versions, tables_of

ERASED = "erased"
"""The `failure` of an emptied row, in tables that tell one."""
CONTENT = ("url", "title", "text", "meta", "canonical_url", "edits", "answer", "context")
"""Columns that say what a document says or where it came from."""
PACKED = ("tokens", "doc_ids", "lengths", "starts")
"""Those of a packed sequence; it goes as a whole."""
_LEADS_TO = ("records", "extracted", "validation", "documents")
"""Tables that lead to others: emptied last, the first of them the very last."""
_STAGES = ("sources", "curated", "synthesized", "tokenized")
MOST_PASSES = 3
MOST_NAMED = 5

Place = tuple[str, str]
"""Table and partition."""


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What an erasure would take away."""

    rows: pa.Table
    """By table: files, rows, bytes."""
    answers: int
    """Answers of models in waves that are kept beside the tables."""
    samples: int
    """Reports that quote texts."""
    left_behind: Mapping[str, int]
    """Files and attempts that no version needs."""
    still_held: Sequence[Place]
    """Partitions whose current version holds or asks for what is to go: they are to be made again first."""
    places: Sequence[Place]
    """Every partition that is touched."""

    def check(self) -> None:
        """Raise ValueError where current versions still hold what is to go."""
        _check_gone(self.still_held)


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """Rows of one file that are to be emptied."""

    table: str
    file: DataFileRef
    rows: np.ndarray
    columns: Sequence[str]
    says: Mapping[str, str]


def survey(lake: Lake, found: Found, *, now: datetime) -> Survey:
    """Return what erasing would take away."""
    named = _Named(lake, found)
    counted: dict[str, list[int]] = {}
    for table in named.tables:
        for piece in named.pieces(table):
            here = counted.setdefault(table, [0, 0, 0])
            here[0] += 1
            here[1] += len(piece.rows)
            here[2] += piece.file.num_bytes
    rows = [dict(zip(("table", "files", "rows", "bytes"), (table, *n), strict=True)) for table, n in counted.items()]
    types = {"table": pa.string(), "files": pa.int64(), "rows": pa.int64(), "bytes": pa.int64()}
    places = named.places
    return Survey(
        rows=pa.Table.from_pylist(rows, schema=pa.schema(types)),
        answers=named.drop_waves(is_dry=True),
        samples=_quiet_reports(lake, places, is_dry=True),
        left_behind=lake.clear(places, now=now, is_dry=True) if places else {},
        still_held=named.still_held,
        places=places,
    )


def erase(lake: Lake, found: Found, *, now: datetime, lease_seconds: float = LEASE_SECONDS) -> dict[str, int]:
    """Empty all that was found, in all versions, and what an earlier erasing left unfinished; return what was taken away.

    To be found after it was withdrawn and all was made again: raises ValueError where current versions then held it. Raises
    ErasureRunningError where another erasing is at work.
    """
    named = _Named(lake, found)
    _check_gone(named.still_held)
    with erasing(lake.store, named.places, named.doc_ids, lease_seconds=lease_seconds) as held:
        if (held.partitions, held.doc_ids) != (named.places, named.doc_ids):
            # Another one began and died meanwhile: what it left is ours, too.
            named = _Named(lake, found)
        numbers = {**_clear(lake, held, now), "answers": named.drop_waves(is_dry=False)}
        numbers["samples"] = _quiet_reports(lake, held.partitions, is_dry=False)
        numbers |= {"files": 0, "rows": 0}
        for number in range(MOST_PASSES):
            emptied = _empty(lake, named, held, is_first=number == 0)
            numbers = {**numbers, **{name: numbers[name] + emptied[name] for name in emptied}}
            if not emptied["rows"]:
                held.end(numbers)
                return numbers
    raise RuntimeError(
        f"after {MOST_PASSES} passes rows came back: something writes to these tables; end its runs and erase again"
    )


def _clear(lake: Lake, held: Erasure, now: datetime) -> dict[str, int]:
    cleared = lake.clear(held.partitions, now=now) if held.partitions else {}
    return {name: cleared.get(name, 0) for name in ("attempts_ended", "files_deleted", "bytes_deleted")}


def _empty(lake: Lake, named: "_Named", held: Erasure, *, is_first: bool) -> dict[str, int]:
    """Empty the rows of all tables, table by table; at first each is told of what became of its files, whoever did it."""
    numbers = {"files": 0, "rows": 0}
    for table in named.tables:
        num_files = numbers["files"]
        for piece in named.pieces(table):
            held.check()
            empty_rows(lake.store, piece.file.path, piece.rows, columns=piece.columns, says=piece.says)
            numbers = {"files": numbers["files"] + 1, "rows": numbers["rows"] + len(piece.rows)}
        if is_first or numbers["files"] > num_files:
            held.check()
            lake.restate(table, [partition for one, partition in held.partitions if one == table])
    return numbers


class _Named:
    """What is to be erased: documents, requests about them, and the partitions that may hold anything of them."""

    def __init__(self, lake: Lake, found: Found) -> None:
        self._lake = lake
        self._found = found
        self._left = unfinished(lake.store)
        self.doc_ids = sorted({*found.doc_ids(), *self._left.doc_ids})
        self._ids = pa.array(self.doc_ids, pa.string())
        self._known = {table: lake.schema(table).names for table in lake.tables() if table.split("/")[0] in _STAGES}
        self._standing: dict[Place, pa.Array] = {}

    @cached_property
    def requests(self) -> dict[Place, tuple[set[str], bool]]:
        """By table and partition of requests: ids of those that show a document, and whether current ones are among them."""
        asked: dict[Place, tuple[set[str], bool]] = {}
        for table in tables_of(self._lake, "synthesized", "requests"):
            for rows, is_current in all_versions(self._lake, table, ["request_id", "doc_id", "second_ids"]):
                ours = rows.filter(pa.array(self._shows(rows)))
                if len(ours):
                    place = (table, ours[PARTITION_KEY][0].as_py())
                    ids, was_current = asked.get(place, (set(), False))
                    asked[place] = (ids | {*ours["request_id"].to_pylist()}, was_current or is_current)
        return asked

    @cached_property
    def places(self) -> list[Place]:
        """Every partition that may hold something: of all tables beside those that do, and of what an earlier one touched."""
        held = {*_pairs(self._found.documents), *_pairs(self._found.sequences), *self.requests}
        folders = {(table.split("/")[1], partition) for table, partition in held}
        datasets = {dataset for dataset, _ in folders}
        beside = {
            (table, partition)
            for table in self._known
            if table.split("/")[1] in datasets
            for partition in (*(name for dataset, name in folders if dataset == table.split("/")[1]), UNPARTITIONED)
        }
        return sorted({*beside, *self._left.partitions})

    @cached_property
    def tables(self) -> list[str]:
        """The tables that say something of documents, in the order in which they are emptied."""
        tables = {table for table, _ in self.places if self._lake.versions(table)}
        return sorted((table for table in tables if self._columns(table)), key=_last)

    @cached_property
    def still_held(self) -> list[Place]:
        found = self._found.documents
        is_left = pa.array(
            [table.endswith(("/records", "/extracted")) for table in found["table"].to_pylist()], pa.bool_()
        )
        documents = found.filter(pc.and_(found["is_current"], pc.invert(is_left)))
        sequences = self._found.sequences.filter(self._found.sequences["is_current"])
        requests = {place for place, (_, is_current) in self.requests.items() if is_current}
        answers = {place for place, (ids, _) in self.requests.items() if self._answers_stand(place, ids)}
        return sorted({*_pairs(documents), *_pairs(sequences), *requests, *map(_completions, answers)})

    def pieces(self, table: str) -> Iterator[_Piece]:
        """Yield the rows of a table that are to be emptied and are not yet, file by file."""
        columns, names = self._columns(table), self._known[table]
        partitions = {partition for one, partition in self.places if one == table}
        says = {"failure": ERASED} if "failure" in names else {}
        for file in self._lake.all_files(table):
            if file.partition in partitions:
                key, marks = self._marks(table, file.partition)
                rows = rows_to_empty(self._lake.store, file.path, columns=key, marks=marks)
                if len(rows):
                    yield _Piece(table=table, file=file, rows=rows, columns=columns, says=says)

    def drop_waves(self, *, is_dry: bool) -> int:
        """Take out of the waves what no committed request asks for any more, where a document was asked about."""
        return sum(
            drop_answers(self._lake.store, *_completions(place), kept=self._answered(place), is_dry=is_dry)
            for place in self.requests
        )

    def _columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table that are to be emptied; none where its rows are not about documents."""
        names = self._known[table]
        if "doc_ids" in names:
            return PACKED
        is_about = "doc_id" in names or ("request_id" in names and "answer" in names)
        return tuple(name for name in CONTENT if name in names) if is_about else ()

    def _marks(self, table: str, partition: str) -> tuple[list[str], Marks]:
        names = self._known[table]
        if "doc_ids" in names:
            return ["doc_ids"], lambda rows: self._lists(rows, "doc_ids")
        if "doc_id" in names:
            return ["doc_id"], self._names
        place = (f"{table.rpartition('/')[0]}/requests", partition)
        if place not in self.requests:
            return ["request_id"], lambda rows: np.zeros(len(rows), np.bool_)
        standing = self._answered(place)
        return ["request_id"], lambda rows: ~np.asarray(pc.is_in(rows["request_id"], value_set=standing))

    def _names(self, rows: pa.Table) -> np.ndarray:
        return np.asarray(pc.is_in(rows["doc_id"], value_set=self._ids))

    def _lists(self, rows: pa.Table, column: str) -> np.ndarray:
        """Say of each row whether a column of lists names a document."""
        lists = rows[column].combine_chunks()
        held = np.asarray(pc.is_in(pc.list_flatten(lists), value_set=self._ids))
        marked = np.zeros(len(rows), np.bool_)
        marked[pc.list_parent_indices(lists).to_numpy()[held]] = True
        return marked

    def _shows(self, rows: pa.Table) -> np.ndarray:
        """Say of each request whether it shows a document, as its seed or beside it."""
        has_seconds = pa.types.is_list(rows["second_ids"].type)
        return self._names(rows) | (self._lists(rows, "second_ids") if has_seconds else False)

    def _answered(self, place: Place) -> pa.Array:
        """Return the request ids that the current completions of a partition of requests hold."""
        if place not in self._standing:
            self._standing[place] = self._request_ids(*_completions(place))
        return self._standing[place]

    def _request_ids(self, table: str, partition: str) -> pa.Array:
        if partition not in self._lake.partitions(table):
            return pa.array([], pa.string())
        rows = self._lake.read(table, partitions=[partition], columns=["request_id"], allow_failed_gate=True)
        return pc.unique(rows["request_id"].combine_chunks())

    def _answers_stand(self, place: Place, ids: set[str]) -> bool:
        """Return whether current completions answer one of these requests that no current request asks for."""
        current = {*self._request_ids(*place).to_pylist()}
        return bool((ids - current) & {*self._answered(place).to_pylist()})


def _check_gone(still_held: Sequence[Place]) -> None:
    if still_held:
        shown = ", ".join(" ".join(place) for place in still_held[:MOST_NAMED])
        more = f" and {len(still_held) - MOST_NAMED:,} more" if len(still_held) > MOST_NAMED else ""
        raise ValueError(
            f"the current version of {shown}{more} still holds it: withdraw it, make again what `corpusmill forget ... "
            "withdraw` names, then erase"
        )


def _quiet_reports(lake: Lake, places: Sequence[Place], *, is_dry: bool) -> int:
    """Take the samples out of what the last commits of partitions report; return how many had any."""
    count = 0
    for table in sorted({table for table, _ in places}):
        states = lake.partitions(table)
        mine = [states[name].state for one, name in places if one == table and name in states]
        for key in (str(state["report"]) for state in mine if "report" in state):
            report: dict[str, Any] = json.loads(lake.store.read(key))
            if report.get("samples") or report.get("listings"):
                count += 1
                if not is_dry:
                    lake.store.write(key, json.dumps({**report, "samples": [], "listings": {}}).encode())
    return count


def _completions(place: Place) -> Place:
    """Return where the answers to a partition of requests lie."""
    return f"{place[0].rpartition('/')[0]}/completions", place[1]


def _last(table: str) -> tuple[int, str]:
    """Return what puts tables in the order in which they are emptied: what leads to others comes after them."""
    stage, name = table.split("/")[0], table.split("/")[-1]
    rank = 0 if stage == "tokenized" or name not in _LEADS_TO else len(_LEADS_TO) - _LEADS_TO.index(name)
    return rank, table


def _pairs(rows: pa.Table) -> set[Place]:
    return {*zip(rows["table"].to_pylist(), rows["partition"].to_pylist(), strict=True)}
