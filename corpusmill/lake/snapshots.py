"""Building a new version of a table: manifests in which some partitions have other files.

One snapshot replaces any number of partitions. Manifests that do not mention them are carried over as they are; once
there are many small ones they are merged, so planning stays fast after thousands of commits. Nothing here commits.
"""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.typedef import Record
from pyiceberg.types import PrimitiveType

from corpusmill.lake.files import ColumnStatistics, WrittenFile
from corpusmill.lake.manifests import is_live, list_manifests, may_hold, read_entries

FORMAT_VERSION = 2
COMPRESSION = "deflate"
_MANIFEST_FILES = 10_000
"""Files in a full manifest: a few MB."""
_MAX_SMALL_MANIFESTS = 100


@dataclass(frozen=True, kw_only=True)
class PreparedSnapshot:
    """A snapshot whose manifests are written; it exists once a commit names it."""

    snapshot: Snapshot
    written: tuple[str, ...]
    """Files to delete when the commit is known to have failed."""


def prepare_snapshot(
    table: Table, replaced: Mapping[str, Sequence[WrittenFile]], *, snapshot_id: int
) -> PreparedSnapshot:
    """Write the manifests of a version in which each partition of `replaced` has exactly these files."""
    builder = _Builder(table, snapshot_id)
    current = table.current_snapshot()
    before = list_manifests(table.io, current) if current else []
    after, already_there = builder.carry_over(before, replaced)
    after += builder.add(replaced, already_there)
    after = builder.merge_small(after)
    return builder.finish(after)


class _Builder:
    """Writes manifests for one snapshot and remembers what it wrote."""

    def __init__(self, table: Table, snapshot_id: int) -> None:
        self._table = table
        self._snapshot_id = snapshot_id
        self._commit = uuid.uuid4()
        self._written: list[str] = []
        self._added = _Totals()
        self._removed = _Totals()

    def carry_over(
        self, manifests: Iterable[ManifestFile], replaced: Mapping[str, Sequence[WrittenFile]]
    ) -> tuple[list[ManifestFile], set[str]]:
        """Drop the replaced partitions' entries; also return the paths that stay because they are in the new version."""
        staying = {file.path for files in replaced.values() for file in files}
        result: list[ManifestFile] = []
        already_there: set[str] = set()
        for manifest in filter(is_live, manifests):
            if not may_hold(manifest, replaced):
                result.append(manifest)
                continue
            kept: list[ManifestEntry] = []
            dropped: list[ManifestEntry] = []
            for entry in read_entries(self._table.io, manifest):
                path, partition = entry.data_file.file_path, entry.data_file.partition[0]
                is_dropped = partition in replaced and path not in staying
                (dropped if is_dropped else kept).append(entry)
                if path in staying:
                    already_there.add(path)
            result.append(self._rewrite(kept, dropped) if dropped else manifest)
        return result, already_there

    def add(self, replaced: Mapping[str, Sequence[WrittenFile]], already_there: set[str]) -> list[ManifestFile]:
        """Write the entries of the new files, sorted by partition so that bounds separate partitions."""
        metadata = self._table.metadata
        to_data_file = DataFiles(metadata.schema(), metadata.default_spec_id)
        added = [
            (partition, file)
            for partition in sorted(replaced)
            for file in replaced[partition]
            if file.path not in already_there
        ]
        manifests = []
        for start in range(0, len(added), _MANIFEST_FILES):
            with self._new_manifest() as writer:
                for partition, file in added[start : start + _MANIFEST_FILES]:
                    self._added.count(file.num_rows, file.num_bytes)
                    writer.add(_added_entry(self._snapshot_id, to_data_file.convert(partition, file)))
            manifests.append(writer.to_manifest_file())
        return manifests

    def merge_small(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        """Merge small manifests once there are many, each entry about `_MANIFEST_FILES / _MAX_SMALL_MANIFESTS` times."""
        small = [item for item in manifests if _num_live(item) < _MANIFEST_FILES // 2]
        if len(small) <= _MAX_SMALL_MANIFESTS:
            return manifests
        large = [item for item in manifests if _num_live(item) >= _MANIFEST_FILES // 2]
        entries = [entry for item in small for entry in read_entries(self._table.io, item, discard_deleted=False)]
        live = [item for item in entries if item.status != ManifestEntryStatus.DELETED]
        live.sort(key=lambda entry: (entry.data_file.partition[0], entry.data_file.file_path))
        gone = [
            item
            for item in entries
            if item.status == ManifestEntryStatus.DELETED and item.snapshot_id == self._snapshot_id
        ]
        merged = [self._rewrite(live[at : at + _MANIFEST_FILES], ()) for at in range(0, len(live), _MANIFEST_FILES)]
        return large + merged + ([self._rewrite((), gone, count=False)] if gone else [])

    def finish(self, manifests: list[ManifestFile]) -> PreparedSnapshot:
        """Write the manifest list and return the snapshot."""
        metadata = self._table.metadata
        parent = metadata.current_snapshot()
        sequence_number = metadata.next_sequence_number()
        location = self._new_location(f"snap-{self._snapshot_id}-0-{self._commit}.avro")
        with write_manifest_list(
            format_version=FORMAT_VERSION,
            output_file=self._table.io.new_output(location),
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=parent.snapshot_id if parent else None,
            sequence_number=sequence_number,
            avro_compression=COMPRESSION,
        ) as writer:
            writer.add_manifests(manifests)
        snapshot = Snapshot(
            snapshot_id=self._snapshot_id,
            parent_snapshot_id=parent.snapshot_id if parent else None,
            sequence_number=sequence_number,
            # Readers that go by time expect versions in order even when clocks of writers differ.
            timestamp_ms=max(int(time.time() * 1000), metadata.last_updated_ms + 1),
            manifest_list=location,
            summary=self._summary(parent),
            schema_id=metadata.current_schema_id,
        )
        return PreparedSnapshot(snapshot=snapshot, written=tuple(self._written))

    def _rewrite(
        self, kept: Sequence[ManifestEntry], dropped: Sequence[ManifestEntry], *, count: bool = True
    ) -> ManifestFile:
        with self._new_manifest() as writer:
            for entry in kept:
                if entry.status == ManifestEntryStatus.ADDED and entry.snapshot_id == self._snapshot_id:
                    writer.add(_added_entry(self._snapshot_id, entry.data_file))
                else:
                    writer.existing(entry)
            for entry in dropped:
                if count:
                    self._removed.count(entry.data_file.record_count, entry.data_file.file_size_in_bytes)
                writer.delete(entry)
        return writer.to_manifest_file()

    def _new_manifest(self) -> ManifestWriter:
        location = self._new_location(f"{self._commit}-m{len(self._written)}.avro")
        return write_manifest(
            format_version=FORMAT_VERSION,
            spec=self._table.metadata.spec(),
            schema=self._table.metadata.schema(),
            output_file=self._table.io.new_output(location),
            snapshot_id=self._snapshot_id,
            avro_compression=COMPRESSION,
        )

    def _new_location(self, name: str) -> str:
        location = self._table.location_provider().new_metadata_location(name)
        self._written.append(location)
        return location

    def _summary(self, parent: Snapshot | None) -> Summary:
        before = _Totals.of(parent)
        values = {
            "added-data-files": self._added.files,
            "added-records": self._added.rows,
            "added-files-size": self._added.num_bytes,
            "deleted-data-files": self._removed.files,
            "deleted-records": self._removed.rows,
            "removed-files-size": self._removed.num_bytes,
            "total-data-files": before.files + self._added.files - self._removed.files,
            "total-records": before.rows + self._added.rows - self._removed.rows,
            "total-files-size": before.num_bytes + self._added.num_bytes - self._removed.num_bytes,
            "total-delete-files": 0,
            "total-position-deletes": 0,
            "total-equality-deletes": 0,
        }
        return Summary(Operation.OVERWRITE, **{name: str(value) for name, value in values.items()})


@dataclass
class _Totals:
    files: int = 0
    rows: int = 0
    num_bytes: int = 0

    def count(self, num_rows: int, num_bytes: int) -> None:
        self.files += 1
        self.rows += num_rows
        self.num_bytes += num_bytes

    @classmethod
    def of(cls, snapshot: Snapshot | None) -> "_Totals":
        if snapshot is None or snapshot.summary is None:
            return cls()
        names = ("total-data-files", "total-records", "total-files-size")
        return cls(*(int(snapshot.summary[name] or 0) for name in names))


class DataFiles:
    """Turns written files into manifest data files; statistics by column name become statistics by field id."""

    def __init__(self, schema: Schema, spec_id: int) -> None:
        self._fields = {item.name: (item.field_id, item.field_type) for item in schema.fields}
        self._spec_id = spec_id

    def convert(self, partition: str, file: WrittenFile) -> DataFile:
        known = [(*self._fields[name], item) for name, item in file.columns.items() if name in self._fields]
        data_file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=file.path,
            file_format=FileFormat.PARQUET,
            partition=Record(partition),
            record_count=file.num_rows,
            file_size_in_bytes=file.num_bytes,
            column_sizes={number: item.num_bytes for number, _, item in known},
            value_counts={number: file.num_rows for number, _, item in known if item.num_nulls is not None},
            null_value_counts={number: item.num_nulls for number, _, item in known if item.num_nulls is not None},
            nan_value_counts={},
            lower_bounds=_bounds(known, "lower"),
            upper_bounds=_bounds(known, "upper"),
            key_metadata=None,
            split_offsets=list(file.row_group_offsets),
            equality_ids=None,
            sort_order_id=None,
        )
        data_file.spec_id = self._spec_id
        return data_file


def _bounds(known: list[tuple[int, PrimitiveType, ColumnStatistics]], side: str) -> dict[int, bytes]:
    values = [(number, kind, getattr(item, side)) for number, kind, item in known]
    return {number: to_bytes(kind, value) for number, kind, value in values if value is not None}


def _added_entry(snapshot_id: int, data_file: DataFile) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=snapshot_id,
        sequence_number=None,
        file_sequence_number=None,
        data_file=data_file,
    )


def _num_live(manifest: ManifestFile) -> int:
    return (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
