"""Telling manifests of data files that were written anew under their names (see `corpusmill.lake.rewrite`).

A manifest holds a file's size and the bounds of its columns: the first characters of a smallest text or URL. Manifests and the
lists of them are written anew in place, too, so versions, tags and the catalog stay as they are. Repeating it changes nothing.
"""

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile, OutputStream
from pyiceberg.manifest import (
    DataFile,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    clear_manifest_cache,
    read_manifest_list,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from corpusmill.lake.files import WrittenFile
from corpusmill.lake.manifests import may_hold
from corpusmill.lake.snapshots import COMPRESSION, FORMAT_VERSION, DataFiles
from corpusmill.lake.store import Store

_LIST_FIELDS = (
    "manifest_path",
    "partition_spec_id",
    "content",
    "sequence_number",
    "min_sequence_number",
    "added_snapshot_id",
    "added_files_count",
    "existing_files_count",
    "deleted_files_count",
    "added_rows_count",
    "existing_rows_count",
    "deleted_rows_count",
    "partitions",
    "key_metadata",
)


def restate(
    table: Table,
    store: Store,
    partitions: Iterable[str],
    *,
    sizes: Mapping[str, int],
    describe: Callable[[str], WrittenFile],
) -> int:
    """Make all versions tell of the files of some partitions what they are; return how many manifests were written anew.

    `sizes` are the bytes of every file that there is in those partitions, by path. What a manifest still tells of a removed
    file that is gone loses its bounds.
    """
    wanted = frozenset(partitions)
    changed = 0
    lengths: dict[str, int] = {}
    for snapshot in table.snapshots():
        manifests = list(read_manifest_list(table.io.new_input(snapshot.manifest_list)))
        held = [manifest for manifest in manifests if may_hold(manifest, wanted)]
        for manifest in held:
            if manifest.manifest_path not in lengths:
                changed += _restate_manifest(table, store, manifest, wanted=wanted, sizes=sizes, describe=describe)
                lengths[manifest.manifest_path] = len(table.io.new_input(manifest.manifest_path))
        if any(manifest.manifest_length != lengths[manifest.manifest_path] for manifest in held):
            _write_list(table, store, snapshot, [_with_length(manifest, lengths) for manifest in manifests])
    clear_manifest_cache()
    return changed


def _restate_manifest(
    table: Table,
    store: Store,
    manifest: ManifestFile,
    *,
    wanted: frozenset[str],
    sizes: Mapping[str, int],
    describe: Callable[[str], WrittenFile],
) -> bool:
    entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    to_data_file = DataFiles(table.metadata.schema(), manifest.partition_spec_id)
    restated: list[ManifestEntry] = []
    for entry in entries:
        file, partition = entry.data_file, entry.data_file.partition[0]
        size = sizes.get(file.file_path)
        if partition in wanted and size is not None and size != file.file_size_in_bytes:
            restated.append(_of(entry, to_data_file.convert(partition, describe(file.file_path))))
        elif partition in wanted and size is None and entry.status == ManifestEntryStatus.DELETED and _has_bounds(file):
            restated.append(_of(entry, to_data_file.convert(partition, _without_bounds(file))))
        else:
            restated.append(entry)
    if all(one is other for one, other in zip(restated, entries, strict=True)):
        return False
    buffer = _Buffer(manifest.manifest_path)
    writer = write_manifest(
        format_version=FORMAT_VERSION,
        spec=table.metadata.spec(),
        schema=table.metadata.schema(),
        output_file=buffer,
        snapshot_id=manifest.added_snapshot_id,
        avro_compression=COMPRESSION,
    )
    with writer:
        for entry in restated:
            writer.add_entry(entry)
    _put(table.io, store, manifest.manifest_path, buffer.data)
    return True


def _of(entry: ManifestEntry, data_file: DataFile) -> ManifestEntry:
    return ManifestEntry.from_args(
        status=entry.status,
        snapshot_id=entry.snapshot_id,
        sequence_number=entry.sequence_number,
        file_sequence_number=entry.file_sequence_number,
        data_file=data_file,
    )


def _has_bounds(file: DataFile) -> bool:
    return bool(file.lower_bounds or file.upper_bounds)


def _without_bounds(file: DataFile) -> WrittenFile:
    return WrittenFile(
        path=file.file_path, num_rows=file.record_count, num_bytes=file.file_size_in_bytes, content_hash=""
    )


def _with_length(manifest: ManifestFile, lengths: Mapping[str, int]) -> ManifestFile:
    if manifest.manifest_path not in lengths:
        return manifest
    values: dict[str, Any] = {name: getattr(manifest, name) for name in _LIST_FIELDS}
    return ManifestFile.from_args(manifest_length=lengths[manifest.manifest_path], **values)


def _write_list(table: Table, store: Store, snapshot: Snapshot, manifests: list[ManifestFile]) -> None:
    buffer = _Buffer(snapshot.manifest_list)
    with write_manifest_list(
        format_version=FORMAT_VERSION,
        output_file=buffer,
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        avro_compression=COMPRESSION,
    ) as writer:
        writer.add_manifests(manifests)
    _put(table.io, store, snapshot.manifest_list, buffer.data)


def _put(io: FileIO, store: Store, location: str, data: bytes) -> None:
    """Replace an object of the table's metadata in one step; a REST catalog may keep it outside of the lake's root."""
    key = store.key(location)
    if store.uri(key).startswith(f"{store.root}/"):
        store.write(key, data)
        return
    with io.new_output(location).create(overwrite=True) as stream:
        stream.write(data)


class _Stream(io.BytesIO):
    """Keeps its bytes when it is closed."""

    data = b""

    def close(self) -> None:
        if not self.closed:
            self.data = self.getvalue()
        super().close()


class _Buffer(OutputFile):
    """What would be written to a place, in memory: PyIceberg truncates a file before it writes it."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self._stream = _Stream()

    @property
    def data(self) -> bytes:
        return self._stream.data

    def __len__(self) -> int:
        return len(self.data)

    def exists(self) -> bool:
        return bool(self.data)

    def to_input_file(self) -> InputFile:
        raise NotImplementedError("what is in memory is not read back")

    def create(self, overwrite: bool = False) -> OutputStream:
        return self._stream
