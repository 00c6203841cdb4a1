"""Planning: which data files a version of a table has, read from its manifests alone.

Manifests that cannot hold a wanted partition are skipped by their bounds. Cost: 30 to 60 microseconds a file; nothing
lists a bucket. A manifest that is gone or garbled is a DataFileError that names it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.table.snapshots import Snapshot

from corpusmill.lake.damage import metadata_damage_named
from corpusmill.lake.partitions import DataFileRef

_MAX_READERS = 8
_ENTRY = MANIFEST_ENTRY_SCHEMAS[DEFAULT_READ_VERSION]


def plan_files(io: FileIO, snapshot: Snapshot, partitions: Collection[str] | None) -> list[DataFileRef]:
    """Return the data files of a snapshot, of some partitions or of all, sorted by path."""
    wanted = None if partitions is None else frozenset(partitions)
    manifests = [
        item for item in list_manifests(io, snapshot) if is_live(item) and (wanted is None or may_hold(item, wanted))
    ]
    return sorted(read_manifests(io, manifests, wanted), key=lambda file: file.path)


def plan_all_files(io: FileIO, snapshots: Iterable[Snapshot]) -> list[DataFileRef]:
    """Return the data files of some snapshots, each once, sorted by path; a manifest that several share is read once."""
    manifests = {
        item.manifest_path: item for snapshot in snapshots for item in list_manifests(io, snapshot) if is_live(item)
    }
    found = {file.path: file for file in read_manifests(io, list(manifests.values()), None)}
    return [found[path] for path in sorted(found)]


def list_manifests(io: FileIO, snapshot: Snapshot) -> list[ManifestFile]:
    """Return the manifests of a snapshot; raises DataFileError where their list is gone or garbled."""
    with metadata_damage_named(f"the list of manifests {snapshot.manifest_list}"):
        return snapshot.manifests(io)


def read_entries(io: FileIO, manifest: ManifestFile, *, discard_deleted: bool = True) -> list[ManifestEntry]:
    """Return the entries of a manifest as PyIceberg has them; raises DataFileError where it is gone or garbled."""
    with metadata_damage_named(f"the manifest {manifest.manifest_path}"):
        return manifest.fetch_manifest_entry(io, discard_deleted)


def read_manifests(
    io: FileIO, manifests: Sequence[ManifestFile], wanted: Collection[str] | None
) -> Iterator[DataFileRef]:
    """Yield the files that the manifests list, of some partitions or of all."""
    with ThreadPoolExecutor(_MAX_READERS) as readers:
        for found in readers.map(lambda item: _read_whole(io, item, wanted), manifests):
            yield from found


def is_live(manifest: ManifestFile) -> bool:
    """Say whether a manifest lists files that exist, and not only removed ones."""
    return manifest.has_added_files() or manifest.has_existing_files()


def may_hold(manifest: ManifestFile, partitions: Collection[str]) -> bool:
    """Say whether the manifest's bounds leave room for one of the partitions."""
    if not manifest.partitions or manifest.partitions[0].lower_bound is None:
        return True
    lower, upper = manifest.partitions[0].lower_bound, manifest.partitions[0].upper_bound
    return any(lower <= partition.encode() <= upper for partition in partitions)


def _read_whole(io: FileIO, manifest: ManifestFile, wanted: Collection[str] | None) -> list[DataFileRef]:
    with metadata_damage_named(f"the manifest {manifest.manifest_path}"):
        return list(_read(io, manifest, wanted))


def _read(io: FileIO, manifest: ManifestFile, wanted: Collection[str] | None) -> Iterator[DataFileRef]:
    source = io.new_input(manifest.manifest_path)
    # Entry by entry, because 10,000 decoded ones at a time keep the garbage collector busy.
    with AvroFile[ManifestEntry](source, _ENTRY, read_types={-1: ManifestEntry, 2: DataFile}) as entries:
        for entry in entries:
            file = entry.data_file
            partition = file.partition[0]
            if entry.status != ManifestEntryStatus.DELETED and (wanted is None or partition in wanted):
                yield DataFileRef(
                    path=file.file_path,
                    num_rows=file.record_count,
                    num_bytes=file.file_size_in_bytes,
                    partition=partition,
                    num_row_groups=len(file.split_offsets or ()) or 1,
                )
