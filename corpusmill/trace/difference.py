"""What two versions of a table differ in: rows added, removed and changed, why, and samples.

Rows are compared by key and by a hash of all that is content, so equal rows in other files are equal. Files that both versions
have are not read. Costs: a pass over the other files; memory is 24 bytes a row of one partition's files that differ.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from corpusmill.lake.content_hash import row_hashes
from corpusmill.lake.files import is_place
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.reading import read_rows_at
from corpusmill.lake.scan import scan_files
from corpusmill.lake.schemas import PARTITION_KEY
from corpusmill.lake.tables import Lake
from corpusmill.trace.lookup import RowFinder

KEYS = (("request_id", "doc_id", "chunk"), ("request_id",), ("doc_id",), ("sequence",), ("component",))
"""What names a row in its partition: the first of them that a table has."""
MOST_CHARACTERS = 120
SAMPLES = 3
_LOOKED_AT = 10_000
"""Rows of a partition whose reasons are looked for; of more, the first ones stand for all, and it is said."""


@dataclass(kw_only=True)
class Difference:
    """Of one table between two versions."""

    table: str
    before: int
    after: int
    key: tuple[str, ...]
    added: int = 0
    removed: int = 0
    changed: int = 0
    same: int = 0
    """Rows that are equal in files that differ; rows of files that both versions have are not counted."""
    changed_columns: Counter[str] = field(default_factory=Counter)
    """How many of the changed rows that were looked at differ in each column."""
    removed_reasons: Counter[str] = field(default_factory=Counter)
    """Why the removed rows that were looked at went, by what the lake says now."""
    samples: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    """Of `added`, `removed` and `changed`, the first ones."""
    looked_at: dict[str, int] = field(default_factory=dict)
    """How many of the removed and changed rows were looked at."""


def find_version(lake: Lake, table: str, name: str | None) -> int:
    """Return the version that a tag, an id or `-1` (the one before the current, and so on) names; None is the current one.

    Raises ValueError for another name, with those that there are.
    """
    versions = lake.versions(table)
    ids, tags = list(versions), lake.tags(table)
    if name is None:
        return lake.snapshot_id(table)
    if name in tags:
        return tags[name]
    if name.isdecimal() and int(name) in versions:
        return int(name)
    if name.startswith("-") and name[1:].isdecimal() and 0 < int(name[1:]) < len(ids):
        return ids[-1 - int(name[1:])]
    raise ValueError(f"{table} has no version {name!r}; it has {_shown(versions, tags)}")


def difference(lake: Lake, table: str, before: int, after: int) -> Difference:
    """Return what `after` has and `before` has not, and the other way round."""
    schema = lake.schema(table)
    key = next((names for names in KEYS if {*names} <= {*schema.names}), None)
    if key is None:
        wanted = ", ".join(names[0] for names in KEYS[1:])
        raise ValueError(f"rows of {table} have no name of their own: wanted a column of {wanted}, got {schema.names}")
    found = Difference(table=table, before=before, after=after, key=key)
    sides = [
        {file.path: file for file in lake.files(table, snapshot_id=version, allow_failed_gate=True)}
        for version in (before, after)
    ]
    finder = RowFinder(lake)
    for partition in sorted({file.partition for side in sides for file in side.values()}):
        one, other = (
            [side[path] for path in sorted(side.keys() - rest.keys()) if side[path].partition == partition]
            for side, rest in (sides, sides[::-1])
        )
        if one or other:
            _compare(found, _Side(lake, table, one, key), _Side(lake, table, other, key), finder)
    return found


class _Side:
    """The rows of one version in the files that only it has: hashes of key and content, sorted by key."""

    def __init__(self, lake: Lake, table: str, files: Sequence[DataFileRef], key: Sequence[str]) -> None:
        self.lake, self.files = lake, files
        self.schema = lake.schema(table)
        keys, contents, places = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)], [np.empty((0, 2), np.int32)]
        for number, file in enumerate(files):
            row = 0
            for batch in scan_files(lake.store, [file], self.schema):
                keys.append(np.ascontiguousarray(row_hashes(batch.select(list(key)))[:, 0]))
                contents.append(np.ascontiguousarray(row_hashes(batch.select(_content(self.schema)))[:, 0]))
                rows = np.arange(row, row + len(batch), dtype=np.int32)
                places.append(np.stack([np.full(len(batch), number, np.int32), rows], axis=1))
                row += len(batch)
        order = np.lexsort((np.concatenate(contents), np.concatenate(keys)))
        self.keys_N = np.concatenate(keys)[order]
        self.contents_N = np.concatenate(contents)[order]
        self.places_N2 = np.concatenate(places)[order]

    def rows(self, numbers: Sequence[int], columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return rows by their number among the sorted ones, in that order."""
        by_file: dict[int, list[int]] = {}
        for file, row in self.places_N2[list(numbers)].tolist():
            by_file.setdefault(file, []).append(row)
        names = [name for name in self.schema.names if columns is None or name in columns]
        read = {
            (file, row): values
            for file, rows in by_file.items()
            for row, values in zip(
                sorted({*rows}),
                read_rows_at(self.lake.store, self.files[file].path, rows, columns=names).to_pylist(),
                strict=True,
            )
        }
        return [read[file, row] for file, row in self.places_N2[list(numbers)].tolist()]


def _compare(found: Difference, before: _Side, after: _Side, finder: RowFinder) -> None:
    gone = np.flatnonzero(~np.isin(before.keys_N, after.keys_N))
    new = np.flatnonzero(~np.isin(after.keys_N, before.keys_N))
    kept = np.flatnonzero(np.isin(before.keys_N, after.keys_N))
    partner = np.searchsorted(after.keys_N, before.keys_N[kept])
    is_same = before.contents_N[kept] == after.contents_N[partner]
    found.added += len(new)
    found.removed += len(gone)
    found.changed += int((~is_same).sum())
    found.same += int(is_same.sum())
    _look_at_removed(found, before, gone[:_LOOKED_AT].tolist(), finder)
    changed = [(int(a), int(b)) for a, b in zip(kept[~is_same], partner[~is_same], strict=True)]
    _look_at_changed(found, before, after, changed[:_LOOKED_AT])
    _sample(found, "added", after.rows(new[:SAMPLES].tolist()))
    _sample(found, "removed", before.rows(gone[:SAMPLES].tolist()))


def _look_at_changed(found: Difference, before: _Side, after: _Side, pairs: Sequence[tuple[int, int]]) -> None:
    names = _content(before.schema)
    for start in range(0, len(pairs), 256):
        some = pairs[start : start + 256]
        for old, new in zip(before.rows([a for a, _ in some]), after.rows([b for _, b in some]), strict=True):
            differing = {
                name: [_short(old.get(name)), _short(new.get(name))] for name in names if old.get(name) != new.get(name)
            }
            found.changed_columns.update(list(differing))
            _sample(found, "changed", [{**{name: old[name] for name in found.key}, **differing}])
    found.looked_at["changed"] = found.looked_at.get("changed", 0) + len(pairs)


def _look_at_removed(found: Difference, side: _Side, numbers: Sequence[int], finder: RowFinder) -> None:
    found.looked_at["removed"] = found.looked_at.get("removed", 0) + len(numbers)
    if numbers and found.key == ("doc_id",):
        doc_ids = [row["doc_id"] for row in side.rows(numbers, ["doc_id"])]
        found.removed_reasons.update(_reasons(found.table, doc_ids, finder).values())


def _reasons(table: str, doc_ids: Sequence[str], finder: RowFinder) -> dict[str, str]:
    """Return why each document is not in a table any more, by the tables beside it."""
    stage, dataset, _ = table.split("/")
    reasons: dict[str, str] = {}
    asked = (
        (f"curated/{dataset}/removals", "reason", "withdrawn: {}"),
        (f"{stage}/{dataset}/verdicts", "drop_reason", "dropped: {}"),
        (f"{stage}/{dataset}/duplicates", "kind", "duplicate: {}"),
        (f"synthesized/{dataset}/documents", "reject_reason", "rejected: {}"),
    )
    for other, column, spelled in asked:
        left = [doc_id for doc_id in doc_ids if doc_id not in reasons]
        if left and other != table:
            rows = finder.find(other, left, columns=[column]).to_pylist()
            reasons |= {row["doc_id"]: spelled.format(row[column]) for row in rows if row[column] is not None}
    for other in (f"curated/{dataset}/extracted", f"sources/{dataset}/records"):
        left = [doc_id for doc_id in doc_ids if doc_id not in reasons]
        if left and other != table:
            there = {row["doc_id"] for row in finder.find(other, left, columns=[]).to_pylist()}
            reasons |= dict.fromkeys(there, f"still in {other}; dropped by no verdict")
    return {doc_id: reasons.get(doc_id, "gone from its source, or from what it was made from") for doc_id in doc_ids}


def _sample(found: Difference, kind: str, rows: Sequence[Mapping[str, Any]]) -> None:
    kept = found.samples.setdefault(kind, [])
    for row in rows[: SAMPLES - len(kept)]:
        kept.append({name: _short(value) for name, value in row.items() if value is not None and name != PARTITION_KEY})


def _short(value: Any) -> Any:
    if isinstance(value, list) and len(value) > 8:
        return [*value[:8], f"and {len(value) - 8} more"]
    return f"{value[:MOST_CHARACTERS]} …" if isinstance(value, str) and len(value) > MOST_CHARACTERS else value


def _content(schema: pa.Schema) -> list[str]:
    """Return the columns that are content: not where something lies, not how long it took."""
    return [item.name for item in schema if item.name != PARTITION_KEY and not is_place(item)]


def _shown(versions: Mapping[int, datetime], tags: Mapping[str, int]) -> str:
    named: dict[int, list[str]] = {}
    for tag, version in tags.items():
        named.setdefault(version, []).append(tag)
    newest = list(versions.items())[::-1][:10]
    told = [f"{one} ({', '.join([time.strftime('%Y-%m-%d %H:%M:%S'), *named.get(one, ())])})" for one, time in newest]
    return ", ".join(told) + (f" and {len(versions) - 10} older" if len(versions) > 10 else "")
