"""Where the sequences of a component lie: an index of row groups, made and checked when a stream opens.

Sequences are numbered by partition, and inside it by their column `sequence`, so the numbers depend on content alone,
not on file names or attempts. Costs: one manifest read per table and one footer per file, 16 at a time; some 50 bytes a
row group are kept.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpusmill.lake.content_hash import combine, to_hex
from corpusmill.lake.errors import PartitionMissingError, TableMissingError
from corpusmill.lake.files import noted_content_hash
from corpusmill.lake.list_pages import CODECS, MAX_LEVELS
from corpusmill.lake.partitions import DataFileRef
from corpusmill.lake.rewrite import emptied_rows
from corpusmill.lake.store import Store
from corpusmill.lake.tables import Lake
from corpusmill.mix.inventory import LENGTH_SEQUENCES, PartitionPin
from corpusmill.mix.plan import Plan, PlannedComponent
from corpusmill.stream.inventory import pinned_snapshots

_READERS = 16
_REMEDY = "put the file back from a copy, or materialize its partition again: corpusmill materialize --again"


class ComponentChangedError(ValueError):
    """The lake no longer holds what the plan pinned."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnChunk:
    """Where a list column of a row group lies in its file."""

    begin: int
    num_bytes: int
    num_values: int
    codec: str
    """As the footer spells it; empty where only Arrow reads the column (see `corpusmill.lake.list_pages`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowGroup:
    """A stretch of consecutive sequences in one file."""

    path: str
    number: int
    partition: str
    num_rows: int
    first_sequence: int
    last_sequence: int
    tokens: ColumnChunk
    lengths: ColumnChunk
    erased: tuple[int, ...] = ()
    """Its rows whose tokens were erased."""

    @property
    def bucket(self) -> int:
        """Number of its sequences' length among those of the partition."""
        return self.first_sequence // LENGTH_SEQUENCES


@dataclass(frozen=True, kw_only=True)
class ComponentIndex:
    """The row groups of a component in the order of its sequences."""

    groups: tuple[RowGroup, ...]
    starts: np.ndarray[Any, np.dtype[np.int64]]
    """Number of each row group's first sequence, and after the last one how many there are."""

    @property
    def num_sequences(self) -> int:
        return int(self.starts[-1])

    @property
    def erased(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers of the sequences whose tokens were erased, in order."""
        pairs = zip(self.starts[:-1].tolist(), self.groups, strict=True)
        return np.asarray([start + row for start, group in pairs for row in group.erased], np.int64)

    def overlapping(self, start: int, stop: int) -> Iterator[tuple[RowGroup, int, int]]:
        """Yield the row groups of sequences start to stop (half-open), each with its own half-open range of rows."""
        number = int(np.searchsorted(self.starts, start, side="right")) - 1
        while number < len(self.groups) and self.starts[number] < stop:
            first = int(self.starts[number])
            group = self.groups[number]
            yield group, max(start - first, 0), min(stop - first, group.num_rows)
            number += 1


def open_components(lake: Lake, plan: Plan) -> list[ComponentIndex]:
    """Return the index of each component of a plan.

    Raises ComponentChangedError, before anything is read, when a pinned partition is not there with the pinned content.
    """
    return [open_component(lake, component, plan) for component in plan.components]


def open_component(lake: Lake, component: PlannedComponent, plan: Plan) -> ComponentIndex:
    """Return the index of one component, as `open_components` does."""
    files = _pinned_files(lake, component, plan)
    with ThreadPoolExecutor(_READERS) as readers:
        found = list(readers.map(lambda ref: _index_file(lake.store, ref), files))
    _check_content(component, files, [content_hash for content_hash, _ in found])
    buckets = {pin.partition: pin.bucket for pin in component.pins}
    groups = sorted(
        (group for _, groups in found for group in groups if buckets[group.partition] in (None, group.bucket)),
        key=lambda group: (group.partition, group.first_sequence),
    )
    _check_groups(component, groups)
    return ComponentIndex(
        groups=tuple(groups), starts=np.cumsum([0, *(group.num_rows for group in groups)], dtype=np.int64)
    )


def read_token_counts(lake: Lake, plan: Plan) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Return how many tokens each sequence of each component holds, in the order in which the stream numbers them."""
    return [
        np.concatenate([np.zeros(0, np.int64), *(_row_tokens(lake.store, group) for group in index.groups)])
        for index in open_components(lake, plan)
    ]


def read_row_group(store: Store, group: RowGroup, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a row group; a damaged file raises ComponentChangedError naming it."""
    return read_row_groups(store, [group], columns)


def read_row_groups(store: Store, groups: Sequence[RowGroup], columns: Sequence[str]) -> pa.Table:
    """Return some columns of row groups of one file, as few requests as their places allow.

    A damaged file raises ComponentChangedError naming it.
    """
    try:
        with store.open_input(groups[0].path) as source:
            file = pq.ParquetFile(source, pre_buffer=True, page_checksum_verification=True)
            return file.read_row_groups([group.number for group in groups], columns=list(columns))
    except (OSError, pa.ArrowInvalid) as error:
        raise unreadable(groups, error) from error


def unreadable(groups: Sequence[RowGroup], error: Exception) -> ComponentChangedError:
    """Return the error that names row groups of one file that cannot be read."""
    spelled = ", ".join(str(group.number) for group in groups)
    return ComponentChangedError(f"row groups {spelled} of {groups[0].path} cannot be read: {error}")


def _pinned_files(lake: Lake, component: PlannedComponent, plan: Plan) -> list[DataFileRef]:
    """Return the files of the partitions as they were pinned: the committed ones, or when they are others the old ones."""
    # A partition without sequences has nothing to be found.
    pins = [pin for pin in component.pins if pin.num_sequences]
    unchanged = _unchanged(lake, component.table, pins)
    files = lake.files(component.table, [pin.partition for pin in unchanged]) if unchanged else []
    # Asked again: the files are the pinned ones only if nobody committed in between.
    unchanged = _unchanged(lake, component.table, unchanged)
    held = {pin.partition for pin in unchanged}
    changed = [pin for pin in pins if pin.partition not in held]
    return [ref for ref in files if ref.partition in held] + [
        ref for pin in changed for ref in _old_files(lake, pin, component, plan)
    ]


def _unchanged(lake: Lake, table: str, pins: Sequence[PartitionPin]) -> list[PartitionPin]:
    states = lake.partitions(table) if pins else {}
    return [pin for pin in pins if pin.partition in states and states[pin.partition].content_hash == pin.content_hash]


def _old_files(lake: Lake, pin: PartitionPin, component: PlannedComponent, plan: Plan) -> list[DataFileRef]:
    for snapshot_id in pinned_snapshots(lake, plan, component):
        try:
            return lake.files(pin.table, [pin.partition], snapshot_id=snapshot_id)
        except (TableMissingError, PartitionMissingError):
            continue
    state = lake.partition(pin.table, pin.partition)
    raise ComponentChangedError(
        f"{pin.table}, partition {pin.partition!r}: the plan pins content {pin.content_hash}, the lake has "
        f"{state.content_hash if state else 'no such partition'} and no version with the pinned one; materialize the "
        "partition as it was, or make a new plan"
    )


def _index_file(store: Store, ref: DataFileRef) -> tuple[int | None, list[RowGroup]]:
    """Return the content hash that a file says of itself, where it does, and its row groups."""
    try:
        with store.open_input(ref.path) as source, pq.ParquetFile(source) as file:
            return noted_content_hash(file.metadata), _row_groups(ref, file.metadata)
    except (OSError, ValueError, AttributeError) as error:
        # A garbled footer may be one of other columns, or without bounds.
        raise ComponentChangedError(f"{ref.path} is committed but cannot be read: {error}; {_REMEDY}") from error


def _row_groups(ref: DataFileRef, metadata: pq.FileMetaData) -> list[RowGroup]:
    names = [metadata.schema.column(position).path.split(".")[0] for position in range(metadata.num_columns)]
    sequence, tokens, lengths = (names.index(name) for name in ("sequence", "tokens", "lengths"))
    emptied = emptied_rows(metadata)
    groups: list[RowGroup] = []
    stop = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        start, stop = stop, stop + group.num_rows
        bounds = group.column(sequence).statistics
        groups.append(
            RowGroup(
                path=ref.path,
                number=number,
                partition=ref.partition,
                num_rows=group.num_rows,
                first_sequence=bounds.min,
                last_sequence=bounds.max,
                tokens=_column_chunk(metadata, number, tokens),
                lengths=_column_chunk(metadata, number, lengths),
                erased=tuple((emptied[(emptied >= start) & (emptied < stop)] - start).tolist()),
            )
        )
    return groups


def _column_chunk(metadata: pq.FileMetaData, group: int, column: int) -> ColumnChunk:
    about, kind = metadata.row_group(group).column(column), metadata.schema.column(column)
    levels = (kind.max_definition_level, kind.max_repetition_level)
    is_known = about.physical_type == "INT32" and levels == MAX_LEVELS and about.compression in CODECS
    return ColumnChunk(
        begin=about.dictionary_page_offset if about.has_dictionary_page else about.data_page_offset,
        num_bytes=about.total_compressed_size,
        num_values=about.num_values,
        codec=sys.intern(about.compression) if is_known else "",
    )


def _check_content(
    component: PlannedComponent, files: Sequence[DataFileRef], content_hashes: Sequence[int | None]
) -> None:
    """Raise ComponentChangedError where files together have not the content that was pinned, as far as they say it."""
    wanted = {pin.partition: pin.content_hash for pin in component.pins}
    found: dict[str, list[int | None]] = {}
    for ref, content_hash in zip(files, content_hashes, strict=True):
        found.setdefault(ref.partition, []).append(content_hash)
    for partition, hashes in found.items():
        held = to_hex(combine(one for one in hashes if one is not None))
        if None not in hashes and held != wanted[partition]:
            raise ComponentChangedError(
                f"{component.table}, partition {partition!r}: the plan pins content {wanted[partition]}, its files hold "
                f"{held}: they are damaged, or others in their place; {_REMEDY}"
            )


def _check_groups(component: PlannedComponent, groups: Sequence[RowGroup]) -> None:
    num_sequences = sum(group.num_rows for group in groups)
    if num_sequences != component.num_sequences:
        raise ComponentChangedError(
            f"component {component.name!r} pins {component.num_sequences:,} sequences of {component.table}, its files "
            f"hold {num_sequences:,}; make a new plan"
        )
    for before, after in pairwise(groups):
        if before.partition == after.partition and after.first_sequence <= before.last_sequence:
            raise ComponentChangedError(
                f"{component.table}, partition {after.partition!r}: sequence {after.first_sequence} is both in "
                f"{before.path} and {after.path}; sequences of a partition need different numbers"
            )
    for group in groups:
        if group.last_sequence - group.first_sequence + 1 != group.num_rows:
            raise ComponentChangedError(
                f"row group {group.number} of {group.path} says that its {group.num_rows:,} sequences are numbered from "
                f"{group.first_sequence} to {group.last_sequence}; {_REMEDY}"
            )


def _row_tokens(store: Store, group: RowGroup) -> np.ndarray[Any, np.dtype[np.int64]]:
    lengths = read_row_group(store, group, ["lengths"])["lengths"].combine_chunks()
    tokens = np.concatenate([[0], np.cumsum(lengths.flatten().to_numpy(), dtype=np.int64)])
    ends = np.cumsum(lengths.value_lengths().to_numpy())
    return np.diff(tokens[np.concatenate([[0], ends])])
